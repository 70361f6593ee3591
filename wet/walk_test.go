package wet_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/mpsim"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// executions returns what a thread executed.
func executions(t *testing.T, g *wet.Graph, th event.ThreadID) (list []wet.Execution) {
	t.Helper()
	for e, err := range g.Forward(th, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// TestWalk checks that steps in both directions return what a walk from the beginning
// returns, and that timestamps and the order of the run agree.
func TestWalk(t *testing.T) {
	for seed := range uint64(6) {
		img, config := randomProgram(t, seed)
		r := record(t, img, 1, evaluate)
		simulate(t, img, config, r)
		g := r.open(t, wet.OpenOptions{Cache: 1 << 14})
		rng := rand.New(rand.NewPCG(seed, 8))
		orders := map[uint64]bool{}
		for _, th := range g.Threads() {
			list := executions(t, g, th.ID)
			last := uint64(0)
			for n, e := range list {
				at, err := g.Time(th.ID, e.Node, e.K)
				if err != nil || at != uint64(n) {
					t.Fatalf("time %d, %v, want %d", at, err, n)
				}
				o := g.Order(th.ID, at)
				if orders[o] || n > 0 && o <= last {
					t.Fatalf("thread %d, time %d: place %d in the run, after %d", th.ID, n, o, last)
				}
				orders[o], last = true, o
			}
			at := rng.IntN(len(list) + 1)
			w, err := g.Walk(th.ID, uint64(at))
			if err != nil {
				t.Fatal(err)
			}
			for range 500 {
				step, next := w.Next, at
				if rng.IntN(2) == 0 {
					step, next = w.Prev, at-1
				}
				e, ok, err := step()
				if err != nil || ok != (next >= 0 && next < len(list)) || ok && e != list[next] {
					t.Fatalf("thread %d at %d: %+v %v %v", th.ID, at, e, ok, err)
				}
				if ok {
					at += 2*(next-at) + 1
				}
			}
		}
		if n := g.Counts().Executions; uint64(len(orders)) != n {
			t.Errorf("%d places in the run for %d executions", len(orders), n)
		}
		if _, err := g.Walk(0, g.Threads()[0].Times+1); !errors.Is(err, wet.ErrNoSuch) {
			t.Errorf("walk beyond the end: %v", err)
		}
	}
}

// TestCutShort cuts a file anywhere. The complete part of the graph must be readable and
// the same.
func TestCutShort(t *testing.T) {
	for seed := uint64(3); ; seed++ {
		img, config := randomProgram(t, seed)
		r := record(t, img, 1, evaluate)
		simulate(t, img, config, r)
		whole := r.open(t, wet.OpenOptions{Evaluate: evaluate})
		file := r.file.Bytes()
		if whole.Counts().Stmts < 3000 {
			continue
		}
		list := executions(t, whole, 0)
		opened := 0
		for cut := len(file); cut > 0; cut -= 1 + len(file)/40 {
			g, err := wet.OpenReaderAt(bytes.NewReader(file[:cut]), int64(cut), wet.OpenOptions{Evaluate: evaluate})
			if err != nil {
				continue
			}
			opened++
			part := executions(t, g, 0)
			if len(part) > len(list) || !slices.Equal(part, list[:len(part)]) {
				t.Fatalf("cut at %d: other executions", cut)
			}
		}
		if opened < 3 {
			t.Errorf("%d of 40 cut files could be opened", opened)
		}
		return
	}
}

// TestSameBytes checks that the bytes depend only on the run.
func TestSameBytes(t *testing.T) {
	img, config := randomProgram(t, 4)
	var files [][]byte
	for range 2 {
		r := record(t, img, 1, evaluate)
		simulate(t, img, config, r)
		r.open(t, wet.OpenOptions{})
		files = append(files, r.file.Bytes())
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two recordings of a run differ")
	}
}

// TestBadBatches checks that batches that contradict the definitions are errors.
func TestBadBatches(t *testing.T) {
	img, _ := randomProgram(t, 0)
	r := record(t, img, 0, nil)
	var seen []event.Block
	var batches []event.Batch
	simulate(t, img, mpsim.Config{MaxInsts: 200}, r, &keep{&seen, &batches})
	for what, change := range map[string]func(b *event.Batch){
		"":                      func(*event.Batch) {},
		"a value less":          func(b *event.Batch) { b.Values = b.Values[:len(b.Values)-1] },
		"a value more":          func(b *event.Batch) { b.Values = append(slices.Clone(b.Values), 1) },
		"an address more":       func(b *event.Batch) { b.Addrs = append(slices.Clone(b.Addrs), 1) },
		"no addresses":          func(b *event.Batch) { b.Addrs = nil },
		"an unknown block":      func(b *event.Batch) { b.Blocks = append(slices.Clone(b.Blocks), 1<<20) },
		"an effect too far":     func(b *event.Batch) { b.Effects = append(slices.Clone(b.Effects), event.Effect{At: 1 << 30}) },
		"a thread out of range": func(b *event.Batch) { b.Thread = 1 << 20 },
	} {
		x := record(t, img, 0, nil)
		err := x.Define(seen)
		for _, b := range batches {
			if change(&b); err == nil {
				err = x.Batch(&b)
			}
		}
		if (err != nil) != (what != "") {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && !errors.Is(x.Finish(event.Outcome{}), err) {
			t.Errorf("%s: the error is forgotten", what)
		}
	}
	if err := record(t, img, 0, nil).Define([]event.Block{{ID: 3}}); err == nil {
		t.Error("a block out of order was taken")
	}
	if _, err := wet.NewBuilder(nil, wet.Options{Program: cfg.New(img)}); err == nil {
		t.Error("a builder without code")
	}
}

// keep records what it observes.
type keep struct {
	blocks  *[]event.Block
	batches *[]event.Batch
}

func (k *keep) WantsValues() bool { return true }

func (k *keep) Define(blocks []event.Block) error {
	*k.blocks = append(*k.blocks, blocks...)
	return nil
}

func (k *keep) Batch(b *event.Batch) error {
	c := *b
	c.Blocks, c.Addrs, c.Values = slices.Clone(b.Blocks), slices.Clone(b.Addrs), slices.Clone(b.Values)
	c.Events, c.Effects = slices.Clone(b.Events), slices.Clone(b.Effects)
	*k.batches = append(*k.batches, c)
	return nil
}

func (k *keep) Finish(event.Outcome) error { return nil }

// TestNoGraph checks the error for a trace without a graph.
func TestNoGraph(t *testing.T) {
	var file bytes.Buffer
	w, err := tracefmt.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := wet.OpenReaderAt(bytes.NewReader(file.Bytes()), int64(file.Len()), wet.OpenOptions{}); !errors.Is(err, wet.ErrNoGraph) {
		t.Errorf("a file without a graph: %v", err)
	}
}

// TestForeignCode checks that the code to which a signal handler returns does not count
// as code of the program, and that statements of unknown code do nothing.
func TestForeignCode(t *testing.T) {
	img, _ := randomProgram(t, 0)
	r := record(t, img, 0, evaluate)
	blocks := []event.Block{
		{ID: 0, PC: 0x3fffffe000, Bytes: 8, Insts: 2, End: event.EndSyscall},
		{ID: 1, PC: 0x100, Bytes: 6, Insts: 2, End: event.EndFall},
	}
	effects := []event.Effect{{At: 1, Kind: event.EffectSyscall}, {At: 1, Kind: event.EffectReg, Reg: 10, Arg: 7}}
	if err := errors.Join(r.Define(blocks), r.Batch(&event.Batch{Blocks: []event.BlockID{0, 1}, Effects: effects}), r.Finish(event.Outcome{})); err != nil {
		t.Fatal(err)
	}
	g := r.open(t, wet.OpenOptions{Evaluate: evaluate})
	e := executions(t, g, 0)
	call := wet.Instance{Node: e[0].Node, Stmt: 1}
	if v, ok, err := g.Value(call); v != 7 || !ok || err != nil {
		t.Errorf("value of the environment call: %d %v %v", v, ok, err)
	}
	for d, err := range g.Deps(call) {
		if want := (wet.Dep{Kind: wet.DepRegister, Reg: 17, From: wet.Instance{Node: e[0].Node}, To: call}); d != want || err != nil {
			t.Errorf("dependence %+v %v, want %+v", d, err, want)
		}
	}
	if err := visit(g, 100); err != nil || len(e) != 2 {
		t.Errorf("%v, %d executions", err, len(e))
	}
}
