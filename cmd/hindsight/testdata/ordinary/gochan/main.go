package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

type account struct {
	mu      sync.Mutex
	balance int
	history []int
}

func main() {
	n := 20000
	if len(os.Args) > 1 {
		n, _ = strconv.Atoi(os.Args[1])
	}
	accounts := make([]account, 64)
	type transfer struct{ from, to, amount int }
	jobs, results := make(chan transfer, 32), make(chan int, 32)
	var wg sync.WaitGroup
	for w := 0; w < 6; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for t := range jobs {
				a, b := &accounts[t.from], &accounts[t.to]
				a.mu.Lock()
				a.balance -= t.amount
				a.history = append(a.history[:len(a.history)&15], t.amount)
				a.mu.Unlock()
				b.mu.Lock()
				b.balance += t.amount
				b.mu.Unlock()
				results <- t.amount
			}
		}()
	}
	go func() {
		x := uint32(1)
		for i := 0; i < n; i++ {
			x = x*1664525 + 1013904223
			jobs <- transfer{int(x >> 10 & 63), int(x >> 20 & 63), i & 7}
		}
		close(jobs)
		wg.Wait()
		close(results)
	}()
	sum := 0
	for r := range results {
		sum += r
	}
	fmt.Println(sum)
}
