package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hindsight/analyze/report"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// correctSeeds is the environment variable with the number of seeds under which
// TestCorrect runs each program. The default is correctFew.
const (
	correctSeeds = "HINDSIGHT_CORRECT_SEEDS"
	correctFew   = 2
)

// TestCorrect runs the programs of examples/correct, ordinary code of kinds that race
// detectors find hard. They must be silent under the default schedule, and print the same
// under all seeds.
func TestCorrect(t *testing.T) {
	if !cross.Long() {
		t.Skip("compiles ten programs: set HINDSIGHT_LONG=1")
	}
	needTools(t, cross.Compiler, "riscv64-linux-gnu-g++")
	seeds := correctFew
	if n, err := strconv.Atoi(os.Getenv(correctSeeds)); err == nil {
		seeds = n
	}
	sources, err := filepath.Glob(filepath.Join(sourceDir, "..", "..", "examples", "correct", "*.c*"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "program")
			compiler, args := cross.Compiler, []string{"-std=gnu17", "-fopenmp"}
			if strings.HasSuffix(source, ".cc") {
				compiler, args = "riscv64-linux-gnu-g++", []string{"-std=c++20"}
			}
			args = append(args, "-O1", "-g", "-static", "-pthread", "-o", out, source)
			if msg, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, msg)
			}
			img, err := image.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			first := ""
			for seed := range seeds {
				r := &session.Run{
					Image: img, Program: "program", Seed: uint64(seed + 1), Policy: mpsim.Random,
					Mode: "cdr", Keep: "all", Alphabet: "path", MaxInsts: 1_000_000_000,
				}
				rep, text, err := runTwin(t.Context(), r)
				if err != nil {
					t.Fatalf("seed %d: %v", r.Seed, err)
				}
				if first == "" {
					first = text
				}
				if text != first {
					t.Errorf("seed %d printed %q, seed 1 %q", r.Seed, text, first)
				}
				if len(rep.Races) > 0 {
					var races bytes.Buffer
					if err := rep.WriteText(&races, report.TextOptions{}); err != nil {
						t.Fatal(err)
					}
					t.Fatalf("seed %d: reported though correct:\n%s", r.Seed, &races)
				}
			}
		})
	}
}
