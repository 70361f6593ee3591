package wpp

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestAppendEach appends to many builders in groups and one by one. The grammars must be
// the same, and no builder may grow by terminals for which it reported room.
func TestAppendEach(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 11))
		letters := uint32(2 + seed*seed)
		plain, grouped := make([]Builder, 5), make([]Builder, 5)
		history := make([][]Terminal, len(plain))
		var waiting []Feed
		room, size := make([]int, len(plain)), make([]uint64, len(plain))
		roomy, symbols := 0, 0
		flush := func() {
			symbols += AppendEach(waiting)
			waiting = waiting[:0]
		}
		for range 40_000 {
			i := rng.IntN(len(plain))
			next := Terminal(rng.Uint32N(letters))
			if h := history[i]; len(h) > 10 && rng.IntN(4) != 0 { // repeat a part of the string
				next = h[(len(h)*7/9)%len(h)]
			}
			history[i] = append(history[i], next)
			plain[i].Append(next)
			if room[i] == 0 {
				flush()
				if got := grouped[i].Size(); size[i] != 0 && got != size[i] {
					t.Fatalf("seed %d: a builder with room grew from %d bytes to %d", seed, size[i], got)
				}
				if room[i], size[i] = grouped[i].Room(64), 0; room[i] > 0 {
					size[i] = grouped[i].Size()
				}
			}
			waiting = append(waiting, Feed{To: &grouped[i], Terminal: next})
			if room[i] > 0 {
				room[i]--
				roomy++
			}
		}
		flush()
		total := 0
		for i := range plain {
			total += plain[i].Symbols()
			if !reflect.DeepEqual(plain[i].Grammar(), grouped[i].Grammar()) || plain[i].Size() != grouped[i].Size() {
				t.Errorf("seed %d: builder %d differs", seed, i)
			}
		}
		if symbols != total {
			t.Errorf("seed %d: grammars of %d symbols grew by %d", seed, total, symbols)
		}
		if seed > 2 && roomy < 10_000 {
			t.Errorf("seed %d: only %d terminals had room", seed, roomy)
		}
	}
}
