package main

import "sync"

type account struct {
	mu      sync.Mutex
	balance int
	moves   int
}

// The lock is given up before the last access.
func (a *account) depositEarly(n int) {
	a.mu.Lock()
	a.balance += n
	a.mu.Unlock()
	a.moves++ // race: moves
}

func (a *account) deposit(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance += n
	a.moves++
}

func init() {
	programs["race_go_unlock"] = func() {
		a := &account{}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { a.depositEarly(i) })
		}
		wg.Wait()
	}
	programs["norace_go_unlock"] = func() {
		a := &account{}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { a.deposit(i) })
		}
		wg.Wait()
	}
}
