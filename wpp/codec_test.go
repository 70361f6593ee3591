package wpp

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/tracefmt/wire"
)

func sameGrammar(a, b *Grammar) bool {
	return slices.Equal(a.body, b.body) && slices.Equal(a.off, b.off)
}

// doubling returns a grammar whose rule r has twice the length of rule r-1.
func doubling(t testing.TB, n int) *Grammar {
	rules := make([][]Symbol, n)
	rules[0] = []Symbol{TerminalSymbol(0), TerminalSymbol(0)}
	for r := 1; r < n; r++ {
		rules[r] = []Symbol{RuleSymbol(Rule(r - 1)), RuleSymbol(Rule(r - 1))}
	}
	g, err := NewGrammar(rules, Rule(n-1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// nested returns a grammar in which n rules are nested, each one terminal longer than its
// inner rule.
func nested(t testing.TB, n int) *Grammar {
	rules := make([][]Symbol, n)
	rules[0] = []Symbol{TerminalSymbol(0), TerminalSymbol(1)}
	for r := 1; r < n; r++ {
		rules[r] = []Symbol{RuleSymbol(Rule(r - 1)), TerminalSymbol(Terminal(r % 7))}
	}
	g, err := NewGrammar(rules, Rule(n-1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCodecRoundTrip(t *testing.T) {
	grammars := []*Grammar{doubling(t, 500), nested(t, 200000), build(nil).Grammar()}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		grammars = append(grammars, build(randomString(rng, rng.IntN(400), 1+rng.IntN(300))).Grammar())
	}
	for _, g := range grammars {
		enc := g.AppendBinary([]byte("head"))[4:]
		got, rest, err := Decode(append(slices.Clip(enc), "tail"...), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !sameGrammar(g, got) || string(rest) != "tail" {
			t.Fatalf("decoded\n%.300swant\n%.300s", got, g)
		}
		if len(enc) > 200 {
			continue
		}
		for n := range enc {
			if _, _, err := Decode(enc[:n], Limits{}); !errors.Is(err, wire.ErrTruncated) {
				t.Fatalf("cut to %d of %d bytes: %v", n, len(enc), err)
			}
		}
	}
}

func TestDecodeLength(t *testing.T) {
	for n, want := range map[int]uint64{60: 1 << 60, 62: 1 << 62, 63: 0, 64: 0, 3000: 0} {
		g, _, err := Decode(doubling(t, n).AppendBinary(nil), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Len()
		if got != want || (want == 0) != errors.Is(err, ErrTooLong) {
			t.Errorf("%d doublings: length %d, %v", n, got, err)
		}
	}
}

func TestDecodeRejects(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		lim  Limits
		want error
	}{
		{"nothing", nil, Limits{}, wire.ErrTruncated},
		{"no rules", []byte{0, 0}, Limits{}, wire.ErrMalformed},
		{"too few symbols", []byte{2, 1, 0, 1}, Limits{}, wire.ErrMalformed},
		{"unused rule", []byte{2, 3, 0, 0, 1, 1, 1}, Limits{}, wire.ErrMalformed},
		{"rule before it is finished", []byte{1, 2, 3, 3}, Limits{}, wire.ErrMalformed},
		{"rule in itself", []byte{2, 4, 0, 1, 0, 3, 1, 1}, Limits{}, wire.ErrMalformed},
		{"fewer uses than announced", []byte{2, 4, 0, 1, 0, 1, 1, 1}, Limits{}, wire.ErrMalformed},
		{"more uses than announced", []byte{2, 5, 0, 0, 0, 1, 1, 3, 1}, Limits{}, wire.ErrMalformed},
		{"more uses than symbols", []byte{2, 4, 0, 9, 0, 1, 1, 1}, Limits{}, wire.ErrMalformed},
		{"rule not announced", []byte{1, 2, 0, 1, 1}, Limits{}, wire.ErrMalformed},
		{"rules longer than all", []byte{2, 3, 2, 0, 0, 1, 1, 1}, Limits{}, wire.ErrMalformed},
		{"number too long", []byte{0x81, 0, 1, 1}, Limits{}, wire.ErrMalformed},
		{"number too large", bytes.Repeat([]byte{0xff}, 11), Limits{}, wire.ErrMalformed},
		{"new terminal by number", []byte{1, 1, 2}, Limits{}, wire.ErrMalformed},
		{"terminal out of range", []byte{1, 2, 1, 1}, Limits{Terminals: 1}, wire.ErrMalformed},
		{"too many symbols", []byte{1, 2, 1, 1}, Limits{Symbols: 1}, wire.ErrTooLarge},
	} {
		if _, _, err := Decode(c.in, c.lim); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNewGrammarRejects(t *testing.T) {
	a, r0, r1 := TerminalSymbol(0), RuleSymbol(0), RuleSymbol(1)
	for name, rules := range map[string][][]Symbol{
		"no rules":    {},
		"cycle":       {{r1, a}, {r0, a}},
		"itself":      {{r0, a}},
		"unreachable": {{a}, {a, a}},
		"no rule":     {{r1}},
		"short":       {{r1}, {a}},
	} {
		if g, err := NewGrammar(rules, 0); err == nil {
			t.Errorf("%s: %s", name, g)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a", "abcabc", "aaaaaaaaaaaaaaaa", "abcdbcabcdbcabbbabcbb"} {
		f.Add(build(letters(s)).Grammar().AppendBinary(nil))
	}
	f.Add(doubling(f, 70).AppendBinary(nil))
	f.Add([]byte{3, 9, 1, 0, 2, 1, 0, 0, 1, 1, 3, 1, 2, 3, 3, 5})
	f.Fuzz(func(t *testing.T, src []byte) {
		g, rest, err := Decode(src, Limits{})
		if err != nil {
			return
		}
		used := src[:len(src)-len(rest)]
		if enc := g.AppendBinary(nil); !bytes.Equal(enc, used) {
			t.Fatalf("% x encodes to % x", used, enc)
		}
		rules := make([][]Symbol, g.Rules())
		for r := range rules {
			rules[r] = g.Body(Rule(r))
		}
		again, err := NewGrammar(rules, g.Start())
		if err != nil || !sameGrammar(g, again) {
			t.Fatalf("not in canonical form: %v\n%s", err, g)
		}
	})
}

func FuzzBuilder(f *testing.F) {
	f.Add([]byte("abcabcabdabcabd"))
	f.Add([]byte("aaaabaaabaaaaab"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 2000 {
			return
		}
		s := letters(string(src))
		tb := newTextbook()
		for _, x := range s {
			tb.append(x)
		}
		g := build(s).Grammar()
		want, err := NewGrammar(tb.rules(), 0)
		if err != nil || !sameGrammar(g, want) {
			t.Fatalf("%v\n%swant\n%s", err, g, want)
		}
		if got := expand(g, g.Start()); !slices.Equal(got, s) {
			t.Fatalf("expands to %v", got)
		}
		checkInvariants(t, g)
	})
}

// entropy returns the zeroth-order entropy of b in bytes.
func entropy(b []byte) float64 {
	var count [256]float64
	for _, c := range b {
		count[c]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			bits -= n * math.Log2(n/float64(len(b)))
		}
	}
	return bits / 8
}

func BenchmarkEncode(b *testing.B) {
	in := benchInputs(1 << 20)
	for _, name := range []string{"loops", "period", "branchy", "random"} {
		g := build(in[name]).Grammar()
		b.Run(fmt.Sprintf("input=%s", name), func(b *testing.B) {
			var enc []byte
			for b.Loop() {
				enc = g.AppendBinary(enc[:0])
			}
			b.SetBytes(int64(len(enc)))
			var z bytes.Buffer
			w, _ := flate.NewWriter(&z, 9)
			_, _ = w.Write(enc)
			_ = w.Close()
			b.ReportMetric(float64(len(enc))/float64(g.Symbols()), "B/grammar-symbol")
			b.ReportMetric(entropy(enc)/float64(g.Symbols()), "entropy-B/grammar-symbol")
			b.ReportMetric(float64(z.Len())/float64(g.Symbols()), "flate-B/grammar-symbol")
			b.ReportMetric(float64(len(enc)), "B")
		})
	}
}
