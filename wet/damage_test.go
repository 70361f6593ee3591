package wet_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"hindsight/tracefmt"
	"hindsight/wet"
)

// blocksOf returns the payloads of a graph's file.
func blocksOf(t testing.TB, file []byte) (blocks []wet.Block) {
	t.Helper()
	r, err := tracefmt.NewReader(bytes.NewReader(file), int64(len(file)), tracefmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Blocks() {
		payload, err := r.Read(h)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, wet.Block{Kind: h.Kind, Thread: h.Thread, Payload: payload})
	}
	return blocks
}

// sound writes payloads to a file with correct checksums.
func sound(t testing.TB, blocks []wet.Block) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := tracefmt.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if err := w.Append(b.Kind, b.Thread, b.Payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// visit asks a graph for some of everything. It returns the first error.
func visit(g *wet.Graph, limit int) (first error) {
	note := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	for _, th := range g.Threads() {
		if th.Times > 1<<16 {
			continue // a run of that length needs few bytes, but much time
		}
		left := limit
		for e, err := range g.Backward(th.ID, th.Times) {
			if note(err); err != nil || left <= 0 {
				break
			}
			for s := range g.Node(e.Node).Stmts {
				left--
				i := wet.Instance{Thread: th.ID, Node: e.Node, Stmt: uint32(s), K: e.K}
				_, _, err := g.Value(i)
				note(err)
				_, _, _, err = g.Addr(i)
				note(err)
				for _, err := range g.Deps(i) {
					note(err)
				}
				some := 100
				for _, err := range g.Users(i) {
					note(err)
					if some--; some == 0 {
						break
					}
				}
				_, err = g.Time(th.ID, e.Node, e.K)
				note(err)
				g.Order(th.ID, e.Time)
			}
		}
	}
	return first
}

// TestDamage checks that a reader returns errors and does not panic, whatever the blocks
// contain, and that a changed checksum is noticed.
func TestDamage(t *testing.T) {
	img, config := randomProgram(t, 1)
	rec := record(t, img, 1, evaluate)
	simulate(t, img, config, rec)
	rec.open(t, wet.OpenOptions{})
	file := rec.file.Bytes()
	blocks := blocksOf(t, file)
	rng := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for range 60 {
		bad := slices.Clone(blocks)
		b := &bad[rng.IntN(len(bad))]
		b.Payload = slices.Clone(b.Payload)
		for range 1 + rng.IntN(3) {
			b.Payload[rng.IntN(len(b.Payload))] ^= 1 << rng.IntN(8)
		}
		again := sound(t, bad)
		g, err := wet.OpenReaderAt(bytes.NewReader(again), int64(len(again)), wet.OpenOptions{Evaluate: evaluate, Cache: 1 << 20})
		if err == nil {
			err = visit(g, 2000)
		}
		if err != nil {
			refused++
		}
		g, err = wet.OpenReaderAt(bytes.NewReader(again), int64(len(again)), wet.OpenOptions{Evaluate: evaluate, Cache: 1 << 20})
		if err == nil {
			wet.StepShort(g)
			_ = visit(g, 400)
		}
	}
	if refused < 15 {
		t.Errorf("only %d of 60 damaged files were refused", refused)
	}
	for range 20 {
		bad := slices.Clone(file)
		bad[rng.IntN(len(bad))] ^= 4
		g, err := wet.OpenReaderAt(bytes.NewReader(bad), int64(len(bad)), wet.OpenOptions{Evaluate: evaluate})
		if err == nil {
			_ = visit(g, 500)
		}
	}
	g, err := wet.OpenReaderAt(bytes.NewReader(file), int64(len(file)), wet.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := visit(g, 2000); !errors.Is(err, wet.ErrEvaluator) {
		t.Errorf("values without an evaluator: %v", err)
	}
}

// FuzzOpen checks that a file with any tables and labels leads to errors, not to a panic,
// in bounded memory.
func FuzzOpen(f *testing.F) {
	once := sync.OnceValue(func() []wet.Block {
		img, config := randomProgram(f, 5)
		rec := record(f, img, 0, evaluate)
		simulate(f, img, config, rec)
		rec.open(f, wet.OpenOptions{})
		return blocksOf(f, rec.file.Bytes())
	})
	for _, b := range once() {
		f.Add(b.Payload, b.Kind == tracefmt.KindWetTables)
	}
	f.Fuzz(func(t *testing.T, payload []byte, tables bool) {
		kind := tracefmt.KindWetLabels
		if tables {
			kind = tracefmt.KindWetTables
		}
		blocks := slices.Clone(once())
		for i := range blocks {
			if blocks[i].Kind == kind {
				blocks[i].Payload = payload
			}
		}
		file := sound(t, blocks)
		g, err := wet.OpenReaderAt(bytes.NewReader(file), int64(len(file)), wet.OpenOptions{Evaluate: evaluate, Cache: 1 << 20})
		if err == nil {
			_ = visit(g, 300)
			wet.StepShort(g)
			_ = visit(g, 300)
		}
	})
}
