package arch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/tracefmt/event"
)

// plainGshare writes the index as digits and keeps counters in a map.
type plainGshare struct {
	bits, history int
	past          string
	counters      map[string]int
}

func (g *plainGshare) branch(pc uint64, taken bool) bool {
	address := fmt.Sprintf("%064b", pc>>1)
	address = address[64-g.bits:]
	past := g.past
	for len(past) < g.history {
		past = "0" + past
	}
	past = past[len(past)-g.history:]
	for len(past) < g.bits {
		past += "0" // combined with the upper bits
	}
	index := ""
	for i := range g.bits {
		if address[i] == past[i] {
			index += "0"
		} else {
			index += "1"
		}
	}
	c, known := g.counters[index]
	if !known {
		c = 1
	}
	right := (c >= 2) == taken
	if taken {
		g.counters[index] = min(c+1, 3)
		g.past += "1"
	} else {
		g.counters[index] = max(c-1, 0)
		g.past += "0"
	}
	return right
}

func TestPredictorAgainstPlain(t *testing.T) {
	for _, shape := range [][2]int{{4096, 12}, {4096, 4}, {256, 8}, {16, -1}, {2, 1}} {
		c := Config{Table: shape[0], HistoryBits: shape[1]}.Filled()
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		p := newPredictor(&c)
		bits := 0
		for 1<<bits < c.Table {
			bits++
		}
		g := &plainGshare{bits: bits, history: c.HistoryBits, counters: map[string]int{}}
		rng := rand.New(rand.NewPCG(1, uint64(c.Table)))
		for i := range 3000 {
			pc, taken := 0x10000+2*rng.Uint64N(40), rng.IntN(3) > 0
			if rng.IntN(2) == 0 {
				pc, taken = 0x10040, i%5 != 0
			}
			if p.branch(pc, taken) != g.branch(pc, taken) {
				t.Fatalf("%+v: branch %d differs", shape, i)
			}
			g.past = g.past[max(0, len(g.past)-64):]
		}
	}
}

// TestBranchOutcomes checks that outcomes are determined from the order of blocks.
func TestBranchOutcomes(t *testing.T) {
	log := bitLog{}
	m, err := New(Config{History: log})
	if err != nil {
		t.Fatal(err)
	}
	loop := event.Block{ID: 0, PC: 0x100, Bytes: 8, Insts: 2, End: event.EndBranch, Target: 0x100}
	after := event.Block{ID: 1, PC: 0x108, Bytes: 4, Insts: 1}
	handler := event.Block{ID: 2, PC: 0x900, Bytes: 4, Insts: 1}
	if err := m.Define([]event.Block{loop, after, handler}); err != nil {
		t.Fatal(err)
	}
	play := func(th event.ThreadID, blocks ...event.BlockID) {
		if err := m.Batch(&event.Batch{Thread: th, Blocks: blocks}); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 { // taken 9 times, then not; another thread runs in between
		play(0, 0, 0, 0, 0)
		play(1, 1, 2)
		play(0, 0, 0, 0, 0, 0, 0, 1)
	}
	play(0, 0, 2) // a signal
	play(0, 0)    // the end of the run
	if err := m.Finish(event.Outcome{}); err != nil {
		t.Fatal(err)
	}
	k := m.Result(0).Harts[0]
	if k.Branches != 2001 || k.Unresolved != 1 || len(log[0][Branches]) != 2001 {
		t.Errorf("%d branches, %d unresolved, %d bits; want 2001, 1, 2001", k.Branches, k.Unresolved, len(log[0][Branches]))
	}
	// Ten outcomes repeat, fewer than the history holds, so the predictor learns all of
	// them.
	late := 0
	for _, missed := range log[0][Branches][1000:] {
		if missed {
			late++
		}
	}
	if late != 0 || k.Mispredicted == 0 {
		t.Errorf("%d mispredictions once learnt, %d in all", late, k.Mispredicted)
	}
	if log[1] != nil && len(log[1][Branches]) != 0 {
		t.Error("a thread without branches has history bits for them")
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{
		{Line: 8}, {Line: 48}, {Line: 512}, {Size: -1}, {Size: 1000}, {Ways: -1}, {Ways: 3}, {Size: 1 << 30}, {Size: 32, Ways: 1},
		{Table: 3}, {Table: 1 << 24}, {Table: -4}, {Table: 16, HistoryBits: 5},
	} {
		if _, err := New(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	m, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Config{Size: 32 << 10, Ways: 8, Line: 64, Table: 4096, HistoryBits: 12}); m.Config() != want {
		t.Errorf("defaults: %+v", m.Config())
	}
	if m, err := New(Config{Table: 16}); err != nil || m.Config().HistoryBits != 4 {
		t.Errorf("a small predictor: %v", err)
	}
}

// TestBadBatches passes the model batches that no machine sends.
func TestBadBatches(t *testing.T) {
	p := newPlayer(t, Config{})
	for name, b := range map[string]event.Batch{
		"no such block":      {Blocks: []event.BlockID{99}},
		"too few addresses":  {Blocks: []event.BlockID{0}},
		"too many addresses": {Addrs: []uint64{1}},
		"event out of place": {Events: []event.Event{{At: 3}}},
		"no such thread":     {Thread: 1 << 20},
	} {
		if err := p.m.Batch(&b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := p.m.Define([]event.Block{{ID: 50}}); err == nil {
		t.Error("block out of order: no error")
	}
}

// BenchmarkModel simulates accesses: hits of one hart, and two harts that share.
func BenchmarkModel(b *testing.B) {
	for name, harts := range map[string]int{"private": 1, "shared": 2} {
		b.Run("lines="+name, func(b *testing.B) {
			m, err := New(Config{History: bitLog{}})
			if err != nil {
				b.Fatal(err)
			}
			block := event.Block{PC: 0x100, Bytes: 4, Insts: 1, Sites: []event.Site{{PC: 0x100, Size: 8, Access: event.Write}}}
			if err := m.Define([]event.Block{block}); err != nil {
				b.Fatal(err)
			}
			batch := event.Batch{Blocks: make([]event.BlockID, 1000), Addrs: make([]uint64, 1000)}
			for i := range batch.Addrs {
				batch.Addrs[i] = 0x10000 + 8*uint64(i)
			}
			m.cfg.History = nil
			n := 0
			for b.Loop() {
				batch.Thread = event.ThreadID(n % harts)
				n++
				if err := m.Batch(&batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*1000), "ns/access")
			b.ReportMetric(0, "ns/op")
		})
	}
}
