package stream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// sample is a stream of a kind that labels have.
type sample struct {
	name   string
	values []uint64
}

func samples(n int) []sample {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	kinds := []struct {
		name string
		at   func(i int) uint64
	}{
		{"constant", func(int) uint64 { return 7 }},
		{"stride", func(i int) uint64 { return 1<<40 + 24*uint64(i) }},
		{"falling", func(i int) uint64 { return -uint64(3 * i) }},
		{"periodic", func(i int) uint64 { return uint64(i%17) * 0x9e3779b97f4a7c15 }},
		{"random", func(int) uint64 { return r.Uint64() }},
		{"few", func(int) uint64 { return 0xffff_0000_0000 + 64*r.Uint64N(12) }},
		{"bytes", func(int) uint64 { return r.Uint64N(256) }},
	}
	var all []sample
	for _, k := range kinds {
		v := make([]uint64, n)
		for i := range v {
			v[i] = k.at(i)
		}
		all = append(all, sample{k.name, v})
	}
	// A row of a matrix at a time, and a branch that mostly goes one way.
	alternating, stamps := make([]uint64, n), make([]uint64, n)
	var a, s uint64
	for i := range n {
		alternating[i], stamps[i] = a, s
		a += []uint64{8, 8, 8, 1000}[i%4]
		s += 1 + uint64(i%3)
		if r.IntN(20) == 0 {
			s += r.Uint64N(50)
		}
	}
	turn := slices.Clone(alternating)
	for i := n / 2; i < n; i++ { // what the prefix does not predict
		turn[i] = r.Uint64()
	}
	return append(all, sample{"alternating", alternating}, sample{"timestamps", stamps}, sample{"turn", turn})
}

func collect(t *testing.T, s *Stream) []uint64 {
	t.Helper()
	c := s.Cursor()
	out := make([]uint64, 0, s.Len())
	for v, ok := c.Next(); ok; v, ok = c.Next() {
		out = append(out, v)
	}
	if c.Pos() != s.Len() {
		t.Fatalf("at the end Pos is %d of %d", c.Pos(), s.Len())
	}
	return out
}

// checkWalks compares everything that a cursor returns with the values.
func checkWalks(t *testing.T, s *Stream, want []uint64, r *rand.Rand) {
	t.Helper()
	if s.Len() != uint64(len(want)) {
		t.Fatalf("Len is %d, want %d", s.Len(), len(want))
	}
	if got := collect(t, s); !slices.Equal(got, want) {
		t.Fatalf("%v: forward differs", s.Method())
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, want) {
		t.Fatalf("%v: All differs", s.Method())
	}
	c := s.Cursor()
	if err := c.Seek(s.Len()); err != nil {
		t.Fatal(err)
	}
	for i := len(want) - 1; i >= 0; i-- {
		if v, ok := c.Prev(); !ok || v != want[i] {
			t.Fatalf("%v: backward at %d: %d, %v, want %d", s.Method(), i, v, ok, want[i])
		}
	}
	if _, ok := c.Prev(); ok {
		t.Fatal("a value before the first")
	}
	pos := 0
	for range 60 {
		if r.IntN(4) == 0 {
			pos = r.IntN(len(want) + 1)
			if err := c.Seek(uint64(pos)); err != nil {
				t.Fatal(err)
			}
		}
		back := r.IntN(2) == 0
		for range r.IntN(300) {
			var v uint64
			var ok bool
			at := pos
			if back {
				v, ok = c.Prev()
				at--
			} else {
				v, ok = c.Next()
			}
			if inside := at >= 0 && at < len(want); ok != inside {
				t.Fatalf("%v: at %d of %d: ok is %v", s.Method(), at, len(want), ok)
			} else if !inside {
				break
			} else if v != want[at] {
				t.Fatalf("%v: walk at %d: %d, want %d", s.Method(), at, v, want[at])
			}
			if pos = at; !back {
				pos++
			}
			if c.Pos() != uint64(pos) {
				t.Fatalf("Pos is %d, want %d", c.Pos(), pos)
			}
		}
	}
}

func TestEveryMethodGivesBackWhatItWasFed(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 31, 32, 33, 1024, 5000} {
		for _, sm := range samples(n) {
			for m := range numMethods {
				t.Run(fmt.Sprintf("%s/n=%d/%v", sm.name, n, m), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), uint64(m)))
					s := NewWith(m, sm.values)
					checkWalks(t, s, sm.values, r)
					got, rest, err := Decode(append(s.AppendBinary(nil), 1, 2, 3), Limits{})
					if err != nil || len(rest) != 3 {
						t.Fatalf("decode: %v, %d bytes left", err, len(rest))
					}
					if got.Method() != m {
						t.Fatalf("method %v became %v", m, got.Method())
					}
					checkWalks(t, got, sm.values, r)
				})
			}
		}
	}
}

