package wpp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// at returns a cursor at every position of the string, including the end.
func at(g *Grammar) []*Cursor {
	out := []*Cursor{}
	c := g.Begin()
	for !c.AtEnd() {
		out = append(out, c.Clone())
		c.Next()
	}
	return append(out, c)
}

func samples(n int, alphabet int) func(yield func([]Terminal, *Grammar) bool) {
	return func(yield func([]Terminal, *Grammar) bool) {
		for seed := range uint64(n) {
			rng := rand.New(rand.NewPCG(seed, 5))
			s := randomString(rng, rng.IntN(300), 1+rng.IntN(alphabet))
			if !yield(s, build(s).Grammar()) {
				return
			}
		}
	}
}

func TestCursorBothWays(t *testing.T) {
	for s, g := range samples(200, 6) {
		places := at(g)
		if len(places) != len(s)+1 {
			t.Fatalf("%d positions of %d", len(places)-1, len(s))
		}
		for i, c := range places {
			x, ok := c.Terminal()
			if ok != (i < len(s)) || ok && x != s[i] {
				t.Fatalf("at %d: %d %v", i, x, ok)
			}
		}
		c := g.End()
		for i := len(s); i >= 0; i-- {
			if c.Compare(places[i]) != 0 || !slices.Equal(c.Path(), places[i].Path()) {
				t.Fatalf("back at %d: %v, not %v", i, c.Path(), places[i].Path())
			}
			if c.Prev() != (i > 0) {
				t.Fatalf("Prev at %d", i)
			}
		}
		for i := range places {
			j := (i*7 + 3) % len(places)
			if got, want := places[i].Compare(places[j]), compareInt(i, j); got != want {
				t.Fatalf("compare %d with %d: %d", i, j, got)
			}
		}
	}
}

func compareInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestWeights(t *testing.T) {
	weight := func(x Terminal) uint64 { return uint64(x) % 4 } // some have no weight
	for s, g := range samples(200, 9) {
		w, err := NewWeights(g, weight)
		if err != nil {
			t.Fatal(err)
		}
		places := at(g)
		k := uint64(0)
		for i, c := range places {
			if got := w.Rank(c); got != k {
				t.Fatalf("rank at %d: %d, not %d", i, got, k)
			}
			next := i // the first with a weight at or after i
			for next < len(s) && weight(s[next]) == 0 {
				next++
			}
			d := c.Clone()
			if ok := w.SkipTo(d); ok != (next < len(s)) || d.Compare(places[next]) != 0 {
				t.Fatalf("skip from %d: %v, rank %d", i, ok, w.Rank(d))
			}
			d.Set(c)
			ok := d.Skip(func(s Symbol) bool {
				if s.IsRule() {
					return w.Rule(s.Rule()) > 0
				}
				return weight(s.Terminal()) > 0
			})
			if ok != (next < len(s)) || d.Compare(places[next]) != 0 {
				t.Fatalf("generic skip from %d: %v", i, ok)
			}
			last := i - 1
			for last >= 0 && weight(s[last]) == 0 {
				last--
			}
			d.Set(c)
			if ok := w.SkipBack(d); ok != (last >= 0) || d.Compare(places[max(last, 0)]) != 0 && ok {
				t.Fatalf("skip back from %d: %v", i, ok)
			}
			if i == len(s) {
				break
			}
			if got := w.At(c); got != weight(s[i]) {
				t.Fatalf("weight at %d: %d", i, got)
			}
			for u := range weight(s[i]) {
				d, offset, ok := w.Select(k + u)
				if !ok || offset != u || d.Compare(c) != 0 || !slices.Equal(d.Path(), c.Path()) {
					t.Fatalf("select %d: %v %d %v", k+u, d.Path(), offset, ok)
				}
			}
			k += weight(s[i])
		}
		if d, _, ok := w.Select(k); ok || !d.AtEnd() || w.Total() != k {
			t.Fatalf("select of the total %d", k)
		}
		testRange(t, s, w, weight)
	}
}

