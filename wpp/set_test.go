package wpp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/tracefmt/wire"
)

// sites gives many small grammars as a thread's address streams are: most of a
// few symbols out of a common dictionary, some longer.
func sites(seed uint64, n int) []*Grammar {
	rng := rand.New(rand.NewPCG(seed, 8))
	out := make([]*Grammar, n)
	dict := 1
	for i := range out {
		k := rng.IntN(6)
		if rng.IntN(20) == 0 {
			k = rng.IntN(200)
		}
		s := make([]Terminal, k)
		for j := range s {
			if rng.IntN(4) == 0 {
				dict++
				s[j] = Terminal(dict - 1)
			} else {
				s[j] = Terminal(rng.IntN(dict))
			}
		}
		out[i] = build(append(s, s...)).Grammar()
	}
	return out
}

func TestSetRoundTrip(t *testing.T) {
	for seed := range uint64(40) {
		gs := sites(seed, int(seed))
		enc := AppendSet(nil, gs)
		got, rest, err := DecodeSet(append(slices.Clip(enc), "tail"...), Limits{})
		if err != nil || string(rest) != "tail" || !slices.EqualFunc(got, gs, sameGrammar) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for n := 0; n < len(enc); n += 1 + n/20 {
			if _, _, err := DecodeSet(enc[:n], Limits{}); !errors.Is(err, wire.ErrTruncated) {
				t.Fatalf("cut to %d of %d bytes: %v", n, len(enc), err)
			}
		}
	}
}

func TestRelabel(t *testing.T) {
	gs := sites(3, 200)
	again, order := Relabel(gs)
	next := Terminal(0)
	for i, g := range again {
		old := expand(gs[i], gs[i].Start())
		for j, x := range expand(g, g.Start()) {
			if x > next {
				t.Fatalf("grammar %d uses %d before %d", i, x, next)
			}
			if x == next {
				next++
			}
			if order[x] != old[j] {
				t.Fatalf("grammar %d at %d: %d was %d, not %d", i, j, x, old[j], order[x])
			}
		}
	}
	if int(next) != len(order) {
		t.Fatalf("%d terminals of %d", next, len(order))
	}
	if a, b := len(AppendSet(nil, again)), len(AppendSet(nil, gs)); a > b {
		t.Errorf("relabelled takes %d bytes, not %d", a, b)
	}
}

func FuzzDecodeSet(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(AppendSet(nil, sites(seed, 5+10*int(seed))))
	}
	f.Add([]byte{2, 7, 0, 0, 1, 0, 1, 2})
	f.Fuzz(func(t *testing.T, src []byte) {
		gs, rest, err := DecodeSet(src, Limits{})
		if err != nil {
			return
		}
		if used := src[:len(src)-len(rest)]; !bytes.Equal(AppendSet(nil, gs), used) {
			t.Fatalf("% x encodes to % x", used, AppendSet(nil, gs))
		}
	})
}

func BenchmarkSet(b *testing.B) {
	gs := sites(1, 5000)
	again, _ := Relabel(gs)
	single := 0
	symbols := 0
	for _, g := range gs {
		single += len(g.AppendBinary(nil))
		symbols += g.Symbols()
	}
	var enc []byte
	for b.Loop() {
		enc = AppendSet(enc[:0], again)
	}
	b.SetBytes(int64(len(enc)))
	b.ReportMetric(float64(single)/float64(symbols), "single-B/symbol")
	b.ReportMetric(float64(len(AppendSet(nil, gs)))/float64(symbols), "set-B/symbol")
	b.ReportMetric(float64(len(enc))/float64(symbols), "relabelled-B/symbol")
	b.ReportMetric(entropy(AppendSet(nil, gs))/float64(symbols), "set-entropy-B/symbol")
	b.ReportMetric(entropy(enc)/float64(symbols), "relabelled-entropy-B/symbol")
}
