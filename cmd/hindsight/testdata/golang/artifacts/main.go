// Races that are consequences of another race: the cause is repaired under the tag repaired.
package main

import (
	"os"
	"sync"
)

// By index: the racing counter decides which element is written.
var (
	next  int
	slots [64]int
)

func index() {
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for range 4 {
				i := take(&next) // cause
				slots[i] = n     // consequence: two goroutines may have the same i
			}
		})
	}
	wg.Wait()
}

// By flag: a racing flag decides that the value is read.
var (
	ready flag
	value int
)

func byFlag() {
	var wg sync.WaitGroup
	wg.Go(func() {
		value = 42  // consequence
		ready.set() // cause
	})
	wg.Go(func() {
		for !ready.get() { // cause
			pause()
		}
		println(value) // consequence
	})
	wg.Wait()
}

// By pointer: a racing pointer decides which structure is accessed.
type node struct{ hits int }

var head holder

func pointer() {
	var wg sync.WaitGroup
	wg.Go(func() {
		n := &node{}
		n.hits = 1
		head.put(n) // cause
	})
	wg.Go(func() {
		for range 1000 {
			if n := head.take(); n != nil { // cause
				n.hits++ // consequence
				return
			}
			pause()
		}
	})
	wg.Wait()
}

func main() {
	map[string]func(){"index": index, "flag": byFlag, "pointer": pointer}[os.Args[1]]()
}
