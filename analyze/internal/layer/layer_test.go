package layer

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAgainstLists compares a page with a list of accesses for each part.
func TestAgainstLists(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		words := 1 + rng.IntN(Words)
		p := New(words)
		lists := make([][]Layer, words*64)
		found := make([]bool, words*64)
		var now Access
		relate := func(l *Layer) Relation { return stands(l, now) }
		for range 200 {
			d := anySet(rng, words)
			parts := listed(d)
			if rng.IntN(8) == 0 {
				at := 1 + rng.Uint64N(9)
				p.Cut(&d, at)
				for _, x := range parts {
					for i := range lists[x] {
						if lists[x][i].Cut == 0 {
							lists[x][i].Cut = at
						}
					}
				}
				continue
			}
			now = Access{ID: NewStamp(0, 0) + Stamp(rng.IntN(6)), Write: rng.IntN(2) == 0}
			for _, x := range parts {
				if !found[x] {
					lists[x], found[x] = take(lists[x], now)
				}
			}
			if p.Touch(&d, now, relate); d.Any() && !p.Join(&d, now) {
				p.Add(&d, now)
			}
			for x, want := range found {
				if got := p.Found != nil && p.Found[x/64]>>(x%64)&1 != 0; got != want {
					t.Fatalf("seed %d: part %d is found: %v; want %v", seed, x, got, want)
				}
			}
		}
		var left, want int
		for i := range p.Layers {
			p.Layers[i].Each(func(w int, parts uint64) {
				for x := range 64 {
					left += int(parts >> x & 1)
				}
			})
		}
		for _, l := range lists {
			want += len(l)
		}
		if left != want {
			t.Fatalf("seed %d: %d accesses to parts are remembered; want %d", seed, left, want)
		}
	}
}

// stands is an arbitrary relation that uses everything a client may use.
func stands(l *Layer, now Access) Relation {
	switch before := (l.ID^now.ID)&1 == 0; {
	case before && (now.Write || !l.Write):
		return Covered
	case !before && (now.Write || l.Write) && l.Cut < 5:
		return Conflict
	}
	return Apart
}

// take is Touch and Join for one part.
func take(list []Layer, now Access) (kept []Layer, found bool) {
	for _, l := range list {
		if l.ID == now.ID && l.Cut == 0 && (l.Write || !now.Write) {
			return list, false
		}
	}
	for _, l := range list {
		switch stands(&l, now) {
		case Covered:
			continue
		case Conflict:
			return nil, true
		}
		kept = append(kept, l)
	}
	if l := (Layer{Access: now}); !slices.ContainsFunc(kept, func(k Layer) bool { return k.Access == now && k.Cut == 0 }) {
		kept = append(kept, l)
	}
	return kept, false
}

func anySet(rng *rand.Rand, words int) (d Set) {
	d.Lo = rng.IntN(words)
	d.Hi = d.Lo + rng.IntN(words-d.Lo)
	for w := range d.W { // the words outside are undefined
		d.W[w] = rng.Uint64() & rng.Uint64() & rng.Uint64()
	}
	return d
}

func listed(d Set) (parts []int) {
	for w := d.Lo; w <= d.Hi; w++ {
		for x := range 64 {
			if d.W[w]>>x&1 != 0 {
				parts = append(parts, w*64+x)
			}
		}
	}
	return parts
}
