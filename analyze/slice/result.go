package slice

import (
	"cmp"
	"iter"
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Slice is a set of statement instances and the dependences that were followed
// to find them.
type Slice struct {
	g         Graph
	opts      Options
	criterion []wet.Instance
	places    []place
	index     map[place]int
	sets      []*set    // of each place, its executions in the slice
	arrows    [][]arrow // of each place, dependences to or from others
	count     uint64

	stmts []Statement
	of    []int // of each place, its statement
}

// arrow is the dependences of one kind between two places.
type arrow struct {
	other int // index of the place at the far end
	kind  wet.DepKind
	reg   uint8
	count uint64
}

// Statement is an instruction of the program, or an outside statement of one
// kind, with all its instances in a slice, in whatever node and thread.
type Statement struct {
	Kind   wet.NodeKind
	PC     uint64  // 0 for the start of a thread and for a signal
	Inst   rv.Inst // of a path's statement
	Callee uint64  // of a call
	Count  uint64  // instances in the slice
	// Threads are those that executed the instances, ascending.
	Threads []event.ThreadID

	places []int
}

// Arrow is the dependences of one kind between two statements: To used, From
// produced or decided.
type Arrow struct {
	From, To int // indexes into Slice.Statements
	Kind     wet.DepKind
	Reg      uint8  // of wet.DepRegister
	Count    uint64 // dependences between instances
	Crossing uint64 // of them, those between threads
}

type stmtKey struct {
	kind       wet.NodeKind
	pc, callee uint64
}

// finish makes the table of statements.
func (s *Slice) finish() {
	perm := make([]int, 0, len(s.places))
	for at := range s.places {
		if s.sets[at].count > 0 {
			perm = append(perm, at)
		}
	}
	slices.SortFunc(perm, func(a, b int) int { return s.places[a].compare(s.places[b]) })
	index := map[stmtKey]int{}
	for _, at := range perm {
		p := s.places[at]
		n := s.g.Node(p.node)
		st := n.Stmts[p.stmt]
		key := stmtKey{n.Kind, st.PC, n.Callee}
		i, ok := index[key]
		if !ok {
			i = len(s.stmts)
			index[key] = i
			s.stmts = append(s.stmts, Statement{Kind: n.Kind, PC: st.PC, Inst: st.Inst, Callee: n.Callee})
		}
		t := &s.stmts[i]
		t.Count += s.sets[at].count
		if k := len(t.Threads); k == 0 || t.Threads[k-1] != p.thread {
			t.Threads = append(t.Threads, p.thread) // places are sorted by thread first
		}
		t.places = append(t.places, at)
	}
	slices.SortFunc(s.stmts, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Callee, b.Callee))
	})
	s.of = make([]int, len(s.places))
	for i := range s.stmts {
		for _, at := range s.stmts[i].places {
			s.of[at] = i
		}
	}
}

// Len is the number of instances.
func (s *Slice) Len() uint64 { return s.count }

// Options are those that the slice was computed with.
func (s *Slice) Options() Options { return s.opts }

// Criterion is what the slice began with.
func (s *Slice) Criterion() []wet.Instance { return s.criterion }

// Graph is what the slice is of.
func (s *Slice) Graph() Graph { return s.g }

// Statements are the statements with instances in the slice, by address. The
// slice is shared and must not be changed.
func (s *Slice) Statements() []Statement { return s.stmts }

// Has tells whether an instance is in the slice.
func (s *Slice) Has(i wet.Instance) bool {
	at, ok := s.index[placeOf(i)]
	return ok && s.sets[at].has(i.K)
}

// Instances gives all instances, by thread, node, statement and number.
func (s *Slice) Instances() iter.Seq[wet.Instance] {
	return func(yield func(wet.Instance) bool) {
		perm := make([]int, len(s.places))
		for at := range perm {
			perm[at] = at
		}
		slices.SortFunc(perm, func(a, b int) int { return s.places[a].compare(s.places[b]) })
		for _, at := range perm {
			for k := range s.sets[at].all(0) {
				if !yield(s.places[at].instance(k)) {
					return
				}
			}
		}
	}
}