func testRange(t *testing.T, s []Terminal, w *Weights, weight func(Terminal) uint64) {
	t.Helper()
	var units [][2]uint64 // of each unit: its terminal, and its place in it
	for _, x := range s {
		for u := range weight(x) {
			units = append(units, [2]uint64{uint64(x), u})
		}
	}
	for lo := 0; lo <= len(units); lo += 1 + len(units)/7 {
		for hi := lo; hi <= len(units); hi += 1 + len(units)/9 {
			var got [][2]uint64
			for c, part := range w.Range(uint64(lo), uint64(hi)) {
				x, _ := c.Terminal()
				for u := part.From; u < part.To; u++ {
					got = append(got, [2]uint64{uint64(x), u})
				}
			}
			if !slices.Equal(got, units[lo:hi]) {
				t.Fatalf("units %d to %d: %v, not %v", lo, hi, got, units[lo:hi])
			}
		}
	}
}

func TestWeightsOverflow(t *testing.T) {
	one := func(Terminal) uint64 { return 1 }
	if w, err := NewWeights(doubling(t, 62), one); err != nil || w.Total() != 1<<62 {
		t.Errorf("2^62: %v", err)
	}
	if _, err := NewWeights(doubling(t, 63), one); !errors.Is(err, ErrTooLong) {
		t.Errorf("2^63: %v", err)
	}
	if _, err := NewWeights(doubling(t, 1), func(Terminal) uint64 { return 1 << 63 }); !errors.Is(err, ErrTooLong) {
		t.Errorf("2 · 2^63: %v", err)
	}
	w, err := lengths(doubling(t, 60))
	if err != nil {
		t.Fatal(err)
	}
	const k = 1<<59 + 12345
	c, _, ok := w.Select(k)
	if !ok || w.Rank(c) != k || c.Depth() != 60 {
		t.Errorf("select in a long string: %v, rank %d, depth %d", ok, w.Rank(c), c.Depth())
	}
}

// TestDeepNesting walks a grammar with very deeply nested rules, which must not depend on
// the goroutine's stack.
func TestDeepNesting(t *testing.T) {
	const n = 300000
	g := nested(t, n)
	w, err := NewWeights(g, func(u Terminal) uint64 {
		if u == 3 {
			return 1
		}
		return 0
	})
	if err != nil {
		t.Fatal(err)
	}
	c, _, ok := w.Select(0)
	if !ok || c.Depth() != n-3 {
		t.Errorf("depth %d, %v", c.Depth(), ok)
	}
	count := 0
	for c := g.Begin(); !c.AtEnd(); c.Next() {
		count++
	}
	if count != n+1 {
		t.Errorf("%d terminals", count)
	}
}

// TestFigure2 is the example of PPoPP 2003, figure 2, thread 1, in which blocks 3 and 4
// synchronise.
func TestFigure2(t *testing.T) {
	s := []Terminal{1, 2, 3, 4, 5, 3, 4, 6}
	g := build(s).Grammar()
	if got, want := g.String(), "R1 → 1 2 R0 5 R0 6\nR0 → 3 4\n"; got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
	counts, err := NewSyncCounts(g, func(x Terminal) bool { return x == 3 || x == 4 })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{0, 0, 0, 2, 2, 4} {
		if got := counts.Edge(1, i); got != want {
			t.Errorf("edge %d of S: %d, not %d", i, got, want)
		}
	}
	for i, want := range []uint64{0, 1} {
		if got := counts.Edge(0, i); got != want {
			t.Errorf("edge %d of A: %d, not %d", i, got, want)
		}
	}
	want := []Path{{{1, 2}, {0, 0}}, {{1, 2}, {0, 1}}, {{1, 4}, {0, 0}}, {{1, 4}, {0, 1}}}
	for m, p := range want {
		if got, ok := counts.Algorithm1(uint64(m)); !ok || !slices.Equal(got, p) {
			t.Errorf("path of operation %d: %v, not %v", m, got, p)
		}
	}
	if _, ok := counts.Algorithm1(4); ok {
		t.Error("a fifth operation")
	}
}

