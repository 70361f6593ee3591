package main

import "sync"

// Add inside the goroutine: Wait may come before it.
func init() {
	programs["race_go_wgadd"] = func() {
		var wg sync.WaitGroup
		total := 0
		var mu sync.Mutex
		for range 4 {
			go func() {
				wg.Add(1) // race: wg
				defer wg.Done()
				mu.Lock()
				total++ // race: total
				mu.Unlock()
			}()
		}
		wg.Wait()      // race: wg
		println(total) // race: total
	}
	programs["norace_go_wgadd"] = func() {
		var wg sync.WaitGroup
		total := 0
		var mu sync.Mutex
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				mu.Lock()
				total++
				mu.Unlock()
			}()
		}
		wg.Wait()
		println(total)
	}
}
