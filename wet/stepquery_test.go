package wet_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"

	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/wet"
)

// TestSteppingQueries asks for the control flow, and for the times, values and addresses
// of every statement in order, forward and backward, of a graph that reads long sequences
// by cursors. It compares the answers with those of a graph that decodes them whole.
func TestSteppingQueries(t *testing.T) {
	for _, budget := range []uint64{1 << 30, 256 << 10} {
		t.Run(fmt.Sprintf("budget=%d", budget), func(t *testing.T) { steppingQueries(t, budget) })
	}
}

func steppingQueries(t *testing.T, budget uint64) {
	file := recordExample(t, "sort", budget, 800000, "-n", "2000")
	whole, steps := openGraph(t, file), openGraph(t, file)
	steps.Stepping(true)
	long := 0
	for _, th := range whole.Threads() {
		sameFlow(t, whole, steps, th)
		for n := range whole.NumNodes() {
			node, count := wet.NodeID(n), whole.Executions(th.ID, wet.NodeID(n))
			if count < wet.StepFrom {
				continue
			}
			long++
			for stmt := range whole.Node(node).Stmts {
				sameInOrder(t, whole, steps, wet.Instance{Thread: th.ID, Node: node, Stmt: uint32(stmt)}, count)
			}
		}
	}
	if long == 0 {
		t.Fatal("no node was executed often enough")
	}
	a, b := wet.Held(whole), wet.Held(steps)
	t.Logf("%d nodes; %d bytes decoded whole, %d by cursors", long, a, b)
	if b >= a {
		t.Errorf("cursors hold %d bytes, sequences decoded whole %d", b, a)
	}
}

// recordExample records the beginning of an example's run.
func recordExample(t *testing.T, name string, budget, insts uint64, args ...string) []byte {
	t.Helper()
	img := cross.Image(t, name)
	r := record(t, img, budget, evaluate)
	simulate(t, img, mpsim.Config{Args: append([]string{name}, args...), MaxInsts: insts, Seed: 3}, r)
	return r.file.Bytes()
}

func openGraph(t *testing.T, file []byte) *wet.Graph {
	t.Helper()
	g, err := wet.OpenReaderAt(bytes.NewReader(file), int64(len(file)), wet.OpenOptions{Evaluate: evaluate})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sameFlow walks along a thread forward, backward, and a little from many places.
func sameFlow(t *testing.T, whole, steps *wet.Graph, th wet.Thread) {
	t.Helper()
	same := func(begin uint64, limit int, walk func(g *wet.Graph) iter.Seq2[wet.Execution, error]) {
		t.Helper()
		next, stop := iter.Pull2(walk(whole))
		defer stop()
		n := 0
		for e, err := range walk(steps) {
			want, err2, ok := next()
			if err != nil || err2 != nil || !ok || e != want {
				t.Fatalf("thread %d, from %d: %v %v, by cursors %v %v", th.ID, begin, want, err2, e, err)
			}
			if n++; n == limit {
				return
			}
		}
		if _, _, more := next(); more {
			t.Fatalf("thread %d, from %d: cursors end after %d executions", th.ID, begin, n)
		}
	}
	forward := func(from uint64) func(*wet.Graph) iter.Seq2[wet.Execution, error] {
		return func(g *wet.Graph) iter.Seq2[wet.Execution, error] { return g.Forward(th.ID, from) }
	}
	backward := func(from uint64) func(*wet.Graph) iter.Seq2[wet.Execution, error] {
		return func(g *wet.Graph) iter.Seq2[wet.Execution, error] { return g.Backward(th.ID, from) }
	}
	if th.Times == 0 {
		return
	}
	same(0, 0, forward(0))
	same(th.Times-1, 0, backward(th.Times-1))
	rng := rand.New(rand.NewPCG(uint64(th.ID), 4))
	for range 8 {
		at := rng.Uint64N(th.Times)
		same(at, 50, forward(at))
		same(at, 50, backward(at))
	}
}

// TestSteppingMemory: a query that steps through a run holds the compressed lists and no
// decoded ones. For a run that is sixteen times as long, live memory grows by some bits
// for each execution, where lists that are decoded whole take 12 bytes for the control
// flow alone.
func TestSteppingMemory(t *testing.T) {
	queries := map[string]func(g *wet.Graph) iter.Seq[error]{
		"cf":          func(g *wet.Graph) iter.Seq[error] { return walked(g.Forward(0, 0)) },
		"cf backward": func(g *wet.Graph) iter.Seq[error] { return walked(g.Backward(0, g.Threads()[0].Times-1)) },
		"values":      func(g *wet.Graph) iter.Seq[error] { return asked(g, false) },
		"addrs":       func(g *wet.Graph) iter.Seq[error] { return asked(g, true) },
	}
	const short = 1 << 18
	files := [2][]byte{recordExample(t, "sort", 1<<30, short, "-n", "200000"), recordExample(t, "sort", 1<<30, 16*short, "-n", "200000")}
	for name, query := range queries {
		t.Run(name, func(t *testing.T) {
			var took [2]uint64
			var executions [2]uint64
			for i, file := range files {
				before := live()
				g := openGraph(t, file)
				g.Stepping(true)
				executions[i] = g.Threads()[0].Times
				n, every := uint64(0), executions[i]/3
				for err := range query(g) {
					if err != nil {
						t.Fatal(err)
					}
					if n++; n%every == 0 {
						took[i] = max(took[i], live()-min(before, live()))
					}
				}
				if n < executions[i]/4 {
					t.Fatalf("%d answers of %d executions", n, executions[i])
				}
				runtime.KeepAlive(g)
			}
			bits := 8 * float64(int64(took[1]-took[0])) / float64(executions[1]-executions[0])
			t.Logf("%d bytes for %d executions, %d for %d: %.1f bits each", took[0], executions[0], took[1], executions[1], bits)
			if bits > 32 {
				t.Errorf("an execution takes %.1f bits of memory", bits)
			}
		})
	}
}

// live returns the bytes of live memory.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func walked(list iter.Seq2[wet.Execution, error]) iter.Seq[error] {
	return func(yield func(error) bool) {
		for _, err := range list {
			if !yield(err) {
				return
			}
		}
	}
}

