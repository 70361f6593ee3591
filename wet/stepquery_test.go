package wet_test

import (
	"bytes"
	"testing"

	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/wet"
)

// TestSteppingQueries asks for the values and addresses of every statement in
// order, forward and back, of a graph that reads long sequences by cursors, and
// holds them against those of one that decodes them whole.
func TestSteppingQueries(t *testing.T) {
	elf, err := examples.ELF("sort")
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	r := record(t, img, 1<<30, evaluate)
	simulate(t, img, mpsim.Config{Args: []string{"sort", "-n", "2000"}, MaxInsts: 800000, Seed: 3}, r)
	whole := r.open(t, wet.OpenOptions{Evaluate: evaluate})
	steps, err := wet.OpenReaderAt(bytes.NewReader(r.file.Bytes()), int64(r.file.Len()), wet.OpenOptions{Evaluate: evaluate})
	if err != nil {
		t.Fatal(err)
	}
	steps.Stepping(true)
	long := 0
	for _, th := range whole.Threads() {
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

func sameInOrder(t *testing.T, whole, steps *wet.Graph, i wet.Instance, count uint64) {
	t.Helper()
	const every = 3 // of the executions, on the way back
	for x := range count + count/every {
		i.K = x
		if x >= count {
			i.K = count - 1 - (x-count)*every
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
