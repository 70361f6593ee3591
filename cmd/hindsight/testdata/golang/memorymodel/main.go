// What Go's memory model orders, and what it does not: every function makes its
// accesses to a variable of its own, and main calls them one after another.
package main

import (
	"context"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func norace_go_statement() {
	x := new(int)
	*x = 1
	done := make(chan bool)
	go func() { *x = 2; done <- true }()
	<-done
}

func race_go_exit() { // the end of a goroutine orders nothing
	x := new(int)
	var ended atomic.Int32
	go func() { ended.Add(1); *x = 1 }()
	for ended.Load() == 0 {
		runtime.Gosched()
	}
	time.Sleep(time.Millisecond)
	*x = 2
}

func norace_buffered() {
	x := new(int)
	c := make(chan int, 3)
	go func() { *x = 1; c <- 0 }()
	<-c
	*x = 2
}

func norace_unbuffered_back() { // the receive comes before the completion of the send
	x := new(int)
	c := make(chan int)
	go func() { *x = 1; <-c }()
	c <- 0
	*x = 2
}

func race_buffered_back() { // with a buffer it does not
	x := new(int)
	c := make(chan int, 1)
	done := make(chan bool)
	go func() { *x = 1; <-c; done <- true }()
	c <- 0
	*x = 2
	<-done
}

func norace_semaphore() { // the kth receive comes before the completion of send k+C
	x := new(int)
	limit := make(chan int, 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			limit <- 1
			*x++
			<-limit
		}()
	}
	wg.Wait()
}

func race_semaphore_two() {
	x := new(int)
	limit := make(chan int, 2)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			limit <- 1
			*x++
			<-limit
		}()
	}
	wg.Wait()
}

func norace_close() {
	x := new(int)
	c := make(chan int)
	go func() { *x = 1; close(c) }()
	<-c
	*x = 2
}

func norace_range() {
	x := new(int)
	c := make(chan int, 2)
	go func() {
		c <- 1
		*x = 1
		close(c)
	}()
	for range c {
	}
	*x = 2
}

func norace_select() {
	x := new(int)
	a, b := make(chan int), make(chan int, 1)
	go func() { *x = 1; a <- 1 }()
	select {
	case <-a:
	case <-b:
	}
	*x = 2
}

func race_select_default() {
	x := new(int)
	c := make(chan int, 1)
	done := make(chan bool)
	go func() {
		*x = 1
		select {
		case c <- 1:
		default:
		}
		done <- true
	}()
	select {
	case <-done:
	default:
	}
	*x = 2
	<-done
}

func norace_mutex() {
	x := new(int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				mu.Lock()
				*x++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	*x++
}

func race_two_mutexes() {
	x := new(int)
	var mu [2]sync.Mutex
	var wg sync.WaitGroup
	for i := range mu {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu[i].Lock()
			*x++
			mu[i].Unlock()
		}()
	}
	wg.Wait()
}

func norace_rwmutex() {
	x, sum := new(int), new(atomic.Int64)
	var mu sync.RWMutex
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				if i < 2 {
					mu.Lock()
					*x++
					mu.Unlock()
				} else {
					mu.RLock()
					sum.Add(int64(*x))
					mu.RUnlock()
				}
			}
		}()
	}
	wg.Wait()
}

func race_read_lock() {
	x := new(int)
	var mu sync.RWMutex
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.RLock()
			*x++
			mu.RUnlock()
		}()
	}
	wg.Wait()
}

func norace_once() {
	x := new(int)
	var once sync.Once
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			once.Do(func() { *x = 1 })
			if *x != 1 {
				panic("once")
			}
		}()
	}
	wg.Wait()
}

func norace_once_value() {
	value := sync.OnceValue(func() *int { return new(int) })
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p := value()
			mu.Lock()
			*p++
			mu.Unlock()
		}()
	}
	wg.Wait()
}

func norace_cond() {
	x, ready := new(int), false
	var mu sync.Mutex
	cond := sync.NewCond(&mu)
	go func() {
		*x = 1
		mu.Lock()
		ready = true
		mu.Unlock()
		cond.Broadcast()
	}()
	mu.Lock()
	for !ready {
		cond.Wait()
	}
	mu.Unlock()
	*x = 2
}

func norace_atomic() {
	x := new(int)
	var flag atomic.Bool
	go func() { *x = 1; flag.Store(true) }()
	for !flag.Load() {
		runtime.Gosched()
	}
	*x = 2
}

