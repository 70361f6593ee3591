// A value on its way through an interface, a closure, a deferred function and a panic.
package main

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side } // area

//go:noinline
func input(n int) int { return n*2 + 1 } // input

func main() {
	side, unused := input(20), input(3) // side
	println(unused)
	var s shape = square{side} // interface
	sum := s.area()            // call
	add := func(n int) {
		sum += n // closure
	}
	add(3)
	result := func() (r int) { // result
		defer func() {
			r = recover().(int) + sum // recovered
		}()
		panic(input(5)) // panic
	}()
	println(result)
}
