package session

import (
	"fmt"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Window is a part of a run. From and To count the instructions that all threads together
// have executed. To 0 means the end of the run.
type Window struct{ From, To uint64 }

// windowed passes the part of a run given by a [Window] to an observer, in whole batches.
// Before that part, it keeps track of the registers with which each thread will begin.
type windowed struct {
	Window
	to      event.Observer
	img     *image.Space
	at      uint64 // number of instructions so far
	blocks  []windowBlock
	threads map[event.ThreadID]*windowThread
}

type windowBlock struct {
	sites  int
	values int
	insts  []windowInst // those that leave a result in a register
}

// windowInst is the effect of an instruction on a register.
type windowInst struct {
	reg   uint8  // as in rv.RegSet; 0: none, and the value is skipped
	value uint64 // if it is known without a recorded value
	told  bool   // the value is the next one of the batch

	sets rv.Inst // sets the rounding mode before it sets the register; Len 0: no instruction
}

type windowThread struct {
	regs     [64]uint64
	rounding uint8 // rounding mode; 0 is to nearest
	inside   bool
}

func newWindow(part Window, img *image.Space, to event.Observer) *windowed {
	return &windowed{Window: part, to: to, img: img, threads: map[event.ThreadID]*windowThread{}}
}

// WantsValues implements [event.ValueObserver].
func (w *windowed) WantsValues() bool { return true }

// Define implements [event.Observer].
func (w *windowed) Define(blocks []event.Block) error {
	for i := range blocks {
		w.blocks = append(w.blocks, w.scan(&blocks[i]))
	}
	return w.to.Define(blocks)
}

func (w *windowed) scan(b *event.Block) windowBlock {
	code := rv.Scan(b.PC, func(addr uint64) (uint16, bool) {
		c := w.img.Code(addr, 2)
		if len(c) < 2 {
			return 0, false
		}
		return uint16(c[0]) | uint16(c[1])<<8, true
	}, int(b.Insts))
	out := windowBlock{sites: len(b.Sites)}
	pc := b.PC
	for n, i := range code.Insts {
		addr, told := i.Told(n == len(code.Insts)-1 && b.End == event.EndAtomic)
		if addr {
			out.insts = append(out.insts, windowInst{told: true})
		}
		reg := i.Rd
		if i.Defs().Regs >= 1<<32 {
			reg += rv.RegF
		}
		var sets rv.Inst
		if i.Rounds() {
			sets = i
		}
		if told {
			out.insts = append(out.insts, windowInst{reg: reg, told: true, sets: sets})
		} else if sets.Len != 0 {
			out.insts = append(out.insts, windowInst{sets: sets})
		} else if v, ok := i.Static(pc); ok && i.Rd != 0 {
			out.insts = append(out.insts, windowInst{reg: reg, value: v})
		}
		pc += uint64(i.Len)
	}
	for _, i := range out.insts {
		if i.told {
			out.values++
		}
	}
	return out
}

// Batch implements [event.Observer].
func (w *windowed) Batch(b *event.Batch) error {
	t := w.threads[b.Thread]
	if t == nil {
		t = &windowThread{}
		w.threads[b.Thread] = t
	}
	began := w.at
	w.at += b.Insts
	if w.To > 0 && began >= w.To {
		return nil
	}
	if w.at <= w.From {
		t.follow(b, w.blocks)
		return nil
	}
	if !t.inside {
		t.inside = true
		if began > 0 {
			if err := w.begin(b, t); err != nil {
				return err
			}
		}
	}
	return w.to.Batch(b)
}

// begin makes a running thread begin with its present registers. The batch of a thread that
// starts in it has that information already.
func (w *windowed) begin(b *event.Batch, t *windowThread) error {
	if len(b.Effects) > 0 && b.Effects[0].Kind == event.EffectStart {
		return nil
	}
	if t.rounding != 0 {
		return fmt.Errorf("thread T%d does not round to nearest where the window begins; begin the window earlier or later", b.Thread)
	}
	start := event.Batch{Thread: b.Thread, Effects: []event.Effect{{Kind: event.EffectStart}}}
	for r, v := range t.regs {
		if v != 0 {
			start.Effects = append(start.Effects, event.Effect{Kind: event.EffectReg, Reg: uint8(r), Arg: v})
		}
	}
	return w.to.Batch(&start)
}

// follow updates the registers.
func (t *windowThread) follow(b *event.Batch, blocks []windowBlock) {
	effects, values := b.Effects, b.Values
	for n := 0; n <= len(b.Blocks); n++ {
		for len(effects) > 0 && int(effects[0].At) <= n {
			if e := &effects[0]; e.Kind == event.EffectReg {
				t.regs[e.Reg&63] = e.Arg
			}
			effects = effects[1:]
		}
		if n == len(b.Blocks) || int(b.Blocks[n]) >= len(blocks) {
			return
		}
		block := &blocks[b.Blocks[n]]
		if block.values > len(values) {
			return // the observer of the window reports the error
		}
		for _, i := range block.insts {
			v := i.value
			if i.sets.Len != 0 {
				t.rounding = i.sets.Rounding(t.rounding, t.regs[i.sets.Rs1])
			}
			if i.told {
				v, values = values[0], values[1:]
			}
			t.regs[i.reg&63] = v
		}
		t.regs[0] = 0
	}
}

// Finish implements [event.Observer].
func (w *windowed) Finish(outcome event.Outcome) error { return w.to.Finish(outcome) }
