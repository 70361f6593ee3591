package mpsim

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsAgainstQemu runs each program of testdata at each optimisation
// level under both policies and compares output and status with qemu's.
func TestProgramsAgainstQemu(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no programs", err)
	}
	const stdin = "1 2 3\n"
	for _, source := range sources {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
			t.Run(filepath.Base(source)+level, func(t *testing.T) {
				t.Parallel()
				program := compile(t, source, level)
				want := runQemu(t, program, stdin, "argument")
				img := load(t, program)
				for seed, policy := range []Policy{RoundRobin, Random, Random} {
					res, got := run(t, Config{
						Image: img, Args: []string{"program", "argument"}, Stdin: strings.NewReader(stdin),
						Policy: policy, Seed: uint64(seed), Quantum: 2000,
					})
					if got != want {
						t.Errorf("%v, seed %d:\n%+v\nqemu:\n%+v\n%s", policy, seed, got, want, res.Message)
					}
					if len(res.Unsupported) != 0 {
						t.Error("unsupported:", fmt.Sprint(res.Unsupported))
					}
				}
			})
		}
	}
}
