package counter

import (
	"sync"
	"testing"
)

func count(add func(*int)) {
	var n int
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			add(&n)
		}()
	}
	wg.Wait()
}

func TestSafe(*testing.T) {
	var mu sync.Mutex
	count(func(n *int) {
		mu.Lock()
		*n++
		mu.Unlock()
	})
}

func TestUnsafe(*testing.T) { count(func(n *int) { *n++ }) }
