// Races of Go programs with a label, as in examples/verdicts.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

type settings struct{ name string }

var (
	total, unseen, same, state, level, limit int

	config *settings
	stop   bool
	shared = &counters{}
)

type counters struct{ visits int }

// both runs two functions in goroutines of their own.
func both(a, b func()) {
	var wg sync.WaitGroup
	for _, f := range []func(){a, b} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f()
		}()
	}
	wg.Wait()
}

func main() {
	switch os.Args[1] {
	// CASE(total, harmful)
	case "total":
		both(func() { total++ }, func() { total++ })
		fmt.Println(total)
	// CASE(unseen, state_differs)
	case "unseen":
		both(func() { unseen++ }, func() { unseen++ })
	// CASE(same, no_difference)
	case "same":
		both(func() { same = 5 }, func() { same = 5 })
		fmt.Println(same)
	// CASE(config, harmful)
	case "config":
		both(func() { config = &settings{"x"} }, func() {
			time.Sleep(time.Millisecond)
			fmt.Println(config.name)
		})
	// CASE(stop, no_difference)
	case "stop":
		both(func() { stop = true }, func() {
			for n := 0; !stop && n < 100; n++ {
				time.Sleep(time.Microsecond)
			}
		})
	// CASE(state, harmful)
	case "state":
		both(func() {
			if state == 0 {
				state = 1
			}
		}, func() {
			if state == 0 {
				state = 2
			}
		})
		os.Exit(state)
	// CASE(level, no_difference)
	case "level":
		both(func() { level = max(level, 7) }, func() { level = max(level, 7) })
		fmt.Println(level)
	// CASE(limit, harmful)
	case "limit":
		both(func() { limit = 4 }, func() { fmt.Println(make([]int, limit)) })
	}
}
