package session

import (
	"context"
	"io"

	"hindsight/cdr/recorder"
	"hindsight/mpsim/coverage"
	"hindsight/tracefmt/event"
)

// heldBytes is the maximum number of bytes held in memory before a run is recorded after
// all.
const heldBytes = 16 << 20

// held is the observer of a run whose trace may not be needed. It keeps what the run does
// in memory, and passes it to a recorder if the trace is wanted. When a run exceeds the
// limit, recording starts.
type held struct {
	classes *coverage.Observer
	record  func() (event.Observer, error) // starts the recording
	to      event.Observer                 // nil: what happens is held

	parts   []heldPart
	blocks  []event.BlockID
	addrs   []uint64
	events  []event.Event
	outcome event.Outcome
}

// heldPart is one call of the observer.
type heldPart struct {
	images                []event.Image
	define                []event.Block
	thread                event.ThreadID
	insts                 uint64
	blocks, addrs, events int // where those of the batch end
}

// reset makes h ready for another run.
func (h *held) reset(record func() (event.Observer, error)) {
	if h.classes == nil {
		h.classes = coverage.New()
	}
	h.classes.Reset()
	h.record, h.to = record, nil
	h.forget()
}

// forget drops what is held, but keeps the storage.
func (h *held) forget() {
	clear(h.parts)
	h.parts, h.blocks, h.addrs, h.events = h.parts[:0], h.blocks[:0], h.addrs[:0], h.events[:0]
}

// hold holds a part, or passes it on.
func (h *held) hold(p heldPart) {
	p.blocks, p.addrs, p.events = len(h.blocks), len(h.addrs), len(h.events)
	h.parts = append(h.parts, p)
}

// Load implements [event.ImageObserver].
func (h *held) Load(images []event.Image) error {
	if err := h.classes.Load(images); err != nil {
		return err
	}
	if h.to != nil {
		return event.Load(h.to, images)
	}
	h.hold(heldPart{images: images})
	return nil
}

// Define implements [event.Observer].
func (h *held) Define(blocks []event.Block) error {
	if err := h.classes.Define(blocks); err != nil {
		return err
	}
	if h.to != nil {
		return h.to.Define(blocks)
	}
	h.hold(heldPart{define: blocks})
	return nil
}

// Batch implements [event.Observer].
func (h *held) Batch(b *event.Batch) error {
	if err := h.classes.Batch(b); err != nil {
		return err
	}
	if h.to == nil && 4*len(h.blocks)+8*len(h.addrs)+40*len(h.events) > heldBytes {
		if err := h.handOn(); err != nil {
			return err
		}
	}
	if h.to != nil {
		return h.to.Batch(b)
	}
	h.blocks = append(h.blocks, b.Blocks...)
	h.addrs = append(h.addrs, b.Addrs...)
	h.events = append(h.events, b.Events...)
	h.hold(heldPart{thread: b.Thread, insts: b.Insts})
	return nil
}

// Finish implements [event.Observer].
func (h *held) Finish(outcome event.Outcome) error {
	h.outcome = outcome
	if err := h.classes.Finish(outcome); err != nil || h.to == nil {
		return err
	}
	return h.to.Finish(outcome)
}

// handOn starts the recording and passes it what is held.
func (h *held) handOn() error {
	to, err := h.record()
	if err != nil {
		return err
	}
	h.to = to
	var blocks, addrs, events int
	for i := range h.parts {
		p := &h.parts[i]
		switch {
		case p.images != nil:
			err = event.Load(to, p.images)
		case p.define != nil:
			err = to.Define(p.define)
		default:
			err = to.Batch(&event.Batch{
				Thread: p.thread, Insts: p.insts,
				Blocks: h.blocks[blocks:p.blocks], Addrs: h.addrs[addrs:p.addrs], Events: h.events[events:p.events],
			})
		}
		if err != nil {
			return err
		}
		blocks, addrs, events = p.blocks, p.addrs, p.events
	}
	h.forget()
	return nil
}

// needed records the run, which has ended, unless it has been recorded already.
func (h *held) needed() error {
	if h.to != nil {
		return nil
	}
	if err := h.handOn(); err != nil {
		return err
	}
	return h.to.Finish(h.outcome)
}

// holdable reports whether the calls of an observer are sufficient to record the run later.
func (r *Run) holdable() bool {
	return r.Mode == "cdr" && r.Keep == "all" && r.Arch == nil && r.Beside == nil && r.Window == nil && r.Images == ""
}

// recordHeld runs the program with observer h. [held.needed] then writes the trace to w.
func (r *Run) recordHeld(ctx context.Context, std Streams, h *held, w func() (io.Writer, error)) (*Summary, error) {
	std, err := r.countSteps(ctx, std)
	if err != nil {
		return nil, err
	}
	space := r.Image.Anew()
	p, err := r.prepare(ctx, std, space)
	if err != nil {
		return nil, err
	}
	h.reset(func() (event.Observer, error) {
		to, err := w()
		if err != nil {
			return nil, err
		}
		return recorder.New(to, p.opts)
	})
	h.classes.Muted = nil
	if space.Main.Go() == "" {
		h.classes.Muted = space.Runtime
	}
	res, err := r.SimulateIn(p.context(ctx), space, p.std, h)
	if err != nil {
		return nil, err
	}
	return &Summary{Result: res, Image: space}, nil
}
