package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A channel of capacity 3 as a semaphore of three places guards a map as one of capacity
// 1 does, but not as a mutex.
func norace_capacity_one() {
	c, x := make(chan bool, 1), 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c <- true
			x++
			<-c
		})
	}
	wg.Wait()
	use(x)
}

func race_capacity_three() {
	c, x := make(chan bool, 3), 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c <- true
			x++
			<-c
		})
	}
	wg.Wait()
	use(x)
}

// A pipeline of channels carries pointers; who sends one must not touch it again.
func norace_pipeline() {
	a, b := make(chan *int), make(chan *int, 2)
	go func() {
		for i := range 5 {
			a <- new(i)
		}
		close(a)
	}()
	go func() {
		for p := range a {
			*p *= 2
			b <- p
		}
		close(b)
	}()
	for p := range b {
		*p++
		use(*p)
	}
}

func race_pipeline() {
	a := make(chan *int, 2)
	go func() {
		for i := range 5 {
			p := new(i)
			a <- p
			*p = 7
		}
		close(a)
	}()
	for p := range a {
		use(*p)
	}
}

// A select with default that finds nothing orders nothing; one that receives does.
func norace_default() {
	c, x := make(chan bool, 1), 0
	go func() { x = 1; c <- true }()
	for {
		select {
		case <-c:
			use(x)
			return
		default:
			runtime.Gosched()
		}
	}
}

func race_default() {
	c, done, x := make(chan bool), make(chan bool), 0
	go func() { x = 1; done <- true }()
	for range 50 {
		select {
		case <-c:
		default:
			x++
		}
	}
	<-done
	use(x)
}

// Nil channels are never ready: the other case is taken.
func norace_nil_channel() {
	var none chan bool
	c, x := make(chan bool), 0
	go func() {
		x = 1
		select {
		case none <- true:
		case c <- true:
		}
	}()
	select {
	case <-none:
	case <-c:
	}
	use(x)
}

func race_nil_channel() {
	var none chan bool
	c, x := make(chan bool), 0
	go func() { x = 1; c <- true }()
	select {
	case <-none:
	default:
		use(x)
	}
	<-c
}

// len and cap of a channel are no operations on it.
func norace_len() {
	c, x := make(chan bool, 1), 0
	go func() { x = 1; c <- true }()
	for len(c) == 0 {
		runtime.Gosched()
	}
	<-c
	use(x)
}

func race_len() {
	c, x := make(chan bool, 1), 0
	go func() { x = 1; c <- true }()
	for len(c) == 0 {
		runtime.Gosched()
	}
	use(x)
	<-c
}

// The woken of a Cond come after who signalled, if they look under the lock.
func norace_cond() {
	var mu sync.Mutex
	cond, ready, x := sync.NewCond(&mu), false, 0
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			mu.Lock()
			for !ready {
				cond.Wait()
			}
			mu.Unlock()
			use(x)
		})
	}
	x = 1
	mu.Lock()
	ready = true
	cond.Broadcast()
	mu.Unlock()
	wg.Wait()
}

func race_cond() {
	var mu sync.Mutex
	cond, ready, x := sync.NewCond(&mu), false, 0
	var wg sync.WaitGroup
	wg.Go(func() {
		mu.Lock()
		for !ready {
			cond.Wait()
		}
		mu.Unlock()
		use(x)
	})
	mu.Lock()
	ready = true
	cond.Signal()
	mu.Unlock()
	x = 1
	wg.Wait()
}

// A timer's function comes after who set it, and before nothing but what it says.
func norace_reset_timer() {
	x, done := 0, make(chan bool)
	t := time.AfterFunc(time.Hour, func() { x++; close(done) })
	x = 1
	t.Reset(time.Millisecond)
	<-done
	use(x)
}

func race_stop_timer() {
	x, done := 0, make(chan bool)
	t := time.AfterFunc(time.Microsecond, func() { x = 1; done <- true })
	if t.Stop() {
		t.Reset(time.Microsecond)
	}
	x = 2
	<-done
	use(x)
}

// Every tick is a receive of what the runtime sends.
func norace_ticker() {
	t, x := time.NewTicker(time.Millisecond), 0
	defer t.Stop()
	var mu sync.Mutex
	done := make(chan bool)
	go func() {
		for range 3 {
			<-t.C
			mu.Lock()
			x++
			mu.Unlock()
		}
		close(done)
	}()
	mu.Lock()
	x++
	mu.Unlock()
	<-done
	use(x)
}

func race_ticker() {
	t, x := time.NewTicker(time.Millisecond), 0
	defer t.Stop()
	done := make(chan bool)
	go func() {
		for range 3 {
			<-t.C
			x++
		}
		close(done)
	}()
	<-t.C
	x++
	<-done
}

// The end of a context orders what came before its cancellation; its deadline nobody.
func norace_context() {
	ctx, cancel := context.WithCancelCause(context.Background())
	x := 0
	stopped := make(chan bool)
	context.AfterFunc(ctx, func() { use(x); close(stopped) })
	go func() { x = 1; cancel(os.ErrClosed) }()
	<-ctx.Done()
	use(x)
	use(ctx.Err() == context.Canceled && context.Cause(ctx) == os.ErrClosed)
	<-stopped
}

func race_context() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	x, done := 0, make(chan bool)
	go func() { x = 1; done <- true }()
	<-ctx.Done()
	use(x)
	<-done
}

// A signal is sent to a channel by a goroutine of the standard library's.
func norace_notify() {
	c, x := make(chan os.Signal, 1), 0
	signal.Notify(c, syscall.SIGUSR1)
	defer signal.Stop(c)
	done := make(chan bool)
	go func() {
		<-c
		<-done
		use(x)
		done <- true
	}()
	x = 1
	syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	done <- true
	<-done
}

func race_notify() {
	c, x := make(chan os.Signal, 1), 0
	signal.Notify(c, syscall.SIGUSR2)
	defer signal.Stop(c)
	done := make(chan bool)
	go func() {
		<-c
		use(x)
		done <- true
	}()
	syscall.Kill(syscall.Getpid(), syscall.SIGUSR2)
	x = 1
	<-done
}

// A finalizer comes after the last use of the object that the collector saw.
func norace_finalizer() {
	type node struct{ v, w *int }
	x, done := new(int), make(chan bool)
	func() {
		n := &node{v: x}
		runtime.SetFinalizer(n, func(n *node) { *n.v++; close(done) })
		*n.v = 1
	}()
	for {
		runtime.GC()
		select {
		case <-done:
			use(*x)
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func race_finalizer() {
	type node struct{ v, w *int }
	x, done := new(int), make(chan bool, 1)
	func() {
		n := &node{v: x}
		runtime.SetFinalizer(n, func(n *node) { *n.v++; done <- true })
	}()
	go func() {
		for len(done) == 0 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}()
	for len(done) == 0 {
		time.Sleep(time.Millisecond)
	}
	use(*x)
}

// A spin on an atomic flag orders; on a plain one it does not.
func norace_spin() {
	var flag atomic.Bool
	x := 0
	go func() { x = 1; flag.Store(true) }()
	for !flag.Load() {
		runtime.Gosched()
	}
	use(x)
}

//go:noinline
func raised(p *bool) bool { return *p }

func race_spin() {
	flag, x := new(bool), 0
	go func() { x = 1; *flag = true }()
	for !raised(flag) {
		runtime.Gosched()
	}
	use(x)
}
