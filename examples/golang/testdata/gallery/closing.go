package main

import "sync"

// Whoever finds the channel open closes it: two may.
func init() {
	programs["race_go_close"] = func() {
		stop := make(chan bool)
		stopped := false
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				defer func() { recover() }()
				if !stopped { // race: stopped
					stopped = true // race: stopped
					close(stop)    // race: stop
				}
			})
		}
		wg.Wait()
	}
	programs["norace_go_close"] = func() {
		stop := make(chan bool)
		var once sync.Once
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { once.Do(func() { close(stop) }) })
		}
		wg.Wait()
	}
}
