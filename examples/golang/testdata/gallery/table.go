package main

import "sync"

// A table of cases that run in parallel and share what the first line declares.
func init() {
	cases := []struct{ in, want int }{{1, 1}, {2, 4}, {3, 9}}
	programs["race_go_table"] = func() {
		var got int
		var wg sync.WaitGroup
		for _, c := range cases {
			wg.Go(func() {
				got = square(c.in) // race: got
				if got != c.want { // race: got
					println("another case's result")
				}
			})
		}
		wg.Wait()
	}
	programs["norace_go_table"] = func() {
		var wg sync.WaitGroup
		for _, c := range cases {
			wg.Go(func() {
				if got := square(c.in); got != c.want {
					println("wrong")
				}
			})
		}
		wg.Wait()
	}
}

//go:noinline
func square(n int) int { return n * n }
