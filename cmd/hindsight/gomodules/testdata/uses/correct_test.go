// Uses of Go's synchronisation, that of golang.org/x/sync among them: every TestRace…
// races, no TestNoRace… does.
package uses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template"
	"time"
)

type job struct {
	n   int
	out *int
}

func TestNoRaceWorkerPool(t *testing.T) {
	jobs := make(chan job)
	results := make([]int, 20)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for j := range jobs {
				*j.out = j.n * j.n
			}
		})
	}
	for i := range results {
		jobs <- job{i, &results[i]}
	}
	close(jobs)
	wg.Wait()
	sum := 0
	for _, r := range results {
		sum += r
	}
	if sum != 2470 {
		t.Fatal(sum)
	}
}

func TestNoRaceContextTree(t *testing.T) {
	root, cancel := context.WithCancelCause(context.Background())
	var why error
	state := map[string]int{}
	done := make(chan bool, 3)
	for i := range 3 {
		ctx, stop := context.WithTimeout(root, time.Hour)
		go func() {
			defer stop()
			<-ctx.Done()
			if why == nil || state["x"] != 1 || !errors.Is(context.Cause(ctx), why) {
				t.Error("cause", i)
			}
			done <- true
		}()
	}
	state["x"] = 1
	why = errors.New("over")
	cancel(why)
	for range 3 {
		<-done
	}
}

func TestNoRaceContextAfterFunc(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	x := 0
	ran := make(chan int)
	context.AfterFunc(ctx, func() { ran <- x })
	x = 5
	cancel()
	if <-ran != 5 {
		t.Fatal("x")
	}
}

func TestNoRaceTimerReset(t *testing.T) {
	n := 0
	done := make(chan bool)
	var tm *time.Timer
	ready := make(chan bool)
	tm = time.AfterFunc(time.Hour, func() {
		<-ready
		n++
		if n < 3 {
			tm.Reset(time.Millisecond)
		} else {
			close(done)
		}
	})
	n = 0
	tm.Reset(time.Millisecond)
	close(ready)
	<-done
	if n != 3 {
		t.Fatal(n)
	}
}

func TestNoRaceTicker(t *testing.T) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	n := 0
	stop := make(chan bool)
	finished := make(chan bool)
	go func() {
		defer close(finished)
		for {
			select {
			case <-tick.C:
				n++
				if n == 3 {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	<-finished
	_ = n
	close(stop)
}

type queue[T any] struct {
	mu    sync.Mutex
	some  *sync.Cond
	items []T
	over  bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.some = sync.NewCond(&q.mu)
	return q
}
func (q *queue[T]) put(x T) {
	q.mu.Lock()
	q.items = append(q.items, x)
	q.mu.Unlock()
	q.some.Signal()
}
func (q *queue[T]) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.some.Broadcast()
}
func (q *queue[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			q.mu.Lock()
			for len(q.items) == 0 && !q.over {
				q.some.Wait()
			}
			if len(q.items) == 0 {
				q.mu.Unlock()
				return
			}
			x := q.items[0]
			q.items = q.items[1:]
			q.mu.Unlock()
			if !yield(x) {
				return
			}
		}
	}
}

func TestNoRaceCondQueue(t *testing.T) {
	q := newQueue[*job]()
	var wg sync.WaitGroup
	var total atomic.Int64
	for range 3 {
		wg.Go(func() {
			for j := range q.all() {
				j.n++
				total.Add(int64(j.n))
			}
		})
	}
	for i := range 30 {
		q.put(&job{n: i})
	}
	q.end()
	wg.Wait()
	if total.Load() != 465 {
		t.Fatal(total.Load())
	}
}

type config struct {
	names map[string]int
	list  []string
}

func TestNoRaceCopyOnWrite(t *testing.T) {
	var cur atomic.Pointer[config]
	var val atomic.Value
	cur.Store(&config{names: map[string]int{"a": 0}})
	val.Store([]int{1})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 20 {
				c := cur.Load()
				if len(c.names) != len(c.list)+1 {
					t.Error("torn")
				}
				_ = val.Load().([]int)[0]
			}
		})
	}
	for i := range 10 {
		old := cur.Load()
		next := &config{names: map[string]int{}, list: append(slices.Clone(old.list), fmt.Sprint(i))}
		for k, v := range old.names {
			next.names[k] = v
		}
		next.names[fmt.Sprint(i)] = i
		cur.Store(next)
		val.Store([]int{i})
	}
	wg.Wait()
}