func TestAlgorithm1IsSelect(t *testing.T) {
	isSync := func(x Terminal) bool { return x < 2 }
	for s, g := range samples(200, 8) {
		counts, err := NewSyncCounts(g, isSync)
		if err != nil {
			t.Fatal(err)
		}
		places := at(g)
		m := uint64(0)
		for i, x := range s {
			if !isSync(x) {
				continue
			}
			path, ok := counts.Algorithm1(m)
			c, _, _ := counts.Select(m)
			if !ok || !slices.Equal(path, places[i].Path()) || !slices.Equal(path, c.Path()) {
				t.Fatalf("operation %d at %d: %v and %v, not %v", m, i, path, c.Path(), places[i].Path())
			}
			m++
		}
		if _, ok := counts.Algorithm1(m); ok || counts.Total() != m {
			t.Fatalf("%d operations of %d", counts.Total(), m)
		}
	}
}

func TestStacks(t *testing.T) {
	effects := []Effect{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {3, 0}, {1, 1}, {2, 3}, {0, 0}, {0, 1}}
	effect := func(x Terminal) Effect { return effects[x] }
	type frame struct {
		at  int
		nth uint64
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 6))
		n := rng.IntN(300)
		if seed%10 == 0 {
			n += 2000
		}
		s := randomString(rng, n, 1+rng.IntN(len(effects)))
		g := build(s).Grammar()
		stacks, err := NewStacks(g, effect)
		if err != nil {
			t.Fatal(err)
		}
		places := at(g)
		var open []frame
		under := uint64(0)
		for i, c := range places {
			if got := stacks.Before(c); got != (Effect{under, uint64(len(open))}) {
				t.Fatalf("seed %d at %d: %v, not %d and %d", seed, i, got, under, len(open))
			}
			if n < 1000 || i%97 == 0 {
				k := len(open)
				for d, nth := range stacks.Enclosing(c) {
					k--
					if k < 0 || d.Compare(places[open[k].at]) != 0 || nth != open[k].nth {
						t.Fatalf("seed %d at %d: frame %d is push %d at %v, not %v", seed, i, k, nth, d.Path(), open[max(k, 0)])
					}
				}
				if k != 0 {
					t.Fatalf("seed %d at %d: %d frames missing", seed, i, k)
				}
			}
			if i == len(s) {
				break
			}
			e := effect(s[i])
			pops := min(e.Pops, uint64(len(open)))
			open = open[:uint64(len(open))-pops]
			under += e.Pops - pops
			for k := range e.Pushes {
				open = append(open, frame{i, k})
			}
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	s := benchInputs(1 << 20)["branchy"]
	g := build(s).Grammar()
	w, err := lengths(g)
	if err != nil {
		b.Fatal(err)
	}
	c := g.Begin()
	k := uint64(1)
	for b.Loop() {
		k = k * 6364136223846793005 % w.Total()
		w.Seek(c, k)
	}
}

func BenchmarkNext(b *testing.B) {
	g := build(benchInputs(1 << 20)["branchy"]).Grammar()
	c := g.Begin()
	for b.Loop() {
		if !c.Next() {
			c.ToBegin()
		}
	}
}

func BenchmarkEnclosing(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 9))
	s := make([]Terminal, 0, 1<<18)
	for depth := 0; len(s) < 1<<18; {
		x := Terminal(rng.IntN(6))
		if x == 2 && depth == 0 {
			continue
		}
		switch x {
		case 1:
			depth++
		case 2:
			depth--
		}
		s = append(s, x)
	}
	g := build(s).Grammar()
	stacks, err := NewStacks(g, func(x Terminal) Effect {
		switch x {
		case 1:
			return Effect{Pushes: 1}
		case 2:
			return Effect{Pops: 1}
		}
		return Effect{}
	})
	if err != nil {
		b.Fatal(err)
	}
	w, err := lengths(g)
	if err != nil {
		b.Fatal(err)
	}
	frames := 0
	c := g.Begin()
	k := uint64(1)
	for b.Loop() {
		k = k * 6364136223846793005 % w.Total()
		w.Seek(c, k)
		for range stacks.Enclosing(c) {
			frames++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
}

// lengths returns Weights in which each terminal weighs 1, so that ranks are positions in
// the string.
func lengths(g *Grammar) (*Weights, error) {
	return NewWeights(g, func(Terminal) uint64 { return 1 })
}
