package mpsim_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// follower reconstructs the registers and the memory of a run only from what it receives,
// and compares addresses, branches and loaded values with them.
type follower struct {
	t       *testing.T
	img     *image.Space
	blocks  []followed
	harts   map[event.ThreadID]*[64]uint64
	expects map[event.ThreadID]uint64 // where a thread continues; 0: not known
	memory  map[uint64]int            // content of a byte; -1: not known
	wrong   int
	loads   int
	effects map[event.EffectKind]int
}

type followed struct {
	event.Block
	insts []rv.Inst
}

func (f *follower) WantsValues() bool { return true }

func (f *follower) fail(format string, args ...any) {
	if f.wrong++; f.wrong < 12 {
		f.t.Errorf(format, args...)
	}
}

func (f *follower) Define(blocks []event.Block) error {
	for _, b := range blocks {
		code := rv.Scan(b.PC, func(addr uint64) (uint16, bool) {
			c := f.img.Code(addr, 2)
			if len(c) < 2 {
				return 0, false
			}
			return uint16(c[0]) | uint16(c[1])<<8, true
		}, int(b.Insts))
		f.blocks = append(f.blocks, followed{b, code.Insts})
	}
	return nil
}

func (f *follower) Batch(b *event.Batch) error {
	x := f.harts[b.Thread]
	if x == nil {
		x = new([64]uint64)
		f.harts[b.Thread] = x
	}
	effects, values, addrs := b.Effects, b.Values, b.Addrs
	for n := 0; n <= len(b.Blocks); n++ {
		for len(effects) > 0 && int(effects[0].At) == n {
			f.effect(b.Thread, x, effects[0])
			effects = effects[1:]
		}
		if n == len(b.Blocks) {
			break
		}
		block := &f.blocks[b.Blocks[n]]
		count := rv.Values(block.insts, block.End)
		if len(values) < count || len(addrs) < len(block.Sites) {
			f.t.Fatalf("block at %#x: %d values and %d addresses are left", block.PC, len(values), len(addrs))
		}
		f.block(b.Thread, x, block, values[:count], addrs[:len(block.Sites)])
		values, addrs = values[count:], addrs[len(block.Sites):]
	}
	if len(values)+len(addrs)+len(effects) != 0 {
		f.fail("%d values, %d addresses and %d effects are left over", len(values), len(addrs), len(effects))
	}
	return nil
}

func (f *follower) Finish(event.Outcome) error { return nil }

func (f *follower) effect(th event.ThreadID, x *[64]uint64, e event.Effect) {
	f.effects[e.Kind]++
	switch e.Kind {
	case event.EffectReg:
		x[e.Reg] = e.Arg
	case event.EffectSignal:
		delete(f.expects, th)
	case event.EffectCall:
		// The function's own jumps are not reported; it returns or is left.
		f.expects[th] = x[1]
		if e.Addr == 0 || e.PC == 0 {
			f.fail("a call from %#x of %#x", e.PC, e.Addr)
		}
	case event.EffectFresh, event.EffectWrote:
		for n := range min(e.Arg, 1<<24) {
			f.memory[e.Addr+n] = -1
		}
	}
}

func (f *follower) block(th event.ThreadID, x *[64]uint64, b *followed, values, addrs []uint64) {
	if want := f.expects[th]; want != 0 && want != b.PC {
		if _, hooked := f.img.Func(want); !hooked {
			f.fail("T%d goes on at %#x, want %#x", th, b.PC, want)
		}
	}
	delete(f.expects, th)
	pc := b.PC
	for n, i := range b.insts {
		last := n == len(b.insts)-1
		access, size, plain := i.Mem()
		var addr uint64
		atomic := last && b.End == event.EndAtomic
		switch {
		case atomic:
			addr, values = values[0], values[1:]
			if !plain {
				size = i.AtomicSize()
			}
		case plain:
			addr, addrs = addrs[0], addrs[1:]
		}
		if plain || atomic {
			if want := x[i.Rs1] + uint64(int64(i.Imm)); addr != want {
				f.fail("T%d at %#x %v accesses %#x, by its registers %#x", th, pc, i.Op, addr, want)
			}
		}
		if last {
			f.leave(th, x, b, i, pc)
		}
		f.step(x, i, pc, addr, size, access, plain, atomic, &values)
		pc += uint64(i.Len)
	}
}

