package debug

import (
	"context"
	"maps"

	"hindsight/tracefmt/event"
)

// spot is where a thread stands in the source.
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

// NextLine goes on to the next source line of a thread. Calls are run through, or with
// into, entered where they have source lines of the program.
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

// runTo goes on until a thread is at pc in a frame, or further out. Done says that the
// run has stopped for another reason.
func (d *Debugger) runTo(ctx context.Context, t event.ThreadID, pc, frame uint64) (s Stop, done bool, err error) {
	own := d.Breaks
	defer func() { d.Breaks = own }()
	d.Breaks = maps.Clone(own)
	d.Breaks[pc] = true
	for {
		s, err := d.Continue(ctx)
		if err != nil || s.Reason != Breakpoint {
			return s, true, err
		}
		h := d.Replay.Thread(s.Thread)
		if s.Thread == t && h.PC == pc && d.spot(t).frame >= frame {
			return s, own[pc], nil
		}
		if own[h.PC] {
			return s, true, nil
		}
	}
}

// Finish goes on until the innermost call of a thread has returned.
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

// PreviousLine goes back to the beginning of the source line that a thread executed
// before the present one. Calls on the way are passed over.
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
		case left && now.passed(from): // what came before the line
			return d.Goto(ctx, at)
		}
		if !left && now.passed(from) {
			from, left = now, true
		}
	}
}

// backToCall goes back from the end of a call, which returned at a time, to the call.
func (d *Debugger) backToCall(ctx context.Context, t event.ThreadID, returned, frame uint64) (s Stop, done bool, err error) {
	if err := d.Seek(ctx, returned); err != nil {
		return s, true, err
	}
	const call, shortCall = 4, 2 // bytes
	pc := d.Replay.Thread(t).PC
	own := d.Breaks
	defer func() { d.Breaks = own }()
	d.Breaks = maps.Clone(own)
	d.Breaks[pc-call], d.Breaks[pc-shortCall] = true, true
	for {
		s, err := d.ContinueBack(ctx)
		if err != nil || s.Reason != Breakpoint {
			return s, true, err
		}
		h := d.Replay.Thread(s.Thread)
		if at := h.PC; s.Thread == t && (at == pc-call || at == pc-shortCall) && d.spot(t).frame == frame {
			return s, own[at], nil
		}
		if own[h.PC] {
			return s, true, nil
		}
	}
}

// Body is where the second line of a function begins, which is after its prologue, or
// its first if it has no other.
func (d *Debugger) Body(name string) (pc uint64, ok bool) {
	img := d.Journal().Image()
	for _, m := range img.Images() {
		for _, f := range m.Symbols() {
			if f.Demangled() != name && f.Name != name || f.Size == 0 {
				continue
			}
			first := img.Frames(f.Addr)
			for pc := f.Addr; pc < f.Addr+f.Size; pc += 2 {
				if at := img.Frames(pc); len(at) > 0 && len(first) > 0 && at[0].Line != 0 && at[0].Line != first[0].Line {
					return pc, true
				}
			}
			return f.Addr, true
		}
	}
	return 0, false
}
