package main

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

func shapes() {
	side, unused := made(20), made(3) // in
	println(unused)                   // out
	var s shape = square{side}        // in
	sum := s.area()                   // in
	add := func(n int) {
		sum += n // in
	}
	add(3)
	result := func() (r int) {
		defer func() {
			r = recover().(int) + sum // in
		}()
		panic(made(500)) // in
	}()
	println(result) // result
}

func mapElement() {
	m := map[string]int{}
	m["noise"] = other(1) // out
	m["x"] = made(6)      // in
	m["more"] = other(2)  // out
	for i := range 40 {
		m[strings.Repeat("k", i)] = other(i) // out
	}
	r := m["x"] // in
	println(r)  // result
}

func mapKey() {
	m := map[int]int{other(0): 2, made(0): 4} // in
	k := made(0)                              // in
	v, ok := m[k]                             // in
	println(ok, v)                            // result
}

func mapIterated() {
	m := map[int]int{}
	m[1] = made(1) // in
	sum := 0
	for k, v := range m { // in
		sum += k + v // in
	}
	println(sum) // result
}

func grown() {
	var s []int
	for i := range 20 {
		s = append(s, other(i))
	}
	s[3] = made(7)                    // in
	s = append(s, make([]int, 50)...) // in
	r := s[3]                         // in
	println(r)                        // result
}

func text() {
	a := strings.Repeat("ab", made(1))  // in
	b := strings.Repeat("cd", other(1)) // out
	c := a + "-"                        // in
	d := b + "+"                        // out
	n := len(c)                         // in
	println(n)                          // result
	println(d)
}

func bytesAndRunes() {
	raw := []byte{byte(made(20)), 'x'} // in
	s := string(raw)                   // in
	runes := []rune(s)                 // in
	runes[0]++                         // in
	back := []byte(string(runes))      // in
	println(back[0])                   // result
}

func groups() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total, count := 0, 0
	for k := range 3 {
		wg.Go(func() {
			mu.Lock()
			total += made(k)  // in
			count += other(k) // out
			mu.Unlock()
		})
	}
	wg.Wait()
	println(total) // result
	println(count)
}

func pooled() {
	pool := sync.Pool{New: func() any { return new(pair) }}
	p := &pair{left: made(2), right: other(2)} // in
	pool.Put(p)                                // in
	q := pool.Get().(*pair)                    // in
	println(q.left)                            // result
}

func atomics() {
	var v atomic.Value
	var p atomic.Pointer[pair]
	var n atomic.Int64
	v.Store(made(300))                                  // in
	p.Store(&pair{left: made(2), right: other(2)})      // in
	n.Store(int64(made(1)))                             // in
	n.Add(2)                                            // in
	r := v.Load().(int) + p.Load().left + int(n.Load()) // in
	println(r)                                          // result
}

func once() {
	get := sync.OnceValue(func() int { return made(9) }) // in
	var o sync.Once
	y := 0
	o.Do(func() { y = other(1) }) // out
	println(y)
	r := get() // in
	println(r) // result
}

func syncMap() {
	var m sync.Map
	m.Store("a", other(100)) // out
	m.Store("b", made(100))  // in
	v, _ := m.Load("b")      // in
	println(v.(int))         // result
}

func arguments() {
	var r int
	done := make(chan bool)
	run := func(a, b int, p *pair) {
		r = a + p.left // in
		println(b)
		close(done)
	}
	go run(made(1), other(1), &pair{left: made(2)}) // in
	<-done
	println(r) // result
}

func panicked() {
	r := func() (n int) {
		defer func() {
			e := recover().(*pair) // in
			n = e.left             // in
		}()
		println(other(2))           // out
		panic(&pair{left: made(3)}) // in
	}()
	println(r) // result
}

func exited() {
	done := make(chan int, 1)
	go func() {
		x := made(4)                 // in
		defer func() { done <- x }() // in
		runtime.Goexit()
	}()
	r := <-done // in
	println(r)  // result
}

func runtimePanic() {
	var p *pair
	r := 0
	x, y := made(5), other(5) // in
	func() {
		defer func() {
			if recover() != nil {
				r = x // in
			}
		}()
		println(p.left + y)
	}()
	println(r) // result
}

func pulled() {
	seq := func(yield func(int) bool) {
		for i := range 3 {
			if !yield(made(i)) { // in
				return
			}
		}
	}
	next, stop := iter.Pull(iter.Seq[int](seq))
	defer stop()
	next()
	r, _ := next() // in
	println(r)     // result
}

func sorted() {
	list := []int{made(9), other(1), made(2)} // in
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	r := slices.Max(list) // in
	println(r)            // result
}

func afterFunc() {
	c := make(chan int)
	x := made(3)                                        // in
	time.AfterFunc(time.Millisecond, func() { c <- x }) // in
	r := <-c                                            // in
	println(r)                                          // result
}

func contextValue() {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, made(400)) // in
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := ctx.Value(key{}).(int) // in
	println(r)                  // result
}

func condition() {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	var queue []int
	go func() {
		mu.Lock()
		queue = append(queue, made(6)) // in
		mu.Unlock()
		c.Signal()
	}()
	mu.Lock()
	for len(queue) == 0 {
		c.Wait()
	}
	r := queue[0] // in
	mu.Unlock()
	println(r) // result
}

func collected() { // between the writing and the reading garbage is collected
	list := map[string]*pair{"a": {left: made(1)}, "b": {left: other(1)}} // in
	x := made(2)                                                          // in
	for range 3 {
		runtime.GC()
		_ = make([]byte, 1<<16)
	}
	r := x + list["a"].left // in
	println(r)              // result
}

func preempted() {
	x, n := made(2), other(1) // in
	stop := make(chan bool)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for i := 0; i < 3_000_000; i++ {
		n += i & 3
	}
	close(stop)
	r := x * 2 // in
	println(n)
	println(r) // result
}

func main() {
	for _, f := range []func(){shapes, direct, waitingSender, buffered, fullBuffer, selected, ranged, closed, isOpen, pipeline, boxed, moved,
		mapElement, mapKey, mapIterated, grown, text, bytesAndRunes, groups, pooled, atomics, once, syncMap, arguments, panicked, exited,
		runtimePanic, pulled, sorted, afterFunc, contextValue, condition, collected, preempted} {
		f()
	}
}
