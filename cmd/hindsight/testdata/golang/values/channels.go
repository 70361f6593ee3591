// How values come through channels: what was sent is what was received. The slice at
// a line that says "result" has the lines of its function that say "in", and none that
// says "out".
package main

import (
	"fmt"
	"time"
)

type pair struct {
	left, right int
	name        string
}

//go:noinline
func made(n int) int { return n*3 + 1 }

//go:noinline
func other(n int) int { return n*5 + 2 }

func direct() { // the receiver waits: send copies to its stack
	c, back := make(chan int), make(chan int)
	go func() {
		v := <-c      // in
		back <- v + 1 // in
	}()
	time.Sleep(time.Millisecond)
	x, y := made(4), other(7) // in
	println(y)
	c <- x          // in
	println(<-back) // result
}

func waitingSender() { // recv copies from the stack of the sender
	c := make(chan pair)
	go func() {
		p := pair{made(1), other(2), "p"} // in
		c <- p                            // in
	}()
	time.Sleep(time.Millisecond)
	p := <-c        // in
	println(p.left) // result
}

func buffered() {
	c := make(chan [3]int, 3)
	c <- [3]int{other(1), 0, 0} // out
	c <- [3]int{1, made(5), 3}  // in
	c <- [3]int{other(3), 0, 0} // out
	<-c
	r := (<-c)[1] // in
	println(r)    // result
}

func fullBuffer() { // recv takes from the buffer what was sent first and refills it
	c := make(chan int, 1)
	go func() {
		for i := range 3 {
			c <- made(i) // in
		}
	}()
	time.Sleep(time.Millisecond)
	<-c
	<-c
	r := <-c   // in
	println(r) // result
}

func selected() {
	a, b := make(chan int), make(chan *pair)
	go func() {
		p := &pair{left: made(8)} // in
		select {
		case a <- other(9): // out
		case b <- p: // in
		}
	}()
	time.Sleep(time.Millisecond)
	var r int
	select {
	case p := <-b: // in
		r = p.left // in
	case <-time.After(time.Hour):
		r = 7 // out
	}
	println(r) // result
}

func ranged() {
	c := make(chan int)
	go func() {
		for i := range 4 {
			c <- made(i) // in
		}
		close(c)
	}()
	sum, n := 0, 0
	for v := range c { // in
		sum += v // in
		n++      // out
	}
	println(sum) // result
	println(n)
}

func closed() {
	c := make(chan int, 1)
	c <- other(1) // out
	close(c)
	<-c
	v, ok := <-c // in
	if !ok {
		v += made(2) // in
	}
	println(v) // result
}

func isOpen() {
	c := make(chan int)
	go func() {
		c <- other(1) // out
		close(c)
	}()
	<-c
	_, ok := <-c // in
	r := 3
	if ok { // out
		r = other(3)
	}
	println(ok, r) // result
}

func pipeline() {
	stage := func(in <-chan int, f func(int) int) <-chan int {
		out := make(chan int)
		go func() {
			defer close(out)
			for v := range in { // in
				out <- f(v) // in
			}
		}()
		return out
	}
	source := make(chan int)
	go func() {
		defer close(source)
		source <- made(3) // in
	}()
	last := 0
	for v := range stage(stage(source, func(n int) int { return n + 1 }), func(n int) int { return n * 2 }) { // in
		last = v // in
	}
	println(last) // result
}

func boxed() {
	c := make(chan any)
	go func() {
		c <- fmt.Sprint(other(1)) // out
		c <- made(500)            // in
	}()
	<-c
	v := <-c         // in
	println(v.(int)) // result
}

func moved() { // the stacks of both sides grow in between
	c := make(chan int)
	go func() {
		x := made(11) // in
		deep(100)
		c <- x // in
	}()
	v := 1 + <-c // in
	deep(200)
	println(v) // result
}

func deep(n int) int {
	var room [64]int
	if n > 0 {
		room[n%64] = deep(n - 1)
	}
	return room[n%64] + n
}
