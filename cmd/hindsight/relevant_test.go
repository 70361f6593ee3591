package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSliceRelevant checks that slice --relevant has the decisions that could have
// changed a value, of local, heap and global variables, and no others. It finds out which
// these are by running the program with each decision reversed. Without the flag, no
// slice has them.
func TestSliceRelevant(t *testing.T) {
	source := filepath.Join("testdata", "programs", "relevant.c")
	program := compileWith(t, source, "-O0")
	src, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	var decisions, sinks []int
	for n, line := range strings.Split(string(src), "\n") {
		switch {
		case strings.HasSuffix(line, "// DECIDES"):
			decisions = append(decisions, n+1)
		case strings.HasSuffix(line, "// SINK"):
			sinks = append(sinks, n+1)
		}
	}
	trace := program + ".hst"
	print := func(flip string) []string {
		return strings.Fields(hindsightText(t, "run", "--record", "none", program, flip))
	}
	hindsightText(t, "run", "--record", "wet", "-o", trace, program, "00000")
	usual := print("00000")
	if len(decisions) != 5 || len(sinks) != len(usual) {
		t.Fatalf("decisions in lines %d, values of lines %d: %v", decisions, sinks, usual)
	}
	var plain, relevant []map[int]bool
	for _, line := range sinks {
		plain = append(plain, slicedLines(t, trace, "relevant.c", line, nil))
		relevant = append(relevant, slicedLines(t, trace, "relevant.c", line, []string{"--relevant"}))
	}
	for d, line := range decisions {
		flipped := print("00000"[:d] + "1" + "00000"[d+1:])
		for s := range sinks {
			changes := flipped[s] != usual[s]
			if plain[s][line] {
				t.Errorf("the decision in line %d is in the slice of line %d", line, sinks[s])
			}
			if relevant[s][line] != changes {
				t.Errorf("line %d changes line %d: %v, and is in its relevant slice: %v", line, sinks[s], changes, relevant[s][line])
			}
		}
	}
}