// leave predicts where a block goes.
func (f *follower) leave(th event.ThreadID, x *[64]uint64, b *followed, i rv.Inst, _ uint64) {
	a, c := x[i.Rs1], x[i.Rs2]
	var taken bool
	switch i.Op {
	case rv.OpBEQ:
		taken = a == c
	case rv.OpBNE:
		taken = a != c
	case rv.OpBLT:
		taken = int64(a) < int64(c)
	case rv.OpBGE:
		taken = int64(a) >= int64(c)
	case rv.OpBLTU:
		taken = a < c
	case rv.OpBGEU:
		taken = a >= c
	case rv.OpJAL:
		taken = true
	case rv.OpJALR:
		f.expects[th] = (a + uint64(int64(i.Imm))) &^ 1
		return
	default:
		return
	}
	f.expects[th] = b.Next()
	if taken {
		f.expects[th] = b.Target
	}
}

// step applies the result of an instruction and its effect on memory.
func (f *follower) step(x *[64]uint64, i rv.Inst, pc, addr uint64, size uint8, access event.Access, plain, atomic bool, values *[]uint64) {
	stores := plain && access == event.Write
	data := x[i.Rs2]
	if i.Op == rv.OpFSW || i.Op == rv.OpFSD {
		data = x[32+i.Rs2]
	}
	if atomic && (i.Op == rv.OpSCW || i.Op == rv.OpSCD) {
		v := (*values)[0]
		*values = (*values)[1:]
		if i.Rd != 0 {
			x[i.Rd] = v
		}
		stores = v == 0
	} else if i.Valued() {
		v := (*values)[0]
		*values = (*values)[1:]
		if plain && access == event.Read {
			f.loaded(pc, addr, size, v)
		}
		if i.Defs().Regs >= 1<<32 {
			x[32+i.Rd] = v
		} else {
			x[i.Rd] = v
		}
	} else if v, ok := i.Static(pc); ok {
		x[i.Rd] = v
	}
	if stores {
		for n := range uint64(size) {
			f.memory[addr+n] = int(data >> (8 * n) & 0xff)
		}
	} else if atomic && !plain && i.Op != rv.OpLRW && i.Op != rv.OpLRD {
		for n := range uint64(size) {
			f.memory[addr+n] = -1
		}
	}
}

// loaded compares a value with memory.
func (f *follower) loaded(pc, addr uint64, size uint8, v uint64) {
	f.loads++
	for n := range uint64(size) {
		if want, known := f.memory[addr+n]; known && want >= 0 && byte(want) != byte(v>>(8*n)) {
			f.fail("at %#x byte %d of %#x is %#x, want %#x", pc, n, addr, byte(v>>(8*n)), want)
			return
		}
	}
}

// TestValues checks that registers and memory, as reconstructed from values and effects,
// explain every address, branch and load of the run.
func TestValues(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no programs", err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			img := build(t, filepath.Base(source), "-O1")
			f := &follower{t: t, img: img, harts: map[event.ThreadID]*[64]uint64{}, expects: map[event.ThreadID]uint64{},
				memory: map[uint64]int{}, effects: map[event.EffectKind]int{}}
			var statuses [2]int
			for n, observer := range []event.Observer{nil, f} {
				cfg := mpsim.Config{Image: img, Args: []string{"program", "argument"}, Stdin: strings.NewReader("1 2 3\n"),
					Policy: mpsim.Random, Seed: 3, Quantum: 700, Observer: observer}
				cfg.Hooks, cfg.HookAt = hook.New(img)
				m, err := mpsim.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				res, err := m.Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				statuses[n] = res.Status
			}
			if statuses[0] != statuses[1] {
				t.Errorf("status %d with values, %d without", statuses[1], statuses[0])
			}
			t.Log(fmt.Sprint(f.loads, " loads, effects ", f.effects))
		})
	}
}
