package slice_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/wet"
)

// randomOptions chooses which dependences of a run to follow.
func randomOptions(rng *rand.Rand, l *slicetest.Log) slice.Options {
	o := slice.Options{Direction: slice.Direction(rng.IntN(2)), Kinds: slice.Kinds(rng.IntN(8)), OneThread: rng.IntN(3) == 0}
	if rng.IntN(3) == 0 {
		o.Depth = 1 + rng.IntN(6)
	}
	if rng.IntN(2) == 0 {
		o.Flow = l.Flow()
	}
	o.Brief = rng.IntN(3) == 0
	return o
}

// follows reports whether a slice along kinds follows a dependence.
func follows(kinds slice.Kinds, kind wet.DepKind) bool {
	if kinds == 0 {
		kinds = slice.Both
	}
	switch kind {
	case wet.DepControl:
		return kinds&slice.Control != 0
	case wet.DepExit:
		return false // see plain
	case wet.DepSync:
		return kinds&slice.Sync != 0
	}
	return kinds&slice.Data != 0
}

// plain returns the slice by a plain walk over the log. of returns the instance of a
// statement in g, the graph that is compared.
func plain(l *slicetest.Log, from []int, o slice.Options, of func(int) wet.Instance, g slice.Graph) map[int]bool {
	stmts := l.Statements()
	exits := o.Flow != nil && (o.Kinds == 0 || o.Kinds&slice.Both == slice.Both) && o.Direction == slice.Backward
	follow := func(from, to int, d slicetest.Dep) bool {
		if o.OneThread && stmts[from].Thread != stmts[to].Thread {
			return false
		}
		if o.Brief && d.Kind == wet.DepRegister && d.Reg >= 2 && d.Reg <= 4 {
			return false
		}
		if i := of(to); o.Brief && d.Kind > wet.DepMemory && slice.Housekeeping(g.Node(i.Node), i.Stmt) {
			return false
		}
		return d.Kind == wet.DepExit && exits || follows(o.Kinds, d.Kind)
	}
	if o.Depth == 0 {
		return l.Slice(from, o.Direction == slice.Forward, follow)
	}
	in := map[int]bool{}
	for _, n := range from {
		in[n] = true
	}
	for range o.Depth {
		next := map[int]bool{}
		for to := range stmts {
			deps := stmts[to].Deps
			if exits {
				deps = append(slices.Clone(deps), l.Exits(to)...)
			}
			for _, d := range deps {
				a, b := to, d.From
				if o.Direction == slice.Forward {
					a, b = b, a
				}
				if in[a] && follow(d.From, to, d) {
					next[b] = true
				}
			}
		}
		for n := range next {
			in[n] = true
		}
	}
	return in
}

// visible removes what a brief slice passes through.
func visible(in map[int]bool, o slice.Options, from []int, of func(int) wet.Instance, g slice.Graph) map[int]bool {
	if !o.Brief {
		return in
	}
	begun := map[wet.Instance]bool{}
	for _, n := range from {
		i := of(n)
		i.K = 0
		begun[i] = true
	}
	out := map[int]bool{}
	for n := range in {
		i := of(n)
		node := g.Node(i.Node)
		if i.K = 0; begun[i] || !slice.Housekeeping(node, i.Stmt) {
			out[n] = true
		}
	}
	return out
}

// indexes returns the statements of the log that are in a slice of the log.
func indexes(t testing.TB, l *slicetest.Log, s *slice.Slice) map[int]bool {
	t.Helper()
	in := map[int]bool{}
	for i := range s.Instances() {
		n, err := l.Find(i)
		if err != nil {
			t.Fatal(err)
		}
		if in[n] || !s.Has(i) {
			t.Fatalf("instance %+v is listed twice, or not in the slice", i)
		}
		in[n] = true
	}
	return in
}

func same(a, b map[int]bool) error {
	for n := range a {
		if !b[n] {
			return fmt.Errorf("statement %d is in the first only", n)
		}
	}
	for n := range b {
		if !a[n] {
			return fmt.Errorf("statement %d is in the second only", n)
		}
	}
	return nil
}