// asked asks for the times and the values, or the addresses, of the most frequently
// executed node, execution by execution.
func asked(g *wet.Graph, addrs bool) iter.Seq[error] {
	node := wet.NodeID(0)
	for n := range g.NumNodes() {
		if g.Executions(0, wet.NodeID(n)) > g.Executions(0, node) {
			node = wet.NodeID(n)
		}
	}
	return func(yield func(error) bool) {
		for k := range g.Executions(0, node) {
			_, err := g.Time(0, node, k)
			for s := range g.Node(node).Stmts {
				i := wet.Instance{Node: node, Stmt: uint32(s), K: k}
				if err != nil {
					break
				}
				if addrs {
					_, _, _, err = g.Addr(i)
				} else {
					_, _, err = g.Value(i)
				}
			}
			if !yield(err) {
				return
			}
		}
	}
}

func sameInOrder(t *testing.T, whole, steps *wet.Graph, i wet.Instance, count uint64) {
	t.Helper()
	const every = 3 // of the executions, on the way back
	for x := range count + count/every {
		i.K = x
		if x >= count {
			i.K = count - 1 - (x-count)*every
		}
		time, err := whole.Time(i.Thread, i.Node, i.K)
		at, err2 := steps.Time(i.Thread, i.Node, i.K)
		if err != nil || err2 != nil || time != at {
			t.Fatalf("time of %v: %d %v, by cursors %d %v", i, time, err, at, err2)
		}
		v, ok, err := whole.Value(i)
		w, also, err2 := steps.Value(i)
		if err != nil || err2 != nil || v != w || ok != also {
			t.Fatalf("value of %v: %d %v %v, by cursors %d %v %v", i, v, ok, err, w, also, err2)
		}
		a, size, ok, err := whole.Addr(i)
		b, also2, ok2, err2 := steps.Addr(i)
		if err != nil || err2 != nil || a != b || size != also2 || ok != ok2 {
			t.Fatalf("address of %v: %#x %d %v %v, by cursors %#x %d %v %v", i, a, size, ok, err, b, also2, ok2, err2)
		}
	}
}
