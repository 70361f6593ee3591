package wet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStepping reads long sequences by cursors, in order, backward and anywhere, searches
// them, and compares the results with those of sequences decoded whole.
func TestStepping(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func(i int, last uint64) uint64{
		"ascending": func(_ int, last uint64) uint64 { return last + rng.Uint64N(5) },
		"periodic":  func(i int, _ uint64) uint64 { return 1000 + uint64(i*i%37) },
		"random":    func(int, uint64) uint64 { return rng.Uint64() },
	}
	for name, next := range kinds {
		t.Run(name, func(t *testing.T) {
			const n = 3 * stepFrom
			var s seq
			want := make([]uint64, n)
			last := uint64(7)
			for i := range want {
				last = next(i, last)
				want[i] = last
				s.add(last)
			}
			var p part
			p.reset(0)
			p.stream(s.runs, n)
			x := numbers{n: n, form: formStream, base: want[0], part: &loaded{streams: p.streams}}
			if _, err := x.openStep(); err != nil {
				t.Fatal(err)
			}
			order := make([]int, 0, 4*n)
			for i := range n {
				order = append(order, i)
			}
			for i := range n {
				order = append(order, n-1-i)
			}
			if x.get(0) != want[0] {
				t.Fatalf("number 0: %d, want %d", x.get(0), want[0])
			}
			check := func() {
				t.Helper()
				for _, i := range order {
					if v := x.get(uint64(i)); v != want[i] {
						t.Fatalf("number %d: %d, want %d", i, v, want[i])
					}
				}
			}
			check()
			if x.step.wanders() {
				t.Error("there and back counts as wandering")
			}
			order = order[:0]
			for range 2000 {
				order = append(order, rng.IntN(n))
			}
			check()
			if !x.step.wanders() {
				t.Error("random places do not count as wandering")
			}
			if slices.IsSorted(want) {
				for k := range 3000 {
					v := want[min(k*5, n-1)] + uint64(k%3) - 1
					if k%10 == 0 {
						v = want[rng.IntN(n)] + 1
					}
					at, found := slices.BinarySearch(want, v)
					if i, ok := x.search(v); i != uint64(at) || ok != found {
						t.Fatalf("%d: found %v at %d, want %v at %d", v, ok, i, found, at)
					}
				}
			}
			i := 0
			x.each(func(_ int, v uint64) {
				if v != want[i] {
					t.Fatalf("number %d of all: %d, want %d", i, v, want[i])
				}
				i++
			})
			if i != n {
				t.Errorf("%d numbers of %d", i, n)
			}
		})
	}
}
