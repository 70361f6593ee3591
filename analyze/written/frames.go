package written

import (
	"hindsight/analyze/local"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// frame is an activation: one of its instructions, and the values before it of the
// registers that locate its variables.
type frame struct{ pc, sp, fp uint64 }

const (
	regSP = 2
	regFP = 8
)

// frames follows the calls of a thread.
type frames struct {
	calls   []frame
	pending bool  // the innermost call has returned, unless Unwound says otherwise
	last    frame // where the thread was when its last block began
}

// maxCalls limits the calls that are followed. Outer ones are forgotten.
const maxCalls = 1 << 16

func (f *frames) begin(b *block, t *thread) {
	f.settle()
	f.last = frame{pc: b.pc, sp: t.regs[regSP], fp: t.regs[regFP]}
}

// settle removes the call that has returned.
func (f *frames) settle() {
	f.pending = f.pending && len(f.calls) > 0
	if f.pending {
		f.calls, f.pending = f.calls[:len(f.calls)-1], false
	}
}

// end follows how control left a block.
func (f *frames) end(b *block, t *thread) {
	switch b.end {
	case event.EndCall, event.EndCallInd:
		if len(f.calls) >= maxCalls {
			f.calls = f.calls[:0]
		}
		f.calls = append(f.calls, frame{b.last, t.regs[regSP], t.regs[regFP]})
	case event.EndReturn:
		f.pending = true
	}
}

func (f *frames) event(e *event.Event) {
	switch {
	case e.Kind == event.Unwound:
		f.pending = false
		f.calls = f.calls[:min(e.Arg, uint64(len(f.calls)))]
	case e.Kind == event.Rewound:
		f.calls = append(f.calls, frame{}) // of another stack
	case e.Mode&event.Returns != 0:
		f.settle()
		f.pending = true
	}
}

// locate finds the variable that an access of size bytes at addr is to. It may ask img
// which variables are live at a place.
func (f *frames) locate(img *image.Space, addr, size uint64) local.Variable {
	// A call that has just returned still represents its caller.
	chain := []frame{f.last}
	for n := len(f.calls); n > 0; n-- {
		chain = append(chain, f.calls[n-1])
	}
	for i := range chain {
		if x := &chain[i]; x.pc != 0 {
			if v, ok := local.In(img, local.Frame{PC: x.pc, Base: x.base}, addr, size); ok {
				return v
			}
		}
	}
	for i := range chain { // no variable, but a frame: between two stack pointers
		if x := &chain[i]; x.pc != 0 && x.sp <= addr && (i+1 == len(chain) || addr < chain[i+1].sp) {
			return local.Variable{PC: x.pc}
		}
	}
	return local.Variable{}
}

// base returns the registers that locate frames.
func (f *frame) base(reg uint8) (uint64, bool) {
	switch reg {
	case regSP:
		return f.sp, true
	case regFP:
		return f.fp, true
	}
	return 0, false
}

// ask prepares to locate places.
func (o *Observer) ask(site func(format.SiteID) format.Site, places []local.Place) {
	o.locals = make([]local.Variable, len(places))
	o.places = map[execution][]int32{}
	o.asked = places
	for n := range places {
		if a := &places[n].Access; places[n].Address != 0 {
			at := execution{a.Thread, o.watch(site(a.Site)), a.Ordinal}
			o.places[at] = append(o.places[at], int32(n))
		}
	}
}

// executed counts an execution of a watched site.
func (o *Observer) executed(id event.ThreadID, t *thread, site int32) (ordinal uint64) {
	ordinal = t.times[site]
	t.times[site]++
	if len(o.places) == 0 {
		return ordinal
	}
	for _, n := range o.places[execution{id, site, ordinal}] {
		p := &o.asked[n]
		if owner := o.threads[p.Owner]; owner != nil {
			o.locals[n] = owner.frames.locate(o.img, p.Address, p.Size)
		}
	}
	return ordinal
}

// Locals returns what was found about each place, after the run.
func (o *Observer) Locals() []local.Variable { return o.locals }
