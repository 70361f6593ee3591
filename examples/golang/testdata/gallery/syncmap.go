package main

import (
	"sync"
	"sync/atomic"
)

// A sync.Map guards the map, not what the values point to.
func init() {
	programs["race_go_syncmap"] = func() {
		var m sync.Map
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				v, _ := m.LoadOrStore("hits", new(int))
				*v.(*int)++ // race: hits
			})
		}
		wg.Wait()
	}
	programs["norace_go_syncmap"] = func() {
		var m sync.Map
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				v, _ := m.LoadOrStore("hits", new(atomic.Int64))
				v.(*atomic.Int64).Add(1)
			})
		}
		wg.Wait()
	}
}