func TestChoice(t *testing.T) {
	for _, sm := range samples(20000) {
		t.Run(sm.name, func(t *testing.T) {
			s := New(sm.values)
			checkWalks(t, s, sm.values, rand.New(rand.NewPCG(3, 4)))
			t.Logf("%v, %.4f bits/value", s.Method(), 8*float64(s.Size())/float64(s.Len()))
			plain := NewWith(Plain, sm.values).Size()
			if s.Size() > plain {
				t.Errorf("%v takes %d bytes, plain %d", s.Method(), s.Size(), plain)
			}
			if sm.name == "random" && s.Method() != Plain {
				t.Errorf("random values are %v", s.Method())
			}
			if sm.name == "turn" {
				return
			}
			for m := range numMethods { // larger contexts continue to learn after the prefix
				if other := NewWith(m, sm.values); s.Size() > other.Size()+other.Size()/10+8 {
					t.Errorf("%v takes %d bytes, %v would take %d", s.Method(), s.Size(), m, other.Size())
				}
			}
		})
	}
	for _, sm := range samples(smallStream - 1) {
		if m := New(sm.values).Method(); m != Plain {
			t.Errorf("%d values, %s: %v", smallStream-1, sm.name, m)
		}
	}
}

// TestPlainAfterAll uses values that are smaller than their differences, but not in the
// prefix.
func TestPlainAfterAll(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	values := make([]uint64, 20*trialLength)
	for i := range values {
		if values[i] = uint64(i) % 256; i >= trialLength {
			values[i] = r.Uint64N(256)
		}
	}
	if m := New(values[:trialLength]).Method(); m == Plain {
		t.Fatal("the prefix alone is plain")
	}
	s := New(values)
	if s.Method() != Plain {
		t.Errorf("method is %v", s.Method())
	}
	checkWalks(t, s, values, r)
}

func TestSearchSmall(t *testing.T) {
	values := []uint64{3, 3, 5, 5, 5, 9}
	for m := range numMethods {
		for n := range len(values) + 1 {
			c := NewWith(m, values[:n]).Cursor()
			for v := range uint64(11) {
				want, _ := slices.BinarySearch(values[:n], v)
				if ok := c.Search(v); ok != (want < n) || c.Pos() != uint64(want) {
					t.Fatalf("%v, %d values: Search(%d): %v at %d, want %d", m, n, v, ok, c.Pos(), want)
				}
			}
		}
	}
}

func TestRegularStreamsVanish(t *testing.T) {
	limits := map[string]int{"constant": 32, "stride": 32, "falling": 32, "periodic": 300, "alternating": 300}
	for _, sm := range samples(100000) {
		if limit, ok := limits[sm.name]; ok {
			if s := New(sm.values); s.Size() > limit {
				t.Errorf("%s: %v takes %d bytes", sm.name, s.Method(), s.Size())
			}
		}
	}
}

func TestBuilderIsReusable(t *testing.T) {
	var b Builder
	for _, n := range []int{10, 5000, 100, 0} {
		for _, sm := range samples(n)[:3] {
			for _, v := range sm.values {
				b.Append(v)
			}
			if got := collect(t, b.Finish()); !slices.Equal(got, sm.values) {
				t.Fatalf("%s/%d differs", sm.name, n)
			}
		}
	}
}

func TestSeekBeyondTheEnd(t *testing.T) {
	for m := range numMethods {
		c := NewWith(m, []uint64{1, 2, 3}).Cursor()
		if err := c.Seek(4); !errors.Is(err, ErrPosition) {
			t.Errorf("%v: %v", m, err)
		}
		if v, ok := c.Next(); !ok || v != 1 {
			t.Errorf("%v: a failed Seek moved the cursor", m)
		}
	}
}

// TestFarSeeks moves past checkpoints of the context methods.
func TestFarSeeks(t *testing.T) {
	const n = 3*checkpointLines<<10 + 77
	r := rand.New(rand.NewPCG(5, 6))
	values := make([]uint64, n)
	for i := range values {
		values[i] = values[max(i-1, 0)] + 1 + r.Uint64N(8)*r.Uint64N(2)
	}
	for _, m := range []Method{Plain, Last3, LastStride15, FCM1, DFCM1} {
		s := NewWith(m, values)
		if s.open(); s.two != nil && len(s.two.checks) != 5 {
			t.Fatalf("%v: %d checkpoints", m, len(s.two.checks))
		}
		c := s.Cursor()
		for range 20 {
			v := values[n-1]/32*r.Uint64N(34) + r.Uint64N(5)
			want, _ := slices.BinarySearch(values, v)
			if ok := c.Search(v); ok != (want < n) || c.Pos() != uint64(want) {
				t.Fatalf("%v: Search(%d): %v at %d, want %d", m, v, ok, c.Pos(), want)
			}
			pos := r.IntN(n + 1)
			if err := c.Seek(uint64(pos)); err != nil || c.Pos() != uint64(pos) {
				t.Fatalf("%v: Pos %d after Seek(%d), %v", m, c.Pos(), pos, err)
			}
			if v, ok := c.Prev(); ok != (pos > 0) || ok && v != values[pos-1] {
				t.Fatalf("%v: before %d: %d, %v", m, pos, v, ok)
			}
		}
	}
}

func TestCursorsShareAStream(t *testing.T) {
	sm := samples(6000)[8]
	s := New(sm.values)
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			c := s.Cursor()
			if err := c.Seek(1000 * g); err != nil {
				t.Error(err)
			}
			for i := 1000 * g; i < s.Len(); i++ {
				if v, _ := c.Next(); v != sm.values[i] {
					t.Errorf("value %d differs", i)
					return
				}
			}
		})
	}
	wg.Wait()
}
