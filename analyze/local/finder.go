package local

import (
	"context"
	"slices"

	"hindsight/analyze/artifact"
	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Place is memory on a thread's stack, at the time of a plain access to it.
type Place struct {
	Access  artifact.Execution
	Owner   event.ThreadID // whose stack it is
	Address uint64         // 0: there is nothing to find
	Size    uint64         // bytes accessed
}

// Finder identifies the variables at places of a trace.
type Finder struct {
	trace   *cdr.Trace
	img     *image.Space
	history *cdr.Histories
	frames  map[activation]known // the frame addresses found so far
}

// known is an address that may be unknown.
type known struct {
	value uint64
	ok    bool
}

// NewFinder returns a Finder for a trace of the program img.
func NewFinder(t *cdr.Trace, img *image.Space) *Finder {
	return &Finder{trace: t, img: img, history: t.Histories(), frames: map[activation]known{}}
}

// Find returns the variable at each place, or the zero Variable if it cannot be
// identified. If ctx is done early, Find returns what it has found together with the
// error of ctx.
func (f *Finder) Find(ctx context.Context, places []Place) ([]Variable, error) {
	out := make([]Variable, len(places))
	var asked []moment
	for n := range places {
		p := &places[n]
		if p.Address == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		m, err := f.moment(p)
		if err != nil {
			return out, err
		}
		if v, ok := ByInstruction(f.img, m.block, f.trace.Site(p.Access.Site).PC); ok {
			out[n] = v
			continue
		}
		m.place = n
		if p.Owner == p.Access.Thread {
			at := instant{m.point, f.trace.Site(p.Access.Site).PC}
			if out[n], err = f.variable(p, at, at); err != nil {
				return out, err
			}
			continue
		}
		asked = append(asked, m)
	}
	if len(asked) == 0 || !f.trace.HasSchedule() {
		return out, nil
	}
	if err := f.schedule(ctx, places, asked); err != nil {
		return out, err
	}
	for i := range asked {
		m := &asked[i]
		if err := ctx.Err(); err != nil {
			return out, err
		}
		before, after, ok, err := f.around(places[m.place].Owner, m)
		if err == nil && ok {
			out[m.place], err = f.variable(&places[m.place], before, after)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// instant is where a thread was in the code: a block execution, and an address in that
// block.
type instant struct{ point, pc uint64 }

// activation is an execution of a function. The block execution that called it identifies
// it.
type activation struct {
	thread event.ThreadID
	call   uint64
}

// moving says where an activation was.
type moving struct {
	activation
	at instant
}

// maxDepth limits the calls that are examined, the innermost first.
const maxDepth = 1 << 10

// activations returns the activations that a thread was in at an instant, the innermost
// first, as far as the trace has the calls that led there.
func (f *Finder) activations(t event.ThreadID, at instant) ([]moving, error) {
	h, err := f.history.Of(t)
	if err != nil {
		return nil, err
	}
	var out []moving
	for len(out) < maxDepth {
		call, ok, err := h.Caller(at.point)
		if err != nil || !ok {
			return out, err
		}
		out = append(out, moving{activation{t, call}, at})
		b, err := h.Block(call)
		if err != nil {
			return nil, err
		}
		at = instant{call, b.PC + uint64(b.Bytes) - 1}
	}
	return out, nil
}

// variable finds the variable of a place that was accessed between two instants of the
// owner.
func (f *Finder) variable(p *Place, before, after instant) (Variable, error) {
	a, err := f.activations(p.Owner, before)
	if err != nil {
		return Variable{}, err
	}
	b := a
	if after != before {
		if b, err = f.activations(p.Owner, after); err != nil {
			return Variable{}, err
		}
	}
	inner := known{} // frame address of the next inner activation, common to both
	for _, y := range b {
		i := slices.IndexFunc(a, func(x moving) bool { return x.activation == y.activation })
		if i < 0 {
			continue
		}
		if !f.img.User(y.at.pc) {
			inner = known{}
			continue
		}
		frame, err := f.frame(&y)
		if err != nil {
			return Variable{}, err
		}
		if !frame.ok {
			inner = known{}
			continue
		}
		v, ok := f.in(p, frame.value, y.at.pc)
		if w, also := f.in(p, frame.value, a[i].at.pc); ok != also || ok && !v.same(&w) {
			return Variable{}, nil
		}
		switch {
		case ok:
			return v, nil
		case inner.ok && inner.value <= p.Address && p.Address < frame.value:
			return Variable{PC: y.at.pc}, nil
		case p.Address < frame.value && !inner.ok && f.below(frame.value, y.at.pc, p.Address):
			return Variable{PC: y.at.pc}, nil
		}
		inner = frame
	}
	return Variable{}, nil
}

// in finds the variable in an activation that is at pc and whose canonical frame address
// is frame.
func (f *Finder) in(p *Place, frame, pc uint64) (Variable, bool) {
	reg, offset, ok := f.img.FrameAddress(pc)
	return In(f.img, Frame{PC: pc, Base: func(r uint8) (uint64, bool) { return frame - uint64(offset), ok && r == reg }}, p.Address, p.Size)
}

// below reports whether an address is in the frame that ends at frame, by the stack
// pointer.
func (f *Finder) below(frame, pc, addr uint64) bool {
	reg, offset, ok := f.img.FrameAddress(pc)
	return ok && reg == regSP && addr >= frame-uint64(offset)
}

// maxEntered limits the blocks of an activation that are examined, from its beginning.
const maxEntered = 64

// frame returns the canonical frame address of an activation.
func (f *Finder) frame(x *moving) (known, error) {
	if k, ok := f.frames[x.activation]; ok {
		return k, nil
	}
	h, err := f.history.Of(x.thread)
	if err != nil {
		return known{}, err
	}
	var k known
	for n := x.call + 1; !k.ok && n <= x.at.point && n-x.call <= maxEntered; n++ {
		b, err := h.Block(n)
		if err != nil {
			return known{}, err
		}
		if k, err = f.told(h, n, &b); err != nil {
			return known{}, err
		}
		if b.End == event.EndCall || b.End == event.EndCallInd || b.End == event.EndReturn {
			break // what follows may belong to another activation
		}
	}
	if k.ok || x.at.point-x.call > maxEntered {
		f.frames[x.activation] = k
	}
	return k, nil
}

// told finds the canonical frame address from the accesses of a block execution.
func (f *Finder) told(h *cdr.History, n uint64, b *cdr.CodeBlock) (known, error) {
	read := f.img.Reader()
	for k, site := range b.Sites {
		if slices.Contains(b.Sites[:k], site) {
			continue
		}
		pc := f.trace.Site(site).PC
		reg, offset, ok := f.img.FrameAddress(pc)
		i := decode(read, pc)
		if _, _, plain := i.Mem(); !ok || !plain || i.Rs1 != reg {
			continue
		}
		ordinal, err := h.Rank(site, n)
		if err != nil {
			return known{}, err
		}
		addr, recorded, err := h.Address(site, ordinal)
		if err != nil {
			return known{}, err
		}
		if recorded {
			return known{addr - uint64(int64(i.Imm)) + uint64(offset), true}, nil
		}
	}
	return known{}, nil
}
