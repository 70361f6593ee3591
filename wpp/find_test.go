package wpp

import (
	"math/rand/v2"
	"testing"
)

// TestFinder compares the finder with a walk terminal by terminal.
func TestFinder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		letters := 1 + rng.IntN(12)
		marks := make([]Marks, letters)
		for i := range marks {
			if rng.IntN(3) == 0 {
				marks[i] = Marks{1 << rng.IntN(4), 1 << rng.IntN(4)}
			}
		}
		var b Builder
		n := rng.IntN(3000)
		for i := 0; i < n; i++ {
			if again := rng.IntN(30); again == 0 { // repetitions make rules
				for range min(rng.IntN(50), n-i) {
					b.Append(Terminal(i % letters))
					i++
				}
			}
			b.Append(Terminal(rng.IntN(letters)))
		}
		g := b.Grammar()
		f := NewFinder(g, func(x Terminal) Marks { return marks[x] })
		for c := g.Begin(); ; c.Next() {
			want := Marks{rng.Uint64() & rng.Uint64() & 15, rng.Uint64() & rng.Uint64() & 15}
			slow, found := c.Clone(), false
			for !found && slow.Prev() {
				x, _ := slow.Terminal()
				found = marks[x].Meets(want)
			}
			fast := c.Clone()
			if ok := f.Back(fast, want); ok != found {
				t.Fatalf("found: %v, want %v", ok, found)
			}
			if found && fast.Compare(slow) != 0 || !found && fast.Compare(c) != 0 {
				t.Fatalf("at %v, want %v", fast.Path(), slow.Path())
			}
			if c.AtEnd() {
				break
			}
		}
	}
}
