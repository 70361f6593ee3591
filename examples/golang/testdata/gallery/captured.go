//go:build go1.21

package main

import "sync"

// Before Go 1.22, the language of this file, each turn of a loop has the same
// variable.
func init() {
	programs["race_go_captured"] = func() {
		var wg sync.WaitGroup
		seen := make([]int, 4)
		for i := range seen { // race: i
			wg.Add(1)
			go func() {
				defer wg.Done()
				println(i) // race: i
			}()
		}
		wg.Wait()
	}
	programs["norace_go_captured"] = func() {
		var wg sync.WaitGroup
		seen := make([]int, 4)
		for i := range seen {
			i := i
			wg.Add(1)
			go func() {
				defer wg.Done()
				println(i)
			}()
		}
		wg.Wait()
	}
}