// Of gives the instances of statement n, by thread, node and number.
func (s *Slice) Of(n int) iter.Seq[wet.Instance] {
	return func(yield func(wet.Instance) bool) {
		for _, at := range s.stmts[n].places {
			for k := range s.sets[at].all(0) {
				if !yield(s.places[at].instance(k)) {
					return
				}
			}
		}
	}
}

// Arrows are the dependences that were followed, between statements; most
// frequent first. There are none with Options.NoArrows.
func (s *Slice) Arrows() []Arrow {
	type key struct {
		from, to int
		kind     wet.DepKind
		reg      uint8
	}
	if s.opts.NoArrows {
		return nil
	}
	sum := map[key]*Arrow{}
	for at, list := range s.arrows {
		for _, a := range list {
			if s.sets[at].count == 0 || s.sets[a.other].count == 0 {
				continue
			}
			from, to := a.other, at
			if s.opts.Direction == Forward {
				from, to = to, from
			}
			k := key{s.of[from], s.of[to], a.kind, a.reg}
			t := sum[k]
			if t == nil {
				t = &Arrow{From: k.from, To: k.to, Kind: k.kind, Reg: k.reg}
				sum[k] = t
			}
			t.Count += a.count
			if s.places[from].thread != s.places[to].thread {
				t.Crossing += a.count
			}
		}
	}
	out := make([]Arrow, 0, len(sum))
	for _, a := range sum {
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b Arrow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reg, b.Reg))
	})
	return out
}

// Values is what the instances of a statement produced.
type Values struct {
	Count       uint64 // instances with a value; 0: the others mean nothing
	First, Last uint64 // in the order of the run
	Min, Max    uint64 // as unsigned numbers
	MinS, MaxS  int64  // as signed numbers
}

// Values reads the values of statement n's instances in the slice.
func (s *Slice) Values(n int) (v Values, err error) {
	var first, last uint64 // places in the run
	for _, at := range s.stmts[n].places {
		p := s.places[at]
		for k := range s.sets[at].all(0) {
			x, ok, err := s.g.Value(p.instance(k))
			if err != nil {
				return v, err
			}
			if !ok {
				continue
			}
			if v.Count == 0 {
				v.Min, v.Max, v.MinS, v.MaxS = x, x, int64(x), int64(x)
			}
			v.Min, v.Max, v.MinS, v.MaxS = min(v.Min, x), max(v.Max, x), min(v.MinS, int64(x)), max(v.MaxS, int64(x))
			v.Count++
		}
	}
	if v.Count == 0 {
		return v, nil
	}
	for n, at := range s.stmts[n].places {
		p, all := s.places[at], s.sets[at]
		low := s.firstOf(all)
		for _, k := range []uint64{low, all.max} {
			o, err := s.place(p.instance(k))
			if err != nil {
				return v, err
			}
			x, ok, err := s.g.Value(p.instance(k))
			if err != nil {
				return v, err
			}
			if ok && (n == 0 && k == low || o < first) {
				first, v.First = o, x
			}
			if ok && (n == 0 && k == low || o >= last) {
				last, v.Last = o, x
			}
		}
	}
	return v, nil
}

func (s *Slice) firstOf(all *set) uint64 {
	for k := range all.all(0) {
		return k
	}
	return 0
}

// place puts an instance in the order of the run.
func (s *Slice) place(i wet.Instance) (uint64, error) {
	t, err := s.g.Time(i.Thread, i.Node, i.K)
	if err != nil {
		return 0, err
	}
	return s.g.Order(i.Thread, t), nil
}

// Intersect is what is in both slices, of the same graph. It has no arrows.
func Intersect(a, b *Slice) *Slice {
	out := &Slice{g: a.g, opts: a.opts, index: map[place]int{}}
	out.opts.NoArrows = true
	for at, p := range a.places {
		other, ok := b.index[p]
		if !ok {
			continue
		}
		if both := a.sets[at].and(b.sets[other]); both.count > 0 {
			out.index[p] = len(out.places)
			out.places = append(out.places, p)
			out.sets = append(out.sets, both)
			out.arrows = append(out.arrows, nil)
			out.count += both.count
		}
	}
	out.finish()
	return out
}
