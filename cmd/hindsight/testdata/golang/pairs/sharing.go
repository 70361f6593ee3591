package main

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"
	"weak"
)

// A pool hands a buffer on; who has put it must not use it.
func norace_pool() {
	p := sync.Pool{New: func() any { return new([64]byte) }}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 4 {
				b := p.Get().(*[64]byte)
				b[0] = byte(i)
				p.Put(b)
			}
		})
	}
	wg.Wait()
}

func race_pool() {
	var p sync.Pool
	b, done := new([64]byte), make(chan bool)
	b[0] = 1
	p.Put(b)
	go func() {
		c, _ := p.Get().(*[64]byte)
		if c == nil {
			c = b // it was in the cache of another P
		}
		c[1] = 2
		done <- true
	}()
	b[1] = 3
	<-done
}

// What is stored in a sync.Map is there for who loads it; what is changed later is not.
func norace_map() {
	var m sync.Map
	done := make(chan bool)
	go func() {
		for {
			if v, ok := m.Load("k"); ok {
				use(*v.(*int))
				break
			}
			time.Sleep(time.Microsecond)
		}
		done <- true
	}()
	x := new(int)
	*x = 1
	m.Store("k", x)
	<-done
	m.Range(func(_, v any) bool { use(*v.(*int)); return true })
}

func race_map() {
	var m sync.Map
	done := make(chan bool)
	x := new(int)
	m.Store("k", x)
	go func() {
		v, _ := m.LoadOrStore("k", 1)
		use(*v.(*int))
		done <- true
	}()
	*x = 1
	<-done
}

// OnceValues and OnceFunc run a function once, before the return of every call.
func norace_once() {
	x := 0
	f := sync.OnceValues(func() (int, error) { x = 1; return x, nil })
	g := sync.OnceFunc(func() { x++ })
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { f(); g(); use(x) })
	}
	wg.Wait()
}

func race_once() {
	x := 0
	var a, b sync.Once
	var wg sync.WaitGroup
	wg.Go(func() { a.Do(func() { x++ }) })
	wg.Go(func() { b.Do(func() { x++ }) })
	wg.Wait()
}

// Readers are not ordered among themselves; a writer is with all.
func norace_rwmutex() {
	var mu sync.RWMutex
	m := map[string]int{}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 3 {
				mu.RLock()
				use(m["a"])
				mu.RUnlock()
				mu.Lock()
				m["a"]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	l := mu.RLocker()
	l.Lock()
	use(m["a"])
	l.Unlock()
}

func race_rwmutex() {
	var mu sync.RWMutex
	hits := 0
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			mu.RLock()
			hits++ // a counter of readers
			mu.RUnlock()
		})
	}
	wg.Wait()
	use(hits)
}

// TryLock that succeeds is a lock; one that fails is nothing.
func norace_try_lock() {
	var mu sync.Mutex
	x := 0
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !mu.TryLock() {
				time.Sleep(time.Microsecond)
			}
			x++
			mu.Unlock()
		})
	}
	wg.Wait()
	use(x)
}

func race_try_lock() {
	var mu sync.Mutex
	x := 0
	mu.Lock()
	var wg sync.WaitGroup
	wg.Go(func() {
		if !mu.TryLock() {
			x++
		}
	})
	x++
	wg.Wait()
	mu.Unlock()
}

// Functions and types of sync/atomic publish alike.
func norace_atomic_types() {
	var p atomic.Pointer[[2]int]
	var v atomic.Value
	var u atomic.Uint64
	done := make(chan bool, 3)
	go func() {
		for p.Load() == nil {
			time.Sleep(time.Microsecond)
		}
		use(p.Load()[1])
		done <- true
	}()
	go func() {
		for v.Load() == nil {
			time.Sleep(time.Microsecond)
		}
		use(v.Load().([]int)[0])
		done <- true
	}()
	x := 0
	go func() {
		for u.And(1)&1 == 0 {
			time.Sleep(time.Microsecond)
		}
		use(x)
		done <- true
	}()
	p.CompareAndSwap(nil, &[2]int{1, 2})
	v.Store([]int{3})
	x = 4
	u.Or(3)
	for range 3 {
		<-done
	}
}

func race_atomic_functions() {
	n, x := new(int32), 0
	done := make(chan bool)
	go func() {
		atomic.AddInt32(n, 1)
		x = 1
		done <- true
	}()
	atomic.AddInt32(n, 1)
	x = 2
	<-done
	use(x)
}

// group is errgroup.Group of golang.org/x/sync, by its parts.
type group struct {
	wg   sync.WaitGroup
	once sync.Once
	sem  chan struct{}
	err  error
}

func (g *group) run(f func() error) {
	g.sem <- struct{}{}
	g.wg.Add(1)
	go func() {
		defer func() { <-g.sem; g.wg.Done() }()
		if err := f(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	}()
}

type failure string

func (f failure) Error() string { return string(f) }

func norace_errgroup() {
	g := group{sem: make(chan struct{}, 2)}
	results := make([]int, 5)
	for i := range results {
		g.run(func() error { results[i] = i; return failure("x") })
	}
	g.wg.Wait()
	use(g.err.Error(), results[3])
}

func race_errgroup() {
	g := group{sem: make(chan struct{}, 2)}
	var first error
	for range 3 {
		g.run(func() error {
			if first == nil {
				first = failure("x")
			}
			return nil
		})
	}
	g.wg.Wait()
}

// flight is singleflight.Group, by its parts.
type flight struct {
	mu    sync.Mutex
	calls map[string]*flying
}

type flying struct {
	wg  sync.WaitGroup
	val *int
}

func (f *flight) do(key string, load func() *int) *int {
	f.mu.Lock()
	if c, ok := f.calls[key]; ok {
		f.mu.Unlock()
		c.wg.Wait()
		return c.val
	}
	c := new(flying)
	c.wg.Add(1)
	f.calls[key] = c
	f.mu.Unlock()
	c.val = load()
	c.wg.Done()
	return c.val
}

func norace_singleflight() {
	f := flight{calls: map[string]*flying{}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { use(*f.do("a", func() *int { return new(7) })) })
	}
	wg.Wait()
}

