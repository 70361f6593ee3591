package main

import (
	"bytes"
	"testing"
)

// TestTestOutput: whatever the pieces, the lines pass without the verdict, and
// whole lines pass before the end.
func TestTestOutput(t *testing.T) {
	const text, want = "=== RUN   TestA\nPASSED\nPASS\n FAIL\nFAIL\ntesting: warning: no tests to run\nno end", "=== RUN   TestA\nPASSED\n FAIL\nno end"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		o := newTestOutput(&out, &out, "TestA")
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := o.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != "=== RUN   TestA\nPASSED\n FAIL\n" && size < len(text) {
			t.Errorf("pieces of %d: before the end %q", size, got)
		}
		if err := o.Close(); err != nil || out.String() != want {
			t.Errorf("pieces of %d: %q, %v", size, out.String(), err)
		}
	}
}