func norace_atomic_pointer() {
	var p atomic.Pointer[int]
	go func() { v := new(int); *v = 1; p.Store(v) }()
	for p.Load() == nil {
		runtime.Gosched()
	}
	*p.Load() = 2
}

func race_flag() {
	x, flag := new(int), new(int)
	done := make(chan bool)
	go func() { *x = 1; *flag = 1; done <- true }()
	if *flag == 1 {
		*x = 2
	}
	<-done
}

func race_atomic_and_plain() {
	n := new(int64)
	done := make(chan bool)
	go func() { atomic.AddInt64(n, 1); done <- true }()
	*n = 2
	<-done
}

func norace_after_func() {
	x := new(int)
	*x = 1
	done := make(chan bool)
	time.AfterFunc(time.Millisecond, func() { *x = 2; close(done) })
	<-done
	*x = 3
}

func race_after_func() {
	x := new(int)
	done := make(chan bool)
	time.AfterFunc(time.Microsecond, func() { *x = 2; close(done) })
	*x = 1
	<-done
}

func norace_timer_channel() {
	x := new(int)
	t := time.NewTimer(time.Millisecond)
	<-t.C
	*x = 1
	tick := time.NewTicker(time.Millisecond)
	<-tick.C
	tick.Stop()
	*x = 2
}

func norace_context() {
	x := new(int)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { *x = 1; cancel() }()
	<-ctx.Done()
	*x = 2
}

func norace_pool() {
	pool := sync.Pool{New: func() any { return new([4]int) }}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 10 {
				b := pool.Get().(*[4]int)
				b[i%4]++
				pool.Put(b)
			}
		}()
	}
	wg.Wait()
}

func norace_sync_map() {
	var m sync.Map
	go func() { v := new(int); *v = 1; m.Store(1, v) }()
	for {
		if v, ok := m.Load(1); ok {
			*v.(*int) = 2
			return
		}
		runtime.Gosched()
	}
}

func norace_pipe() {
	x := new(int)
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	go func() { *x = 1; w.Write([]byte("x")); w.Close() }()
	r.Read(make([]byte, 1))
	*x = 2
	r.Close()
}

func norace_moved_stack() { // stacks grow and are used again; nobody else has seen them
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			deep(i%7*20, new([16]int))
		}()
	}
	wg.Wait()
}

//go:noinline
func deep(n int, at *[16]int) int {
	var room [32]int
	if n > 0 {
		room[n%32] = deep(n-1, at)
	}
	return room[n%32] + at[n%16]
}

func norace_garbage() { // memory that is given out again is other memory
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 60 {
				b := make([]byte, 1<<14)
				b[i] = 1
				if i%20 == 0 {
					runtime.GC()
				}
			}
		}()
	}
	wg.Wait()
}

func race_map() {
	m := map[int]int{}
	done := make(chan bool)
	go func() { m[1] = 1; done <- true }()
	if len(m) == 7 {
		panic("map")
	}
	<-done
}

func race_copy() {
	a, b := make([]int, 8), make([]int, 8)
	done := make(chan bool)
	go func() { copy(a, b); done <- true }()
	b[3] = 1
	<-done
}

func race_bytes_of_string() {
	b := []byte("hello, world, and more of it")
	done := make(chan string)
	go func() { done <- string(b) }()
	b[3] = 1
	<-done
}

func race_interface() {
	var v any
	done := make(chan bool)
	go func() { v = 1; done <- true }()
	v = "x"
	<-done
	runtime.KeepAlive(v)
}

func race_recovered() {
	x := new(int)
	done := make(chan bool)
	go func() {
		defer func() {
			recover()
			*x = 1
			done <- true
		}()
		panic("x")
	}()
	*x = 2
	<-done
}

func main() {
	for _, f := range []func(){
		norace_go_statement, race_go_exit, norace_buffered, norace_unbuffered_back, race_buffered_back, norace_semaphore,
		race_semaphore_two, norace_close, norace_range, norace_select, race_select_default, norace_mutex, race_two_mutexes,
		norace_rwmutex, race_read_lock, norace_once, norace_once_value, norace_cond, norace_atomic, norace_atomic_pointer,
		race_flag, race_atomic_and_plain, norace_after_func, race_after_func, norace_timer_channel, norace_context,
		norace_pool, norace_sync_map, norace_pipe, norace_moved_stack, norace_garbage, race_map, race_copy,
		race_bytes_of_string, race_interface, race_recovered,
	} {
		f()
	}
}