func TestNoRaceCompareAndSwapList(t *testing.T) {
	type node struct {
		v    int
		next *node
	}
	var head atomic.Pointer[node]
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 10 {
				n := &node{v: i*10 + k}
				for {
					n.next = head.Load()
					if head.CompareAndSwap(n.next, n) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	c := 0
	for n := head.Load(); n != nil; n = n.next {
		c++
	}
	if c != 40 {
		t.Fatal(c)
	}
}

func TestNoRaceSyncMap(t *testing.T) {
	var m sync.Map
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 10 {
				p := &job{n: i}
				got, loaded := m.LoadOrStore(k, p)
				if loaded && got.(*job).n > 3 {
					t.Error("bad")
				}
				m.Range(func(key, v any) bool { return v.(*job).n >= 0 })
				m.CompareAndSwap(k, p, &job{n: 2})
				if k%3 == 0 {
					m.LoadAndDelete(k)
				}
			}
		})
	}
	wg.Wait()
	m.Clear()
}

type limiter struct {
	tokens chan struct{}
	stop   chan struct{}
}

func TestNoRaceRateLimiter(t *testing.T) {
	l := limiter{make(chan struct{}, 2), make(chan struct{})}
	go func() {
		tk := time.NewTicker(time.Millisecond)
		defer tk.Stop()
		for {
			select {
			case <-tk.C:
				select {
				case l.tokens <- struct{}{}:
				default:
				}
			case <-l.stop:
				return
			}
		}
	}()
	var mu sync.Mutex
	served := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			<-l.tokens
			mu.Lock()
			served++
			mu.Unlock()
		})
	}
	wg.Wait()
	close(l.stop)
	if served != 4 {
		t.Fatal(served)
	}
}

type cache[K comparable, V any] struct {
	mu   sync.RWMutex
	m    map[K]V
	fill func(K) V
}

func (c *cache[K, V]) get(k K) V {
	c.mu.RLock()
	v, ok := c.m[k]
	c.mu.RUnlock()
	if ok {
		return v
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.m[k]; ok {
		return v
	}
	v = c.fill(k)
	c.m[k] = v
	return v
}

func TestNoRaceRWCache(t *testing.T) {
	filled := 0
	c := cache[string, *job]{m: map[string]*job{}, fill: func(s string) *job { filled++; return &job{n: len(s)} }}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 8 {
				if c.get(strings.Repeat("x", (k+i)%5)).n > 4 {
					t.Error("n")
				}
			}
		})
	}
	wg.Wait()
	if filled != 5 {
		t.Fatal(filled)
	}
}

func TestNoRaceShardedMap(t *testing.T) {
	type shard struct {
		sync.Mutex
		m map[int]int
		_ [8]int
	}
	var shards [4]shard
	for i := range shards {
		shards[i].m = map[int]int{}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				s := &shards[(i*7+g)%4]
				s.Lock()
				s.m[i]++
				s.Unlock()
			}
		})
	}
	wg.Wait()
	n := 0
	for i := range shards {
		for _, v := range shards[i].m {
			n += v
		}
	}
	if n != 80 {
		t.Fatal(n)
	}
}

func TestNoRaceSlicesApart(t *testing.T) {
	data := make([]int, 100)
	bytesOf := make([]byte, 33)
	var wg sync.WaitGroup
	for c := range slices.Chunk(data, 9) {
		wg.Go(func() {
			for i := range c {
				c[i] = i
			}
			slices.Reverse(c)
			sort.Ints(c)
		})
	}
	for i := range bytesOf {
		wg.Go(func() { bytesOf[i] = byte(i) })
	}
	wg.Wait()
	if bytesOf[32] != 32 {
		t.Fatal()
	}
}

func TestNoRaceTemplateAndLog(t *testing.T) {
	tmpl := template.Must(template.New("x").Parse(`{{range .}}<{{.}}>{{end}}`))
	var out bytes.Buffer
	l := log.New(&out, "", log.Lshortfile)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			var b strings.Builder
			if err := tmpl.Execute(&b, []int{i, i + 1}); err != nil {
				t.Error(err)
			}
			l.Print(b.String())
		})
	}
	wg.Wait()
	if strings.Count(out.String(), "\n") != 4 {
		t.Fatal(out.String())
	}
}

func TestNoRaceRand(t *testing.T) {
	var wg sync.WaitGroup
	var sum atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewSource(int64(i)))
			sum.Add(int64(r.Intn(10) + rand.Intn(10)))
			x := []int{3, 1, 2}
			rand.Shuffle(3, func(i, j int) { x[i], x[j] = x[j], x[i] })
			sort.Slice(x, func(i, j int) bool { return x[i] < x[j] })
		})
	}
	wg.Wait()
}
