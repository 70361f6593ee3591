package mpsim_test

import (
	"context"
	"slices"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// told keeps the events about call stacks.
type told struct{ events []event.Event }

func (o *told) Define([]event.Block) error { return nil }

func (o *told) Batch(b *event.Batch) error {
	for _, e := range b.Events {
		if e.Kind.Info().Class == event.ClassStack {
			o.events = append(o.events, event.Event{Kind: e.Kind, Arg: e.Arg, Obj: e.Obj})
		}
	}
	return nil
}

func (o *told) Finish(event.Outcome) error { return nil }

// TestCallStacks leaves frames in every possible way, in assembly. The events must say how
// many frames are left, and there must be none where the calls and returns themselves say
// it.
func TestCallStacks(t *testing.T) {
	const ra, sp, s1, a0, a7 = 1, 2, 9, 10, 17
	p := &asm.Program{}
	stack := p.Data("stack", make([]byte, 8192)) + 8192
	grow := func(n int32) { p.Imm(rv.OpADDI, sp, sp, -n) }
	call := func(l asm.Label) uint64 {
		p.To(rv.Inst{Op: rv.OpJAL, Rd: ra}, l)
		return p.PC()
	}
	ret := func() { p.Imm(rv.OpJALR, 0, ra, 0) }
	throws, deeper, landing := p.NewLabel(), p.NewLabel(), p.NewLabel()
	switches, back, home := p.NewLabel(), p.NewLabel(), p.NewLabel()

	p.Func("_start")
	grow(16)
	call(throws)
	outer := call(switches)
	p.Imm(rv.OpADDI, a0, 0, 0)
	p.Imm(rv.OpADDI, a7, 0, 93)
	p.Emit(rv.Inst{Op: rv.OpECALL})

	// A function with a landing pad that a callee of its callee jumps to.
	p.Bind(throws)
	p.Func("throws")
	grow(32)
	p.Store(rv.OpSD, ra, sp, 8)
	call(deeper)
	p.Bind(landing)
	p.Imm(rv.OpADDI, 0, 0, 0)
	p.Imm(rv.OpLD, ra, sp, 8)
	grow(-32)
	ret()
	thrower := p.NewLabel()
	p.Bind(deeper)
	p.Func("deeper")
	grow(48)
	call(thrower)
	p.Bind(thrower)
	p.Func("thrower")
	grow(16)
	grow(-16 - 48)
	p.La(ra, landing)
	p.Imm(rv.OpADDI, ra, ra, 4) // no return address
	ret()

	// A function whose callee continues on another stack and later switches back.
	p.Bind(switches)
	p.Func("switches")
	grow(32)
	p.Store(rv.OpSD, ra, sp, 8)
	away := p.NewLabel()
	call(away)
	p.Bind(home)
	p.Imm(rv.OpLD, ra, sp, 8)
	grow(-32)
	ret()
	p.Bind(away)
	p.Func("away")
	p.Imm(rv.OpADDI, s1, sp, 0)
	p.Li(sp, stack)
	p.La(ra, back)
	ret()
	p.Bind(back)
	p.Func("back")
	grow(16)
	inner := p.NewLabel()
	call(inner)
	p.Bind(inner)
	p.Func("inner")
	p.Imm(rv.OpADDI, sp, s1, 0)
	p.La(ra, home)
	ret()

	elf, err := p.ELF()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	o := &told{}
	m, err := mpsim.New(mpsim.Config{Image: img, Args: []string{"stacks"}, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := m.Run(context.Background()); err != nil || res.Status != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	want := []event.Event{
		{Kind: event.Unwound, Arg: 1},     // the landing pad is in a function inside one call
		{Kind: event.Unwound},             // another stack begins
		{Kind: event.Unwound},             // that stack is left again,
		{Kind: event.Rewound, Obj: outer}, // and the call of switches is in progress as before
	}
	if !slices.Equal(o.events, want) {
		t.Errorf("told %+v, want %+v", o.events, want)
	}
}
