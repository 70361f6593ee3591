// Uses of Go's synchronisation, that of golang.org/x/sync among them: every TestRace…
// races, no TestNoRace… does.
package uses

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template"
	"time"
	"unique"
	"weak"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
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

func TestNoRaceNetPipe(t *testing.T) {
	a, b := net.Pipe()
	buf := make([]byte, 16)
	go func() {
		w := bufio.NewWriter(a)
		for i := range 3 {
			fmt.Fprintf(w, "line %d\n", i)
		}
		w.Flush()
		a.Close()
	}()
	r := bufio.NewReader(b)
	n := 0
	for {
		s, err := r.ReadString('\n')
		if err == io.EOF {
			break
		}
		n += copy(buf, s)
	}
	if n != 21 {
		t.Fatal(n)
	}
}

func TestNoRaceHTTP(t *testing.T) {
	var mu sync.RWMutex
	hits := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hits[r.URL.Path]++
		mu.Unlock()
		json.NewEncoder(w).Encode(map[string]string{"path": r.URL.Path})
	}))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			resp, err := srv.Client().Get(srv.URL + fmt.Sprintf("/%d", i%2))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var got map[string]string
			if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			mu.RLock()
			_ = hits[got["path"]]
			mu.RUnlock()
		})
	}
	wg.Wait()
	srv.Close()
	if hits["/0"] != 2 { // after Close
		t.Fatal(hits)
	}
}

func TestNoRaceTCP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		all, _ := io.ReadAll(c)
		got <- string(all)
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(c, strings.NewReader("hello"))
	c.Close()
	if s := <-got; s != "hello" {
		t.Fatal(s)
	}
	ln.Close()
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

func TestNoRaceParallel(t *testing.T) {
	shared := map[string]int{"a": 1}
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := shared[name]
			own++
			t.Cleanup(func() { own = 0 })
			t.Log(own)
		})
	}
}

func TestNoRaceErrgroup(t *testing.T) {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(2)
	res := make([]int, 6)
	var first error
	for i := range res {
		g.Go(func() error {
			res[i] = i
			if i == 4 {
				first = errors.New("four")
				return first
			}
			return nil
		})
	}
	err := g.Wait()
	if err != first || res[3] != 3 || ctx.Err() == nil {
		t.Fatal(err)
	}
}

func TestNoRaceSingleflight(t *testing.T) {
	var g singleflight.Group
	var wg sync.WaitGroup
	calls := 0
	for range 5 {
		wg.Go(func() {
			v, _, _ := g.Do("k", func() (any, error) {
				return &job{n: 7}, nil
			})
			if v.(*job).n != 7 {
				t.Error("v")
			}
		})
	}
	wg.Wait()
	c := g.DoChan("other", func() (any, error) { calls++; return &job{n: calls}, nil })
	if (<-c).Val.(*job).n != 1 || calls != 1 {
		t.Fatal()
	}
}

func TestNoRaceSemaphore(t *testing.T) {
	s := semaphore.NewWeighted(1)
	n := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s.Acquire(context.Background(), 1)
			n++
			s.Release(1)
		})
	}
	wg.Wait()
	if n != 4 {
		t.Fatal(n)
	}
}

func TestNoRaceOnceValues(t *testing.T) {
	calls := 0
	get := sync.OnceValues(func() (map[string]int, error) { calls++; return map[string]int{"a": 1}, nil })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			m, _ := get()
			if m["a"] != 1 || calls != 1 {
				t.Error("m")
			}
		})
	}
	wg.Wait()
}

func TestNoRaceUniqueWeak(t *testing.T) {
	var wg sync.WaitGroup
	p := &job{n: 3}
	w := weak.Make(p)
	for i := range 4 {
		wg.Go(func() {
			h := unique.Make(fmt.Sprint(i % 2))
			if h.Value() == "" || w.Value().n != 3 {
				t.Error("h")
			}
		})
	}
	wg.Wait()
	runtime.KeepAlive(p)
}

func TestNoRaceMutexHandOff(t *testing.T) { // locked by one, unlocked by another
	var mu sync.Mutex
	x := 0
	mu.Lock()
	x = 1
	go func() {
		x++
		mu.Unlock()
	}()
	mu.Lock()
	if x != 2 {
		t.Fatal(x)
	}
	mu.Unlock()
}

func TestNoRaceSemaphoreChannel(t *testing.T) {
	sem := make(chan int, 1)
	n := 0
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			sem <- 1
			n++
			<-sem
		})
	}
	wg.Wait()
	if n != 5 {
		t.Fatal(n)
	}
}

func TestNoRaceIOPipe(t *testing.T) {
	r, w := io.Pipe()
	type msg struct{ A, B int }
	go func() {
		e := json.NewEncoder(w)
		for i := range 3 {
			e.Encode(msg{i, i * 2})
		}
		w.Close()
	}()
	d := json.NewDecoder(r)
	n := 0
	for {
		var m msg
		if err := d.Decode(&m); err != nil {
			break
		}
		n += m.B
	}
	if n != 6 {
		t.Fatal(n)
	}
}

func TestNoRaceTryLock(t *testing.T) {
	var mu sync.RWMutex
	n := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !mu.TryLock() {
				runtime.Gosched()
			}
			n++
			mu.Unlock()
			for !mu.TryRLock() {
				runtime.Gosched()
			}
			_ = n
			mu.RUnlock()
		})
	}
	wg.Wait()
}
