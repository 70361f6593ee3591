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
	homes     []*nodeSet
	index     map[home]int
	links     tally
	count     uint64
	exits     *exits         // nil: decisions that ended loops are omitted
	hidden    map[place]bool // instances that are passed through

	places []place // with instances, sorted
	stmts  []Statement
	of     map[place]int // statement of each place
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

	places []place
}

// Arrow stands for the dependences of one kind between two statements: To used what From
// produced, or ran because of it.
type Arrow struct {
	From, To int // indexes into Slice.Statements
	Kind     wet.DepKind
	Reg      uint8  // of wet.DepRegister
	Count    uint64 // dependences between instances
	Crossing uint64 // number of these between threads
}

type stmtKey struct {
	kind       wet.NodeKind
	pc, callee uint64
}

// finish makes the table of statements.
func (s *Slice) finish() {
	for _, h := range s.homes {
		for stmt := range h.stmts().all {
			s.places = append(s.places, place{h.thread, h.node, stmt})
		}
	}
	slices.SortFunc(s.places, place.compare)
	if s.opts.Brief {
		s.hide()
		s.links = s.past(s.links)
	}
	index := map[stmtKey]int{}
	for _, p := range s.places {
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
		t.Count += s.set(p).len(p.stmt)
		if k := len(t.Threads); k == 0 || t.Threads[k-1] != p.thread {
			t.Threads = append(t.Threads, p.thread) // places are sorted by thread first
		}
		t.places = append(t.places, p)
	}
	slices.SortFunc(s.stmts, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Callee, b.Callee))
	})
	s.of = make(map[place]int, len(s.places))
	for i := range s.stmts {
		for _, p := range s.stmts[i].places {
			s.of[p] = i
		}
	}
}

// set holds the instances of a place.
func (s *Slice) set(p place) *nodeSet { return s.homes[s.index[home{p.thread, p.node}]] }

// in reports whether a place has instances that count.
func (s *Slice) in(p place) bool {
	_, ok := s.of[p]
	return ok
}

// Len returns the number of instances.
func (s *Slice) Len() uint64 { return s.count }

// Options returns the options with which the slice was computed.
func (s *Slice) Options() Options { return s.opts }

// Criterion returns what the slice began with.
func (s *Slice) Criterion() []wet.Instance { return s.criterion }

// Graph returns the graph of the slice.
func (s *Slice) Graph() Graph { return s.g }

// Statements returns the statements with instances in the slice, by address. The slice is
// shared and must not be changed.
func (s *Slice) Statements() []Statement { return s.stmts }

// Has reports whether an instance is in the slice.
func (s *Slice) Has(i wet.Instance) bool {
	at, ok := s.index[homeOf(i)]
	if !ok {
		return false
	}
	h := s.homes[at]
	return h.masks[h.get(i.K)].has(i.Stmt) && !s.hidden[placeOf(i)]
}

// Instances returns all instances, by thread, node, statement and number.
func (s *Slice) Instances() iter.Seq[wet.Instance] { return s.instances(s.places) }

// Of returns the instances of statement n, by thread, node and number.
func (s *Slice) Of(n int) iter.Seq[wet.Instance] { return s.instances(s.stmts[n].places) }

func (s *Slice) instances(places []place) iter.Seq[wet.Instance] {
	return func(yield func(wet.Instance) bool) {
		for _, p := range places {
			for k := range s.set(p).of(p.stmt) {
				if !yield(p.instance(k)) {
					return
				}
			}
		}
	}
}

// Arrows returns the dependences that were followed, between statements, the most
// frequent first.
func (s *Slice) Arrows() []Arrow {
	type key struct {
		from, to int
		kind     wet.DepKind
		reg      uint8
	}
	sum := map[key]*Arrow{}
	for l, count := range s.links {
		if l.kind == wet.DepPotential && (!s.in(l.from) || !s.in(l.to)) {
			continue
		}
		k := key{s.of[l.from], s.of[l.to], l.kind, l.reg}
		t := sum[k]
		if t == nil {
			t = &Arrow{From: k.from, To: k.to, Kind: k.kind, Reg: k.reg}
			sum[k] = t
		}
		t.Count += count
		if l.from.thread != l.to.thread {
			t.Crossing += count
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

// Values summarises what the instances of a statement produced.
type Values struct {
	Count       uint64 // instances with a value; if 0, the other fields are undefined
	First, Last uint64 // in the order of the run
	Min, Max    uint64 // as unsigned numbers
	MinS, MaxS  int64  // as signed numbers
}

// Values reads the values of statement n's instances in the slice.
func (s *Slice) Values(n int) (v Values, err error) {
	var first, last at
	fresh := true
	for _, p := range s.stmts[n].places {
		var low, high wet.Instance
		var lowValue, highValue uint64
		found := false
		for k := range s.set(p).of(p.stmt) {
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
			if !found {
				low, lowValue, found = p.instance(k), x, true
			}
			high, highValue = p.instance(k), x
		}
		if !found {
			continue
		}
		a, err := s.place(low)
		if err != nil {
			return v, err
		}
		b, err := s.place(high)
		if err != nil {
			return v, err
		}
		if fresh || a.before(&first) {
			first, v.First = a, lowValue
		}
		if fresh || !b.before(&last) {
			last, v.Last = b, highValue
		}
		fresh = false
	}
	return v, nil
}

// place puts an instance in the order of the run.
func (s *Slice) place(i wet.Instance) (at, error) {
	t, err := s.g.Time(i.Thread, i.Node, i.K)
	if err != nil {
		return at{}, err
	}
	return at{i, t, s.g.Order(i.Thread, t)}, nil
}

// Intersect returns the instances in both of two slices of the same graph. The result has
// no arrows.
func Intersect(a, b *Slice) *Slice {
	out := &Slice{g: a.g, opts: a.opts, index: map[home]int{}}
	for _, h := range a.homes {
		other, ok := b.index[h.home]
		if !ok {
			continue
		}
		both := h.and(b.homes[other])
		n := uint64(0)
		for id, m := range both.masks {
			n += both.counts[id] * uint64(m.count())
		}
		if n > 0 {
			out.index[h.home] = len(out.homes)
			out.homes = append(out.homes, both)
			out.count += n
		}
	}
	out.finish()
	return out
}
