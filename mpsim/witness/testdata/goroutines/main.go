// Races between goroutines that most runs hide behind the order of a lock, and
// correct twins.
package main

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

var (
	mu           sync.Mutex
	data         int
	first, other int
)

// race_hidden: two sections of one lock, which have nothing to do with each other.
func raceHidden() {
	var wg sync.WaitGroup
	wg.Add(2)
	go func() {
		defer wg.Done()
		data = 1
		mu.Lock()
		first++
		mu.Unlock()
	}()
	for range 20 {
		runtime.Gosched()
	}
	go func() {
		defer wg.Done()
		mu.Lock()
		other++
		mu.Unlock()
		data = 2
	}()
	wg.Wait()
}

// norace_told: the section says that the data is there.
func noraceTold() {
	var wg sync.WaitGroup
	wg.Add(2)
	ready := false
	go func() {
		defer wg.Done()
		data = 1
		mu.Lock()
		ready = true
		mu.Unlock()
	}()
	go func() {
		defer wg.Done()
		for told := false; !told; runtime.Gosched() {
			mu.Lock()
			told = ready
			mu.Unlock()
		}
		data = 2
	}()
	wg.Wait()
}

// norace_channel: the channel orders the accesses, beside a lock.
func noraceChannel() {
	c := make(chan int, 1)
	go func() {
		data = 1
		mu.Lock()
		first++
		mu.Unlock()
		c <- 1
	}()
	<-c
	mu.Lock()
	other++
	mu.Unlock()
	data = 2
}

// norace_atomic: an atomic flag orders them.
func noraceAtomic() {
	var ready atomic.Bool
	go func() {
		data = 1
		mu.Lock()
		first++
		mu.Unlock()
		ready.Store(true)
	}()
	for !ready.Load() {
		runtime.Gosched()
	}
	mu.Lock()
	other++
	mu.Unlock()
	data = 2
}

// norace_wait: the first goroutine has ended before the second begins.
func noraceWait() {
	for i := range 2 {
		var wg sync.WaitGroup
		wg.Go(func() {
			mu.Lock()
			first++
			mu.Unlock()
			data = i
		})
		wg.Wait()
	}
}

func main() {
	map[string]func(){
		"race_hidden": raceHidden, "norace_told": noraceTold, "norace_channel": noraceChannel, "norace_atomic": noraceAtomic, "norace_wait": noraceWait,
	}[os.Args[1]]()
}
