package main

import "sync"

type counter struct {
	mu sync.Mutex
	n  *int
}

// The receiver is a copy, and so is its mutex.
//
//go:noinline
func (c counter) addCopy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.n++ // race: n
}

//go:noinline
func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.n++
}

func init() {
	programs["race_go_receiver"] = func() {
		c := counter{n: new(int)}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { c.addCopy() })
		}
		wg.Wait()
	}
	programs["norace_go_receiver"] = func() {
		c := counter{n: new(int)}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { c.add() })
		}
		wg.Wait()
	}
}
