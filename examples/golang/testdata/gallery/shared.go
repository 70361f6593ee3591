package main

import "sync"

// Both goroutines assign the err that was declared outside of them.
func init() {
	programs["race_go_err"] = func() {
		var err error
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				err = step()    // race: err
				if err != nil { // race: err
					println(err.Error())
				}
			})
		}
		wg.Wait()
	}
	programs["norace_go_err"] = func() {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := step(); err != nil {
					println(err.Error())
				}
			})
		}
		wg.Wait()
	}
}

//go:noinline
func step() error { return nil }
