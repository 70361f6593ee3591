package main

import (
	"testing"
	"time"
)

// TestVerdict checks that a test with a race fails, in the lines that go test -race
// prints.
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
