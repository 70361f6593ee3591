package slice_test

import (
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
)

var _ slice.Graph = (*slicetest.Log)(nil)

// TestLog checks that the log's own view of itself as a graph agrees with its content.
func TestLog(t *testing.T) {
	for seed := range uint64(20) {
		l, _ := logged(t, randomShape(seed))
		a, err := slicetest.Align(l, l)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(); err != nil {
			t.Fatal(err)
		}
		for _, th := range l.Threads() {
			if th.Times > 0 {
				if err := a.Backward(th, th.Times/2); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
