package main

import "sync"

// A map is not safe to be written by several goroutines.
func init() {
	programs["race_go_map"] = func() {
		counts := map[string]int{}
		var wg sync.WaitGroup
		for _, key := range []string{"a", "b"} {
			wg.Go(func() { counts[key] = 1 }) // race: counts
		}
		wg.Wait()
	}
	programs["norace_go_map"] = func() {
		counts := map[string]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, key := range []string{"a", "b"} {
			wg.Go(func() {
				mu.Lock()
				defer mu.Unlock()
				counts[key] = 1
			})
		}
		wg.Wait()
	}
}
