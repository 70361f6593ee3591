package uses

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unique"
	"weak"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
)

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
