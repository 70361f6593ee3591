package written

import (
	"context"
	"io"
	"math"
	"testing"

	"hindsight/analyze/artifact"
	"hindsight/cdr/format"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// reader compares what an Observer knows of memory with what the run loads.
type reader struct {
	*Observer
	t       *testing.T
	loads   [][]loaded // by block: those before its first store
	checked int
	wrong   int
}

type loaded struct {
	site, value int
	inst        rv.Inst
}

func (r *reader) Define(blocks []event.Block) error {
	for n := range blocks {
		b := &blocks[n]
		code := rv.Scan(b.PC, func(addr uint64) (uint16, bool) {
			c := r.img.Code(addr, 2)
			if len(c) < 2 {
				return 0, false
			}
			return uint16(c[0]) | uint16(c[1])<<8, true
		}, int(b.Insts))
		var loads []loaded
		site := 0
		for k, i := range code.Insts {
			access, _, plain := i.Mem()
			if k == len(code.Insts)-1 && b.End == event.EndAtomic || plain && access == event.Write {
				break
			}
			if plain {
				if i.Valued() {
					loads = append(loads, loaded{site, rv.Values(code.Insts[:k], event.EndFall), i})
				}
				site++
			}
		}
		r.loads = append(r.loads, loads)
	}
	return r.Observer.Define(blocks)
}

// Batch passes the batch on block by block, and examines the loads in between.
func (r *reader) Batch(b *event.Batch) error {
	effects, values, addrs := b.Effects, b.Values, b.Addrs
	for n := 0; n <= len(b.Blocks); n++ {
		one := event.Batch{Thread: b.Thread}
		if n == len(b.Blocks) {
			one.Insts = b.Insts
		}
		for len(effects) > 0 && int(effects[0].At) <= n {
			e := effects[0]
			e.At, effects = 0, effects[1:]
			one.Effects = append(one.Effects, e)
		}
		if err := r.Observer.Batch(&one); err != nil || n == len(b.Blocks) {
			return err
		}
		id := b.Blocks[n]
		for _, l := range r.loads[id] {
			r.check(l.inst, addrs[l.site], values[l.value])
		}
		x := &r.blocks[id]
		one = event.Batch{Thread: b.Thread, Blocks: b.Blocks[n : n+1], Values: values[:x.values], Addrs: addrs[:x.sites]}
		values, addrs = values[x.values:], addrs[x.sites:]
		if err := r.Observer.Batch(&one); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) check(i rv.Inst, addr, got uint64) {
	_, size, _ := i.Mem()
	var want uint64
	for k := range uint64(size) {
		p := r.memory.pages[(addr+k)/pageBytes]
		if p == nil || !p.known[(addr+k)%pageBytes] {
			return
		}
		want |= uint64(p.data[(addr+k)%pageBytes]) << (8 * k)
	}
	switch i.Op {
	case rv.OpLB:
		want = uint64(int64(int8(want)))
	case rv.OpLH:
		want = uint64(int64(int16(want)))
	case rv.OpLW:
		want = uint64(int64(int32(want)))
	case rv.OpFLW:
		want |= math.MaxUint32 << 32
	}
	r.checked++
	if got != want {
		if r.wrong++; r.wrong < 10 {
			r.t.Errorf("%v at %#x loads %#x, memory has %#x", i.Op, addr, got, want)
		}
	}
}

// TestMemory checks that the known contents of memory agree with what the run's loads
// return, and that most of it is known.
func TestMemory(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
	}{{"bank", []string{"3", "50"}}, {"fft", []string{"-p", "2", "-n", "64"}}, {"race_memcpy", nil}, {"water", []string{"-p", "2", "-n", "8"}}, {"interpreter", nil}} {
		t.Run(tt.name, func(t *testing.T) {
			img := cross.Image(t, tt.name)
			pages := map[uint64]bool{}
			for _, s := range img.Main.Segments {
				for p := s.Addr / pageBytes; p <= (s.Addr+s.MemSize)/pageBytes; p++ {
					pages[p] = true
				}
			}
			r := &reader{Observer: New(img, nil, nil, pages, nil), t: t}
			hooks, at := hook.New(img)
			m, err := mpsim.New(mpsim.Config{Image: img, Args: append([]string{tt.name}, tt.args...), Seed: 1, Stdout: io.Discard, Stderr: io.Discard,
				Observer: r, Hooks: hooks, HookAt: at, Quantum: 500})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d loads", r.checked)
			if r.checked < 300 {
				t.Error("too few loads of known memory")
			}
		})
	}
}

// TestSaw tests the rule for what makes no difference.
func TestSaw(t *testing.T) {
	type write struct{ addr, value, before uint64 }
	for _, tt := range []struct {
		name   string
		both   bool
		writes []write
		same   bool
		one    bool
	}{
		{"none", true, nil, false, false},
		{"equal", true, []write{{8, 1, 0}, {8, 1, 1}}, true, true},
		{"equal, one side reads", false, []write{{8, 1, 0}, {8, 1, 1}}, false, true},
		{"unchanged, one side reads", false, []write{{8, 1, 1}, {8, 1, 1}}, true, true},
		{"equal at each address", true, []write{{8, 1, 0}, {16, 2, 0}, {8, 1, 1}, {16, 2, 2}}, true, false},
		{"different", true, []write{{8, 1, 0}, {8, 2, 1}}, false, false},
		{"different later", true, []write{{8, 1, 0}, {8, 1, 1}, {8, 1, 1}, {8, 3, 1}}, false, false},
		{"unchanged", true, []write{{8, 1, 1}, {16, 2, 2}}, true, false},
	} {
		q := query{}
		if tt.both {
			q.at = map[uint64]uint64{}
		}
		for _, w := range tt.writes {
			q.saw(w.addr, 8, w.value, w.value == w.before)
		}
		o := &Observer{queries: []query{q}}
		if s := o.Seen()[0]; s.Same() != tt.same || s.One != tt.one || s.Writes != uint64(len(tt.writes)) {
			t.Errorf("%s: %+v", tt.name, s)
		}
	}
}

// TestBadBatches checks that bad batches are rejected.
func TestBadBatches(t *testing.T) {
	img := cross.Image(t, "bank")
	entry := event.Block{PC: img.Main.Entry, Bytes: 2, Insts: 1, Sites: []event.Site{{PC: img.Main.Entry, Size: 8}}}
	outside := event.Block{ID: 1, PC: 0x10, Bytes: 4, Insts: 1}
	o := New(img, func(format.SiteID) format.Site { return format.Site{} }, []artifact.Writes{{Sites: []format.SiteID{1}}}, nil, nil)
	if err := o.Define([]event.Block{entry, outside}); err != nil {
		t.Fatal(err)
	}
	for id := range event.BlockID(3) {
		if o.Batch(&event.Batch{Blocks: []event.BlockID{id}}) == nil {
			t.Errorf("block %d is taken", id)
		}
	}
}
