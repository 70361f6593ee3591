package main

import "testing"

// A table-driven test whose cases run in parallel and share a variable.
func init() {
	cases := []struct {
		name     string
		in, want int
	}{{"one", 1, 1}, {"two", 2, 4}, {"three", 3, 9}}
	programs["race_go_table"] = func() {
		test(func(t *testing.T) {
			var got int
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					got = square(c.in) // race: got
					if got != c.want { // race: got
						t.Log("another case's result")
					}
				})
			}
		})
	}
	programs["norace_go_table"] = func() {
		test(func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					if got := square(c.in); got != c.want {
						t.Error("wrong")
					}
				})
			}
		})
	}
}

//go:noinline
func square(n int) int { return n * n }

// test runs a test as the main function of a test binary does.
func test(f func(t *testing.T)) {
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "TestSquare", F: f}}, nil, nil)
}
