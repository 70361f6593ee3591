package mpsim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindsight/mpsim/mem"
)

// digest returns registers and memory of a replay or a machine as text.
func digest(harts []*Hart, space *mem.Space) string {
	var b strings.Builder
	for _, h := range harts {
		fmt.Fprintf(&b, "T%d %x %x %x %x %d\n", h.id, h.PC, h.X, h.F, h.Float(), h.Insts())
	}
	for v := range space.VMAs() {
		fmt.Fprintf(&b, "%x-%x %v %s\n", v.Start, v.End, v.Prot, v.Name)
		page := make([]byte, mem.PageSize)
		for at := v.Start; at < min(v.End, v.Start+1<<20); at += mem.PageSize {
			if n := space.Content(at, page); n > 0 {
				sum := uint64(14695981039346656037)
				for _, c := range page[:n] {
					sum = (sum ^ uint64(c)) * 1099511628211
				}
				fmt.Fprintf(&b, "%x: %x\n", at, sum)
			}
		}
	}
	return b.String()
}

func firstLine(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\nnot\n" + y[i]
		}
	}
	return "length"
}

// TestReplaySystemCalls replays programs that use signals, pipes, timers, files and shared
// memory, with checkpoints and without.
func TestReplaySystemCalls(t *testing.T) {
	sources, err := filepath.Glob("testdata/syscalls/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no programs", err)
	}
	sources = slices.DeleteFunc(sources, func(name string) bool { return strings.HasSuffix(name, "limit.c") }) // gigabytes of pages
	for _, source := range append(sources, "testdata/threads.c", "testdata/cancel.c", "testdata/code.c") {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			img := load(t, compile(t, source, "-O1", "-fopenmp"))
			j := new(Journal)
			m, err := New(Config{Image: img, Args: []string{"program"}, Stdin: strings.NewReader("1 2 3\n"), Policy: Random, Seed: 2, Quantum: 500, Journal: j, Writable: true})
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			plain, jumps := NewReplay(j, ReplayOptions{Every: 1 << 60}), NewReplay(j, ReplayOptions{Every: max(res.Insts/20, 200), Memory: 4 << 20})
			rng := rand.New(rand.NewPCG(1, 2))
			at := map[uint64]string{res.Insts: ""}
			for range 20 {
				at[rng.Uint64N(res.Insts)] = ""
			}
			for _, n := range slices.Sorted(maps.Keys(at)) {
				if err := plain.Seek(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				at[n] = digest(plain.Threads(), plain.Space())
			}
			if got, want := at[res.Insts], digest(m.harts, m.space); got != want {
				t.Fatalf("at the end: %s", firstLine(got, want))
			}
			for n, want := range at { // in any order
				if err := jumps.Seek(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				if got := digest(jumps.Threads(), jumps.Space()); got != want {
					t.Fatalf("at %d of %d: %s", n, res.Insts, firstLine(got, want))
				}
			}
		})
	}
}
