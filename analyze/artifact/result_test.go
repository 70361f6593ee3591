package artifact

import (
	"slices"
	"testing"
)

// TestCycles checks that of races that explain each other, the first is independent and
// first causes lead to it.
func TestCycles(t *testing.T) {
	on := func(causes ...int) Verdict { return Verdict{Status: Artifact, Causes: causes} }
	for _, tt := range []struct {
		name     string
		verdicts []Verdict
		roots    []int
	}{
		{"none", []Verdict{{}, {}}, []int{0, 1}},
		{"chain", []Verdict{{}, on(0), on(1), on(2, 0)}, []int{0, 0, 0, 0}},
		{"backward", []Verdict{on(2), {}, on(1)}, []int{1, 1, 1}},
		{"two", []Verdict{on(1), on(0)}, []int{0, 0}},
		{"long", []Verdict{on(5), {}, {}, on(0), {}, on(3)}, []int{0, 1, 2, 0, 4, 0}},
		{"into a cycle", []Verdict{on(2), {}, on(3), on(2)}, []int{2, 1, 2, 2}},
		{"two cycles", []Verdict{on(1), on(0), on(3, 0), on(2)}, []int{0, 0, 2, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &Result{Verdicts: tt.verdicts}
			r.breakCycles()
			var roots []int
			for i := range r.Verdicts {
				root := r.Root(i)
				if r.Verdicts[root].Status == Artifact {
					t.Errorf("the root %d of %d is an artifact", root, i)
				}
				roots = append(roots, root)
			}
			if !slices.Equal(roots, tt.roots) {
				t.Errorf("roots %v, want %v", roots, tt.roots)
			}
		})
	}
}
