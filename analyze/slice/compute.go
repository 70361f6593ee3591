package slice

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindsight/wet"
)

// Direction is which way a slice goes.
type Direction uint8

const (
	Backward Direction = iota // what led to the criterion
	Forward                   // what followed from it
)

func (d Direction) String() string {
	if d == Forward {
		return "forward"
	}
	return "backward"
}

// Kinds is which dependences a slice follows.
type Kinds uint8

const (
	Data    Kinds = 1 << iota // through registers and memory
	Control                   //
	Both    = Data | Control
)

func (k Kinds) follows(d wet.DepKind) bool {
	if d == wet.DepControl {
		return k&Control != 0
	}
	return k&Data != 0
}

// ErrTooBig says that a slice has more instances than Options.MaxInstances.
var ErrTooBig = errors.New("slice: more instances than allowed")

// Options says how to slice. The zero value is a backward slice along all
// dependences, through all threads, without end.
type Options struct {
	Direction  Direction
	Kinds      Kinds // 0 means Both
	OneThread  bool  // do not follow dependences between threads
	Depth      int   // dependences between the criterion and an instance at most; 0 means any number
	NoArrows   bool  // do not count dependences: Slice.Arrows is empty
	MaxInsts   uint64
	OnInstance func(i wet.Instance, depth int) // told of each instance as it is found; nil: nobody
}

// frontier is the instances of a place that were found and not looked at yet.
type frontier struct {
	place int // index into Slice.places
	ks    []uint64
}

// Compute finds the slice of the criterion, which belongs to it. An error of
// the graph, or of ctx when it ends, is wrapped.
func Compute(ctx context.Context, g Graph, criterion []wet.Instance, opts Options) (*Slice, error) {
	if opts.Kinds == 0 {
		opts.Kinds = Both
	}
	w := &walk{Slice: &Slice{g: g, opts: opts, index: map[place]int{}}}
	for _, i := range criterion {
		if err := valid(g, i); err != nil {
			return nil, err
		}
		w.found(w.placeIndex(placeOf(i)), i, 0)
	}
	w.criterion = slices.Clone(criterion)
	for depth := 1; len(w.next) > 0 && (opts.Depth == 0 || depth <= opts.Depth); depth++ {
		if err := w.level(ctx, depth); err != nil {
			return nil, fmt.Errorf("slice: %w", err)
		}
	}
	w.finish()
	return w.Slice, nil
}

func valid(g Graph, i wet.Instance) error {
	if int64(i.Node) >= int64(g.NumNodes()) || int64(i.Stmt) >= int64(len(g.Node(i.Node).Stmts)) {
		return fmt.Errorf("slice: no statement %d in node %d", i.Stmt, i.Node)
	}
	if n := g.Executions(i.Thread, i.Node); i.K >= n {
		return fmt.Errorf("slice: thread %d executed node %d %d times, not %d", i.Thread, i.Node, n, i.K+1)
	}
	return nil
}

// walk is a slice that is being found.
type walk struct {
	*Slice
	next   []*frontier // of the next level, in order of discovery
	open   []*frontier // by place: in next, nil if not
	spare  []*frontier
	looked uint64 // instances
}

// found notes an instance; false when it is known.
func (w *walk) found(at int, i wet.Instance, depth int) bool {
	if !w.sets[at].add(i.K) {
		return false
	}
	w.count++
	f := w.open[at]
	if f == nil {
		if n := len(w.spare); n > 0 {
			f, w.spare = w.spare[n-1], w.spare[:n-1]
			f.place, f.ks = at, f.ks[:0]
		} else {
			f = &frontier{place: at}
		}
		w.open[at] = f
		w.next = append(w.next, f)
	}
	f.ks = append(f.ks, i.K)
	if w.opts.OnInstance != nil {
		w.opts.OnInstance(i, depth)
	}
	return true
}

func (w *walk) placeIndex(p place) int {
	at, ok := w.index[p]
	if !ok {
		at = len(w.places)
		w.index[p] = at
		w.places = append(w.places, p)
		w.sets = append(w.sets, &set{})
		w.arrows = append(w.arrows, nil)
		w.open = append(w.open, nil)
	}
	return at
}

// level looks at the instances of one depth, and finds those of the next.
func (w *walk) level(ctx context.Context, depth int) error {
	now := w.next
	w.next = nil
	for _, f := range now {
		w.open[f.place] = nil
	}
	for _, f := range now {
		// Neighbours in a label stream are cheap to reach one behind the other.
		slices.Sort(f.ks)
		for n := len(f.ks) - 1; n >= 0; n-- {
			if err := w.look(ctx, f.place, f.ks[n], depth); err != nil {
				return err
			}
		}
		w.spare = append(w.spare, f)
	}
	return nil
}

// look follows the dependences of one instance.
func (w *walk) look(ctx context.Context, at int, k uint64, depth int) error {
	if w.looked++; w.looked%4096 == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	i := w.places[at].instance(k)
	for d, err := range w.step(i) {
		if err != nil {
			return err
		}
		other := d.From
		if w.opts.Direction == Forward {
			other = d.To
		}
		if !w.opts.Kinds.follows(d.Kind) || w.opts.OneThread && other.Thread != i.Thread {
			continue
		}
		to := w.neighbour(at, d, placeOf(other))
		w.found(to, other, depth)
		if w.opts.MaxInsts != 0 && w.count > w.opts.MaxInsts {
			return fmt.Errorf("%w: %d", ErrTooBig, w.opts.MaxInsts)
		}
	}
	return nil
}

func (w *walk) step(i wet.Instance) iter.Seq2[wet.Dep, error] {
	if w.opts.Direction == Forward {
		return w.g.Users(i)
	}
	return w.g.Deps(i)
}

// neighbour counts a dependence between an instance of the place at and one of
// another place, whose index it gives.
func (w *walk) neighbour(at int, d wet.Dep, other place) int {
	list := w.arrows[at]
	for n := range list {
		if a := &list[n]; a.kind == d.Kind && a.reg == d.Reg && w.places[a.other] == other {
			a.count++
			if n > 0 { // towards the front: few of them take most of the dependences
				list[n], list[n-1] = list[n-1], list[n]
				n--
			}
			return list[n].other
		}
	}
	to := w.placeIndex(other)
	w.arrows[at] = append(w.arrows[at], arrow{other: to, kind: d.Kind, reg: d.Reg, count: 1})
	return to
}
