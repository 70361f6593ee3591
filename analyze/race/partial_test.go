package race

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// stopping ends a context at its nth look.
type stopping struct {
	context.Context
	after *int
}

func (s stopping) Err() error {
	if *s.after--; *s.after < 0 {
		return context.Canceled
	}
	return nil
}

// TestPartial interrupts analyses at every look at their context: what they had
// found is part of the result, and all of it when they say so.
func TestPartial(t *testing.T) {
	partials, counted := 0, 0
	for seed := range uint64(8) {
		f := randomProgram(&chooser{rnd: rand.New(rand.NewPCG(seed, 1))}, 120)
		whole, err := Analyze(t.Context(), f, Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := map[[2]Place]uint64{}
		for _, p := range PartialOf(whole, nil).Pairs {
			want[p.Places] = p.Dynamic
		}
		for n := 0; ; n++ {
			left := n
			_, err := Analyze(stopping{t.Context(), &left}, f, Options{Workers: 1, batchItems: 1})
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			var p *Partial
			if !errors.As(err, &p) {
				continue
			}
			partials++
			if p.Counted {
				counted++
			}
			if p.Counted && len(p.Pairs) != len(want) {
				t.Errorf("seed %d, %d looks: %d pairs, want all %d", seed, n, len(p.Pairs), len(want))
			}
			for _, pair := range p.Pairs {
				if n := want[pair.Places]; n < pair.Dynamic || p.Counted && n != pair.Dynamic {
					t.Errorf("seed %d: %v: %d times, in the whole run %d", seed, pair.Places, pair.Dynamic, n)
				}
			}
		}
	}
	if partials == 0 || counted == 0 {
		t.Errorf("%d were interrupted with something found, %d of these counted", partials, counted)
	}
}
