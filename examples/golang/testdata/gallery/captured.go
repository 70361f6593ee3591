package main

import "sync"

// Before Go 1.22 each turn of a loop had the same variable; one that is declared
// outside of the loop still is the same.
func init() {
	programs["race_go_captured"] = func() {
		var wg sync.WaitGroup
		seen := make([]int, 4)
		var i int
		for i = 0; i < len(seen); i++ { // race: i
			wg.Add(1)
			go func() {
				defer wg.Done()
				if n := i; n < len(seen) { // race: i
					println(n)
				}
			}()
		}
		wg.Wait()
	}
	programs["norace_go_captured"] = func() {
		var wg sync.WaitGroup
		seen := make([]int, 4)
		for i := range seen {
			wg.Add(1)
			go func() {
				defer wg.Done()
				seen[i] = i
			}()
		}
		wg.Wait()
	}
}
