package debug

import (
	"context"
	"maps"
	"slices"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// spot is the place of a thread in the source.
type spot struct {
	file  string
	line  int // 0: unknown
	frame uint64
}

func (d *Debugger) spot(t event.ThreadID) spot {
	h := d.Replay.Thread(t)
	if h == nil {
		return spot{}
	}
	img := d.Journal().Image()
	s := spot{frame: h.X[sp]}
	if reg, offset, ok := img.FrameAddress(h.PC); ok {
		s.frame = h.X[reg] + uint64(offset)
	}
	if img.User(h.PC) {
		if frames := img.Frames(h.PC); len(frames) > 0 {
			s.file, s.line = frames[0].File, frames[0].Line
		}
	}
	return s
}

// passed reports whether from is another line of the same call, or of a caller.
func (s spot) passed(from spot) bool {
	return s.line != 0 && (s.frame > from.frame || s.frame == from.frame && (s.line != from.line || s.file != from.file))
}

// NextLine continues to the next source line of a thread. It skips calls or, with into,
// enters those that have source lines of the program.
func (d *Debugger) NextLine(ctx context.Context, t event.ThreadID, into bool) (Stop, error) {
	from := d.spot(t)
	for {
		s, err := d.Step(ctx, t)
		if err != nil || s.Reason != Stepped {
			return s, err
		}
		now := d.spot(t)
		switch {
		case now.passed(from), into && now.line != 0 && now.frame < from.frame:
			return s, nil
		case now.frame < from.frame: // a call
			if s, done, err := d.runTo(ctx, t, d.Replay.Thread(t).X[ra], from.frame); done || err != nil {
				return s, err
			}
			if d.spot(t).passed(from) {
				return s, nil
			}
		}
	}
}

// runTo continues until a thread is at pc in a frame, or in a caller. done says that the
// run has stopped for another reason.
func (d *Debugger) runTo(ctx context.Context, t event.ThreadID, pc, frame uint64) (s Stop, done bool, err error) {
	own, restore := d.breakAlso(pc)
	defer restore()
	for {
		s, err := d.Continue(ctx)
		if err != nil || s.Reason != Breakpoint {
			return s, true, err
		}
		h := d.Replay.Thread(s.Thread)
		there := s.Thread == t && h.PC == pc && d.spot(t).frame >= frame
		hold, err := d.held(ctx, own, s)
		if there || hold || err != nil {
			return s, hold, err
		}
	}
}

// breakAlso sets breakpoints for a step until restore is called. own are the other
// breakpoints.
func (d *Debugger) breakAlso(pcs ...uint64) (own map[uint64]bool, restore func()) {
	own = d.Breaks
	d.Breaks, d.targets = maps.Clone(own), map[uint64]bool{}
	for _, pc := range pcs {
		d.Breaks[pc], d.targets[pc] = true, true
	}
	return own, func() { d.Breaks, d.targets = own, nil }
}

// held reports whether the run stops at a breakpoint in own.
func (d *Debugger) held(ctx context.Context, own map[uint64]bool, s Stop) (bool, error) {
	pc := d.Replay.Thread(s.Thread).PC
	if !own[pc] || !d.targets[pc] || d.Hold == nil {
		return own[pc], nil
	}
	return d.Hold(ctx, s)
}

// Finish continues until the innermost call of a thread has returned.
func (d *Debugger) Finish(ctx context.Context, t event.ThreadID) (Stop, error) {
	stack := d.Stack(t)
	if len(stack) < 2 {
		return d.Continue(ctx)
	}
	s, done, err := d.runTo(ctx, t, stack[1].PC, stack[1].X[sp])
	if err == nil && !done {
		s.Reason = Stepped
	}
	return s, err
}

// PreviousLine goes back to the beginning of the source line that a thread executed before
// the present one. It skips calls.
func (d *Debugger) PreviousLine(ctx context.Context, t event.ThreadID) (Stop, error) {
	from, left := d.spot(t), false
	for {
		at := d.Time()
		s, err := d.StepBack(ctx, t)
		if err != nil || s.Reason != Stepped {
			return s, err
		}
		now := d.spot(t)
		switch {
		case now.frame < from.frame: // the end of a call
			if s, done, err := d.backToCall(ctx, t, at, from.frame); done || err != nil {
				return s, err
			}
			now = d.spot(t)
		case left && now.passed(from): // what precedes the line
			return d.Goto(ctx, at)
		}
		if !left && now.passed(from) {
			from, left = now, true
		}
	}
}

// backToCall goes back from the end of a call, which returned at the given time, to the
// call.
func (d *Debugger) backToCall(ctx context.Context, t event.ThreadID, returned, frame uint64) (s Stop, done bool, err error) {
	if err := d.Seek(ctx, returned); err != nil {
		return s, true, err
	}
	const call, shortCall = 4, 2 // bytes
	pc := d.Replay.Thread(t).PC
	own, restore := d.breakAlso(pc-call, pc-shortCall)
	defer restore()
	for {
		s, err := d.ContinueBack(ctx)
		if err != nil || s.Reason != Breakpoint {
			return s, true, err
		}
		h := d.Replay.Thread(s.Thread)
		there := s.Thread == t && (h.PC == pc-call || h.PC == pc-shortCall) && d.spot(t).frame == frame
		hold, err := d.held(ctx, own, s)
		if there || hold || err != nil {
			return s, hold, err
		}
	}
}

// Bodies returns the places for the breakpoints of a function: for each function of that
// name, the second statement, which is after the prologue, and for each inlined copy its
// beginning. The name is that of the source or the linker. Namespaces, classes and
// parameters may be omitted.
func (d *Debugger) Bodies(name string) (pcs []uint64) {
	img := d.Journal().Image()
	for _, m := range img.Images() {
		for _, f := range m.Symbols() {
			if f.Size > 0 && (f.Name == name || namesFunction(f.Demangled(), name)) {
				pcs = append(pcs, body(img, f))
			}
		}
		pcs = append(pcs, m.InlinedCode(func(function string) bool { return namesFunction(function, name) })...)
	}
	slices.Sort(pcs)
	return slices.Compact(pcs)
}

// namesFunction reports whether a name means a function: ns::f(int) may be named f, ns::f
// or f(int).
func namesFunction(function, name string) bool {
	if function == name || strings.HasSuffix(function, "::"+name) {
		return true
	}
	bare, _, params := strings.Cut(function, "(")
	return params && (bare == name || strings.HasSuffix(bare, "::"+name))
}

// body returns where the second statement of a function begins, or the first if it has only
// one.
func body(img *image.Space, f image.Symbol) uint64 {
	first, _ := img.Statement(f.Addr)
	for pc := f.Addr; pc < f.Addr+f.Size; pc += 2 {
		if at, ok := img.Statement(pc); ok && at != first && at.Line != 0 {
			return pc
		}
	}
	return f.Addr
}