func race_singleflight() { // what is shared is changed
	f := flight{calls: map[string]*flying{}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { *f.do("a", func() *int { return new(7) })++ })
	}
	wg.Wait()
}

// cache is generic; one method has no lock.
type cache[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (c *cache[K, V]) put(k K, v V) { c.mu.Lock(); defer c.mu.Unlock(); c.m[k] = v }
func (c *cache[K, V]) get(k K) V    { c.mu.Lock(); defer c.mu.Unlock(); return c.m[k] }
func (c *cache[K, V]) size() int    { return len(c.m) }

func norace_generic() {
	c := cache[string, []int]{m: map[string][]int{}}
	var wg sync.WaitGroup
	wg.Go(func() { c.put("a", []int{1}) })
	wg.Go(func() { use(len(c.get("a"))) })
	wg.Wait()
	use(c.size())
}

func race_generic() {
	c := cache[string, []int]{m: map[string][]int{}}
	var wg sync.WaitGroup
	wg.Go(func() { c.put("a", []int{1}) })
	wg.Go(func() { use(c.size()) })
	wg.Wait()
}

// Ranging over functions: the body is a closure that the iterator calls.
func numbers(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func norace_range_func() {
	x, c := 0, make(chan int)
	go func() {
		for i := range numbers(5) {
			c <- i
		}
		close(c)
	}()
	for i := range c {
		x += i
	}
	use(x)
}

func race_range_func() {
	x, done := 0, make(chan bool)
	go func() {
		for i := range numbers(5) {
			x += i
		}
		done <- true
	}()
	for i := range numbers(5) {
		x += i
	}
	<-done
}

// iter.Pull runs the iterator as a coroutine: it and its caller are in order.
func norace_pull() {
	x := 0
	next, stop := iter.Pull(func(yield func(int) bool) {
		for x < 5 {
			x++
			if !yield(x) {
				return
			}
		}
	})
	defer stop()
	for range 4 {
		next()
		x++
	}
	done := make(chan bool)
	go func() { next(); x++; done <- true }()
	<-done
	use(x)
}

func race_pull() {
	x, done := 0, make(chan bool)
	next, stop := iter.Pull(func(yield func(int) bool) {
		for yield(x) {
			x++
		}
	})
	next()
	go func() { x++; done <- true }()
	next()
	<-done
	stop()
}

// Slices and maps by the packages of these names.
func norace_sorted() {
	m := map[string]int{"b": 1, "a": 2}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			use(strings.Join(slices.Sorted(maps.Keys(m)), ","))
			m["c"]++
		})
	}
	wg.Wait()
}

func race_sorted() {
	s := []string{"b", "a", "c"}
	var wg sync.WaitGroup
	wg.Go(func() { slices.Sort(s) })
	wg.Go(func() { use(slices.Contains(s, "z")) })
	wg.Wait()
}

// Canonical values are shared by all that ask for equal ones, and never written.
func norace_unique() {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { use(unique.Make("k" + string([]byte{'a'})).Value()) })
	}
	wg.Wait()
}

func race_unique() {
	var handle unique.Handle[string]
	var wg sync.WaitGroup
	var mu [2]sync.Mutex
	for i := range mu {
		wg.Go(func() {
			mu[i].Lock()
			defer mu[i].Unlock()
			handle = unique.Make("k")
		})
	}
	wg.Wait()
	use(handle)
}

// A weak pointer reaches the same variable, and orders nothing.
func norace_weak() {
	x := new([4]int)
	w, c := weak.Make(x), make(chan bool)
	go func() { w.Value()[0] = 1; c <- true }()
	<-c
	x[0]++
	use(x[0])
}

func race_weak() {
	x := new([4]int)
	w, c := weak.Make(x), make(chan bool)
	go func() {
		if p := w.Value(); p != nil {
			p[0] = 1
		}
		c <- true
	}()
	x[0]++
	<-c
	use(x[0])
}

// What a mutex of one value guards, that of a copy does not.
type guarded struct {
	mu sync.Mutex
	n  *int
}

func (g *guarded) add() { g.mu.Lock(); *g.n++; g.mu.Unlock() }

func norace_guarded() {
	g := guarded{n: new(int)}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(g.add)
	}
	wg.Wait()
}

func race_guarded() {
	a, b := guarded{n: new(int)}, guarded{}
	b.n = a.n
	var wg sync.WaitGroup
	wg.Go(a.add)
	wg.Go(b.add)
	wg.Wait()
}

// Elements of a slice, fields of a struct and bytes of a word are variables of their own.
func norace_neighbours() {
	var s struct {
		a, b byte
		c    [3]bool
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.a = 1 })
	wg.Go(func() { s.b = 2 })
	for i := range s.c {
		wg.Go(func() { s.c[i] = true })
	}
	wg.Wait()
	use(s.a + s.b)
}

func race_neighbours() {
	s := make([]byte, 8)
	var wg sync.WaitGroup
	wg.Go(func() { copy(s[2:], "abc") })
	wg.Go(func() { clear(s[4:6]) })
	wg.Wait()
}
