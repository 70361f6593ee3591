package slice

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"hindsight/wet"
)

// walk computes a slice breadth first, instance by instance. It supports depth limits and
// works on any graph.
type walk struct {
	*Slice
	places []*placeState
	of     map[place]*placeState
	next   []*placeState // with instances of the next level, in order of discovery
	looked uint64        // instances
}

// placeState is what the walk knows of a place.
type placeState struct {
	place
	set    *nodeSet
	joined map[uint32]uint32 // masks, and the mask with the statement added
	ks     []uint64          // instances of the next level
	open   bool              // in walk.next
	arrows []arrow
}

// arrow is the dependences of one kind between two places.
type arrow struct {
	other *placeState
	kind  wet.DepKind
	reg   uint8
	count uint64
}

func newWalk(s *Slice) *walk { return &walk{Slice: s, of: map[place]*placeState{}} }

func (w *walk) run(ctx context.Context, criterion []wet.Instance) error {
	for _, i := range criterion {
		w.found(w.state(placeOf(i)), i.K)
	}
	for depth := 1; len(w.next) > 0 && (w.opts.Depth == 0 || depth <= w.opts.Depth); depth++ {
		if err := w.level(ctx); err != nil {
			return err
		}
	}
	w.links = tally{}
	for _, p := range w.places {
		for _, a := range p.arrows {
			l := link{a.other.place, p.place, a.kind, a.reg}
			if w.opts.Direction == Forward {
				l.from, l.to = l.to, l.from
			}
			w.links[l] += a.count
		}
	}
	return nil
}

func (w *walk) state(p place) *placeState {
	s := w.of[p]
	if s == nil {
		s = &placeState{place: p, set: w.homes[w.homeIndex(home{p.thread, p.node})], joined: map[uint32]uint32{}}
		w.of[p] = s
		w.places = append(w.places, s)
	}
	return s
}

// found adds an instance.
func (w *walk) found(p *placeState, k uint64) {
	slot := p.set.slot(k)
	if p.set.masks[*slot].has(p.stmt) {
		return
	}
	id, ok := p.joined[*slot]
	if !ok {
		one := make(mask, p.set.words)
		one[p.stmt/64] |= 1 << (p.stmt % 64)
		id = p.set.join(*slot, one)
		p.joined[*slot] = id
	}
	p.set.set(slot, id)
	w.count++
	p.ks = append(p.ks, k)
	if !p.open {
		p.open = true
		w.next = append(w.next, p)
	}
}

// level processes the instances of one depth, and finds those of the next.
func (w *walk) level(ctx context.Context) error {
	now := w.next
	w.next = nil
	ks := make([][]uint64, len(now))
	for n, p := range now {
		ks[n], p.ks, p.open = p.ks, nil, false
	}
	for n, p := range now {
		// Neighbours in a label stream are cheap to reach one after the other.
		slices.Sort(ks[n])
		for _, k := range slices.Backward(ks[n]) {
			if err := w.look(ctx, p, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// look follows the dependences of one instance.
func (w *walk) look(ctx context.Context, p *placeState, k uint64) error {
	w.looked++
	if w.looked%4096 == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	var ended []wet.Instance
	for d, err := range w.step(p.instance(k)) {
		if err != nil {
			return err
		}
		other := d.From
		if w.opts.Direction == Forward {
			other = d.To
		}
		if !w.opts.followsFrom(w.g.Node(d.To.Node), d.To.Stmt, d.Kind, d.Reg) || w.opts.OneThread && other.Thread != p.thread {
			continue
		}
		w.found(w.neighbour(p, d, placeOf(other)), other.K)
		if w.opts.MaxInsts != 0 && w.count > w.opts.MaxInsts {
			return fmt.Errorf("%w: %d", ErrTooBig, w.opts.MaxInsts)
		}
		if w.exits != nil && !w.opts.passed(w.g.Node(p.node), p.stmt) {
			err := w.exits.decided(d.From, d.To, d.Kind, func(e wet.Instance) error {
				if !slices.Contains(ended, e) {
					ended = append(ended, e)
					w.found(w.neighbour(p, wet.Dep{Kind: wet.DepExit}, placeOf(e)), e.K)
				}
				return nil
			})
			if err != nil {
				return err
			}
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

// neighbour counts a dependence between an instance of p and one of another
// place.
func (w *walk) neighbour(p *placeState, d wet.Dep, other place) *placeState {
	list := p.arrows
	for n := range list {
		if a := &list[n]; a.kind == d.Kind && a.reg == d.Reg && a.other.place == other {
			a.count++
			if n > 0 { // towards the front, because few of them have most of the dependences
				list[n], list[n-1] = list[n-1], list[n]
				n--
			}
			return list[n].other
		}
	}
	to := w.state(other)
	p.arrows = append(p.arrows, arrow{other: to, kind: d.Kind, reg: d.Reg, count: 1})
	return to
}
