// As many goroutines as the argument says, which nothing orders, and a race of
// each with the one half as far on.
package main

import (
	"os"
	"strconv"
	"time"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	x := make([]int, n/2)
	for i := range n {
		go func() { x[i%(n/2)]++ }()
	}
	time.Sleep(time.Second)
}