// arrowsAgree compares a slice's counts with the log.
func arrowsAgree(t *testing.T, l *slicetest.Log, s *slice.Slice, in map[int]bool) {
	t.Helper()
	var instances, arrows, crossing uint64
	for _, st := range s.Statements() {
		instances += st.Count
	}
	for _, a := range s.Arrows() {
		arrows, crossing = arrows+a.Count, crossing+a.Crossing
	}
	var want, wantCrossing uint64
	stmts := l.Statements()
	for to := range stmts {
		for _, d := range stmts[to].Deps {
			followed := in[to] && s.Options().Direction == slice.Backward || in[d.From] && s.Options().Direction == slice.Forward
			if !followed || s.Options().OneThread && stmts[d.From].Thread != stmts[to].Thread ||
				!follows(s.Options().Kinds, d.Kind) {
				continue
			}
			want++
			if stmts[d.From].Thread != stmts[to].Thread {
				wantCrossing++
			}
		}
	}
	if instances != s.Len() || instances != uint64(len(in)) || arrows != want || crossing != wantCrossing {
		t.Errorf("%d instances, %d arrows, %d between threads; want %d, %d, %d", instances, arrows, crossing, len(in), want, wantCrossing)
	}
}

// TestSlices compares slices with those of a plain walk over the log.
func TestSlices(t *testing.T) {
	var sizes, threads [2]int
	for seed := range uint64(60) {
		l, _ := logged(t, randomShape(seed))
		rng := rand.New(rand.NewPCG(seed, 13))
		for range 12 {
			o := randomOptions(rng, l)
			from := []int{rng.IntN(len(l.Statements()))}
			if rng.IntN(4) == 0 {
				from = append(from, rng.IntN(len(l.Statements())))
			}
			var criterion []wet.Instance
			for _, n := range from {
				criterion = append(criterion, l.Instance(n))
			}
			s, err := slice.Compute(context.Background(), l, criterion, o)
			if err != nil {
				t.Fatal(err)
			}
			got := indexes(t, l, s)
			if err := same(got, visible(plain(l, from, o, l.Instance, l), o, from, l.Instance, l)); err != nil {
				t.Fatalf("seed %d, from %v, %+v: %v (slice, then plain walk)", seed, from, o, err)
			}
			if o.Depth == 0 && !o.Brief && o.Flow == nil {
				arrowsAgree(t, l, s, got)
			}
			sizes[o.Direction] += len(got)
			for n := range got {
				if l.Statements()[n].Thread != l.Statements()[from[0]].Thread {
					threads[o.Direction]++
					break
				}
			}
		}
	}
	if sizes[0] < 1000 || sizes[1] < 1000 || threads[0] < 20 || threads[1] < 20 {
		t.Errorf("slices backward and forward have %v instances; %v go through threads", sizes, threads)
	}
	t.Logf("slices backward and forward have %v instances; %v go through threads", sizes, threads)
}

// TestIntersect checks that the intersection of two slices has what both have.
func TestIntersect(t *testing.T) {
	common := 0
	for seed := range uint64(20) {
		l, _ := logged(t, randomShape(seed))
		rng := rand.New(rand.NewPCG(seed, 14))
		var both [2]*slice.Slice
		var sets [2]map[int]bool
		for n := range both {
			s, err := slice.Compute(context.Background(), l, []wet.Instance{l.Instance(rng.IntN(len(l.Statements())))}, slice.Options{})
			if err != nil {
				t.Fatal(err)
			}
			both[n], sets[n] = s, indexes(t, l, s)
		}
		want := map[int]bool{}
		for n := range sets[0] {
			if sets[1][n] {
				want[n] = true
			}
		}
		if err := same(indexes(t, l, slice.Intersect(both[0], both[1])), want); err != nil {
			t.Fatal(err)
		}
		common += len(want)
	}
	if common < 100 {
		t.Errorf("%d instances in common only", common)
	}
}

// sameSlices compares two slices of the same nodes: instances, statements, arrows.
func sameSlices(a, b *slice.Slice) error {
	if a.Len() != b.Len() {
		return fmt.Errorf("%d instances, %d in the other", a.Len(), b.Len())
	}
	n := uint64(0)
	for i := range a.Instances() {
		if !b.Has(i) {
			return fmt.Errorf("%+v is not in the other", i)
		}
		n++
	}
	if n != a.Len() {
		return fmt.Errorf("%d instances are listed of %d", n, a.Len())
	}
	if x, y := a.Arrows(), b.Arrows(); !slices.Equal(x, y) {
		return fmt.Errorf("arrows %+v, in the other %+v", x, y)
	}
	for s, st := range a.Statements() {
		if other := b.Statements()[s]; st.Count != other.Count || st.PC != other.PC || !slices.Equal(st.Threads, other.Threads) {
			return fmt.Errorf("statement %+v, in the other %+v", st, other)
		}
	}
	return nil
}
