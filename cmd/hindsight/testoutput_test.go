package main

import (
	"bytes"
	"testing"
	"time"
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

// TestVerdict: a test with a race is one that failed, in the lines that go test
// -race prints.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name, output, want string
		why                []string
	}{
		{"no race", "=== RUN   TestA\n--- PASS: TestA (0.10s)\nafter\n", "=== RUN   TestA\n--- PASS: TestA (0.10s)\nafter\nREPORT\n", nil},
		{"passed", "=== RUN   TestA\n--- PASS: TestA (0.10s)\nafter\n", "=== RUN   TestA\nREPORT\n--- FAIL: TestA (0.10s)\n    race\nafter\n", []string{"race"}},
		{"failed", "--- FAIL: TestA (0.10s)\n    a_test.go:1: bad\n", "REPORT\n--- FAIL: TestA (0.10s)\n    race\n    a_test.go:1: bad\n", []string{"race"}},
		{"silent", "", "REPORT\n--- FAIL: TestA (1.50s)\n    race\n    slow\n", []string{"race", "slow"}},
		{"of a subtest", "    --- PASS: TestA (0.10s)\n", "    --- PASS: TestA (0.10s)\nREPORT\n--- FAIL: TestA (1.50s)\n    race\n", []string{"race"}},
	} {
		v := verdict{name: "TestA", output: c.output, report: "REPORT\n", why: c.why, elapsed: 1500 * time.Millisecond}
		if got := v.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
