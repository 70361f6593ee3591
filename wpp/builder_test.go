package wpp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func letters(s string) []Terminal {
	out := make([]Terminal, len(s))
	for i := range s {
		out[i] = Terminal(s[i])
	}
	return out
}

func build(s []Terminal) *Builder {
	b := &Builder{}
	for _, t := range s {
		b.Append(t)
	}
	return b
}

// expand returns the string of a rule by plain recursion.
func expand(g *Grammar, r Rule) []Terminal {
	var out []Terminal
	for _, s := range g.Body(r) {
		if s.IsRule() {
			out = append(out, expand(g, s.Rule())...)
		} else {
			out = append(out, s.Terminal())
		}
	}
	return out
}

func TestBuilderExamples(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "R0 →\n"},
		{"a", "R0 → 97\n"},
		{"abcabc", "R1 → R0 R0\nR0 → 97 98 99\n"},
		{"aaa", "R0 → 97 97 97\n"},
		{"aaaa", "R1 → R0 R0\nR0 → 97 97\n"},
		{"abcdbc", "R1 → 97 R0 100 R0\nR0 → 98 99\n"},
		{"abcdbcabcdbc", "R2 → R1 R1\nR1 → 97 R0 100 R0\nR0 → 98 99\n"},
	} {
		if got := build(letters(c.in)).Grammar().String(); got != c.want {
			t.Errorf("%q:\n%swant\n%s", c.in, got, c.want)
		}
	}
}

// checkInvariants verifies digram uniqueness (but for overlaps), rule utility
// and the shape of a grammar.
func checkInvariants(t testing.TB, g *Grammar) {
	t.Helper()
	uses := make([]int, g.Rules())
	type place struct {
		r Rule
		i int
	}
	seen := map[[2]Symbol]place{}
	for r := range uses {
		body := g.Body(Rule(r))
		if len(body) < 2 && Rule(r) != g.Start() {
			t.Fatalf("rule %d has %d symbols\n%s", r, len(body), g)
		}
		for i, s := range body {
			if s.IsRule() {
				if s.Rule() >= Rule(r) {
					t.Fatalf("rule %d uses %d\n%s", r, s.Rule(), g)
				}
				uses[s.Rule()]++
			}
			if i == 0 {
				continue
			}
			d := [2]Symbol{body[i-1], s}
			if p, ok := seen[d]; ok {
				if p.r == Rule(r) && p.i == i-1 {
					continue // overlaps the previous one; keep the first
				}
				t.Fatalf("pair %v at rule %d index %d and rule %d index %d\n%s", d, p.r, p.i, r, i, g)
			}
			seen[d] = place{Rule(r), i}
		}
	}
	for r, n := range uses {
		if n < 2 && Rule(r) != g.Start() {
			t.Fatalf("rule %d is used %d times\n%s", r, n, g)
		}
	}
}

func randomString(rng *rand.Rand, n, alphabet int) []Terminal {
	s := make([]Terminal, 0, n)
	for len(s) < n {
		if len(s) > 2 && rng.IntN(3) == 0 { // repeat a piece
			from := rng.IntN(len(s))
			to := from + 1 + rng.IntN(len(s)-from)
			s = append(s, s[from:to]...)
			continue
		}
		s = append(s, Terminal(rng.IntN(alphabet)))
	}
	return s[:n]
}

func TestBuilderAgainstTextbook(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := randomString(rng, 1+rng.IntN(300), 1+rng.IntN(5))
		var b Builder
		tb := newTextbook()
		for i, x := range s {
			b.Append(x)
			tb.append(x)
			g := b.Grammar()
			want, err := NewGrammar(tb.rules(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(g.body, want.body) || !slices.Equal(g.off, want.off) {
				t.Fatalf("seed %d, %v:\n%swant\n%s", seed, s[:i+1], g, want)
			}
			if got := expand(g, g.Start()); !slices.Equal(got, s[:i+1]) {
				t.Fatalf("seed %d: %v expands to %v", seed, s[:i+1], got)
			}
			if b.nodes != nil && (b.Symbols() != g.Symbols() || b.Rules() != g.Rules()) {
				t.Fatalf("seed %d: %d symbols, %d rules; grammar %d, %d", seed, b.Symbols(), b.Rules(), g.Symbols(), g.Rules())
			}
		}
	}
}

func TestBuilderInvariants(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s := randomString(rng, 1+rng.IntN(300), 1+rng.IntN(5))
		var b Builder
		for _, x := range s {
			b.Append(x)
			checkInvariants(t, b.Grammar())
		}
	}
}

func TestBuilderReset(t *testing.T) {
	var b Builder
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := randomString(rng, rng.IntN(100), 3)
		b.Reset()
		for _, x := range s {
			b.Append(x)
		}
		if got, want := b.Grammar().String(), build(s).Grammar().String(); got != want {
			t.Fatalf("after Reset:\n%swant\n%s", got, want)
		}
		if b.Len() != uint64(len(s)) {
			t.Fatalf("Len %d of %d", b.Len(), len(s))
		}
	}
}

func TestBuilderSize(t *testing.T) {
	if n := unsafe.Sizeof(Builder{}); n > 160 {
		t.Errorf("an empty builder takes %d bytes", n)
	}
	if n := build(letters("abcdabcd")).Size(); n > 160 {
		t.Errorf("a builder of 8 terminals takes %d bytes", n)
	}
}

func benchInputs(n int) map[string][]Terminal {
	rng := rand.New(rand.NewPCG(7, 7))
	loops := make([]Terminal, 0, n) // nested loops with an irregular branch
	for len(loops) < n {
		for range 20 {
			loops = append(loops, 1, 2)
			for range 50 {
				loops = append(loops, 3, 4, 5)
			}
			if rng.IntN(10) == 0 {
				loops = append(loops, 6)
			}
			loops = append(loops, 7)
		}
		loops = append(loops, 8)
	}
	period := make([]Terminal, n)
	random := make([]Terminal, n)
	branchy := make([]Terminal, n)
	for i := range period {
		period[i] = Terminal(i % 100)
		random[i] = Terminal(rng.IntN(1 << 20))
		branchy[i] = Terminal(rng.IntN(4))
	}
	return map[string][]Terminal{"loops": loops[:n], "period": period, "run": make([]Terminal, n), "random": random, "branchy": branchy}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1 << 18, 1 << 21} {
		in := benchInputs(n)
		for _, name := range []string{"loops", "period", "run", "branchy", "random"} {
			s := in[name]
			b.Run(fmt.Sprintf("input=%s/n=%d", name, n), func(b *testing.B) {
				var w Builder
				for b.Loop() {
					w = Builder{}
					for _, x := range s {
						w.Append(x)
					}
				}
				b.SetBytes(int64(len(s) * 4))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s)), "ns/symbol")
				b.ReportMetric(float64(w.Size())/float64(w.Symbols()), "B/grammar-symbol")
				b.ReportMetric(float64(w.Symbols()), "grammar-symbols")
			})
		}
	}
}
