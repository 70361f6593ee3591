package uses

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
)

func TestRacePoolCounter(t *testing.T) {
	jobs := make(chan int, 8)
	var wg sync.WaitGroup
	done := 0
	for range 3 {
		wg.Go(func() {
			done++
			for range jobs {
				done++
			}
		})
	}
	for i := range 8 {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
}

func TestRaceAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	x := 0
	go func() { <-ctx.Done(); _ = x; println(x) }()
	cancel()
	x = 1
	time.Sleep(time.Millisecond)
}

func TestRaceAfterFunc(t *testing.T) {
	x := 0
	time.AfterFunc(time.Millisecond, func() { x++ })
	x = 2
	time.Sleep(5 * time.Millisecond)
}

func TestRaceTimerReset(t *testing.T) {
	x := 0
	tm := time.AfterFunc(time.Millisecond, func() { x++ })
	tm.Reset(time.Millisecond)
	x = 2
	time.Sleep(5 * time.Millisecond)
}

func TestRaceCondNoLock(t *testing.T) {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	ready := false
	go func() {
		ready = true
		c.Signal()
	}()
	mu.Lock()
	for i := 0; !ready && i < 1; i++ {
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
	}
	mu.Unlock()
}

func TestRaceCopyOnWriteInPlace(t *testing.T) {
	var cur atomic.Pointer[config]
	cur.Store(&config{names: map[string]int{}, list: make([]string, 1, 8)})
	var wg sync.WaitGroup
	wg.Go(func() { c := cur.Load(); c.list[0] = "x" })
	wg.Go(func() { c := cur.Load(); c.list[0] = "y" })
	wg.Wait()
}

func TestRaceSyncMapValue(t *testing.T) {
	var m sync.Map
	m.Store("a", &job{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { v, _ := m.Load("a"); v.(*job).n++ })
	}
	wg.Wait()
}

func TestRaceHTTPHandlerMap(t *testing.T) {
	hits := map[int]int{}
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n++; time.Sleep(time.Millisecond); _ = hits }))
	defer srv.Close()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if r, err := http.Get(srv.URL); err == nil {
				r.Body.Close()
			}
		})
	}
	wg.Wait()
}

func TestRaceGenericCache(t *testing.T) {
	c := cache[int, int]{m: map[int]int{}, fill: func(i int) int { return i }}
	var wg sync.WaitGroup
	wg.Go(func() { c.get(1) })
	wg.Go(func() { c.m[2] = 2 })
	wg.Wait()
}

func TestRaceShardsLen(t *testing.T) {
	var mu sync.Mutex
	m := map[string]int{}
	var wg sync.WaitGroup
	wg.Go(func() { mu.Lock(); m["a"] = 1; mu.Unlock() })
	wg.Go(func() {
		if len(m) > 3 {
			println("many")
		}
	})
	wg.Wait()
}

func TestRaceStringsBuilder(t *testing.T) {
	var b strings.Builder
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { b.WriteString(fmt.Sprint(i)) })
	}
	wg.Wait()
}

func TestRaceSliceAlias(t *testing.T) {
	base := make([]int, 2, 10)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { s := append(base, i); _ = s })
	}
	wg.Wait()
}

func TestRaceSort(t *testing.T) {
	x := []int{3, 2, 1, 5, 4}
	var wg sync.WaitGroup
	wg.Go(func() { sort.Ints(x) })
	wg.Go(func() { _, _ = slices.BinarySearch(x, 3) })
	wg.Wait()
}

func TestRaceBufio(t *testing.T) {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { w.WriteString("abc") })
	}
	wg.Wait()
	w.Flush()
}

func TestRaceJSON(t *testing.T) {
	v := struct{ A, B int }{1, 2}
	var wg sync.WaitGroup
	wg.Go(func() { json.Marshal(&v) })
	wg.Go(func() { json.Unmarshal([]byte(`{"A":5}`), &v) })
	wg.Wait()
}

func TestRaceRandSource(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { r.Intn(10) })
	}
	wg.Wait()
}

func TestRaceParallelShared(t *testing.T) {
	last := ""
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			time.Sleep(time.Millisecond)
			last = name
		})
	}
	_ = last
}

func TestRaceErrgroupErr(t *testing.T) {
	var g errgroup.Group
	var err error
	for i := range 3 {
		g.Go(func() error {
			err = fmt.Errorf("%d", i)
			return err
		})
	}
	g.Wait()
}

func TestRaceSingleflightValue(t *testing.T) {
	var g singleflight.Group
	var wg sync.WaitGroup
	start := make(chan bool)
	for range 3 {
		wg.Go(func() {
			<-start
			v, _, _ := g.Do("k", func() (any, error) { time.Sleep(2 * time.Millisecond); return &job{}, nil })
			v.(*job).n++
		})
	}
	close(start)
	wg.Wait()
}

func TestRaceNamedResult(t *testing.T) {
	f := func() (n int, err error) {
		go func() { n = 3 }()
		time.Sleep(time.Millisecond)
		return n, nil
	}
	f()
}

func TestRaceInterfaceTear(t *testing.T) {
	var e error
	var wg sync.WaitGroup
	wg.Go(func() { e = io.EOF })
	wg.Go(func() {
		if e != nil {
			_ = e.Error()
		}
	})
	wg.Wait()
}

func TestRaceStructCopy(t *testing.T) {
	a := config{list: []string{"a"}}
	var wg sync.WaitGroup
	wg.Go(func() { b := a; _ = b.list; t.Log(len(b.list)) })
	wg.Go(func() { a.list = nil })
	wg.Wait()
}

func TestRaceMixedAtomic(t *testing.T) {
	var n int64
	var wg sync.WaitGroup
	wg.Go(func() { atomic.AddInt64(&n, 1) })
	wg.Go(func() { n = 4 })
	wg.Wait()
}

func TestRaceMapRange(t *testing.T) {
	m := map[int]int{1: 1, 2: 2}
	var mu sync.Mutex
	var wg sync.WaitGroup
	wg.Go(func() {
		for k := range m {
			_ = k
		}
	})
	wg.Go(func() { mu.Lock(); delete(m, 1); mu.Unlock() })
	wg.Wait()
}

func TestRaceChannelOfSlices(t *testing.T) {
	c := make(chan []byte, 1)
	done := make(chan bool)
	buf := make([]byte, 4)
	go func() { b := <-c; b[0]++; close(done) }()
	c <- buf
	buf[0] = 9
	<-done
}
