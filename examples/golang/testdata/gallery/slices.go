package main

import "sync"

// append writes the slice's length and array.
func init() {
	programs["race_go_append"] = func() {
		var found []int
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { found = append(found, i) }) // race: found
		}
		wg.Wait()
		println(len(found))
	}
	programs["norace_go_append"] = func() {
		results := make(chan int, 4)
		for i := range 4 {
			go func() { results <- i }()
		}
		var found []int
		for range 4 {
			found = append(found, <-results)
		}
		println(len(found))
	}
}
