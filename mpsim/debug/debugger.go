package debug

import (
	"bytes"
	"context"
	"errors"

	"hindsight/mpsim"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Index finds writes without running the program.
type Index interface {
	// LastWrite returns the last recorded write to size bytes at addr before a time. It
	// reports false if there is none. It does not know writes that were not recorded.
	LastWrite(ctx context.Context, r *mpsim.Replay, addr, size, before uint64) (Write, bool, error)
}

// Write is an instruction that wrote memory.
type Write struct {
	Time   uint64 // just before it
	Thread event.ThreadID
	PC     uint64
	Addr   uint64
}

// Reason says why the run has stopped.
type Reason uint8

const (
	Stepped     Reason = iota // the requested step is done
	Breakpoint                // just before an instruction to stop at
	Watchpoint                // just after an access to watched memory or, when going back, just before it
	AtBegin                   // there is nothing before
	AtEnd                     // there is nothing after
	Interrupted               // the context was done
)

// Stop says where and why the run has stopped.
type Stop struct {
	Reason Reason
	Thread event.ThreadID
	Watch  int    // of Watchpoint: the index in Debugger.Watches
	Addr   uint64 // of Watchpoint: the address in it
	Time   uint64 // of Watchpoint: just before the access
	Signal int    // of AtEnd: the signal that ended the run, 0 if none did
}

// Debugger is at a time of a run.
type Debugger struct {
	*mpsim.Replay
	Breaks  map[uint64]bool // instructions to stop at
	Watches []mpsim.Watched
	Index   Index // nil: the last write is found by running
	// Hold reports whether the run stops at a breakpoint or watchpoint that it has reached;
	// nil: it always does. Hold may move the run, but must bring it back.
	Hold func(ctx context.Context, s Stop) (bool, error)
	// Thread is the thread in which the run last stopped.
	Thread event.ThreadID

	targets map[uint64]bool // breakpoints that a step has set for itself; Hold is not called for them
}

// New returns a Debugger at the beginning of the run.
func New(r *mpsim.Replay, index Index) *Debugger {
	d := &Debugger{Replay: r, Breaks: map[uint64]bool{}, Index: index}
	d.Thread, _ = r.Journal().Runs(0)
	return d
}

// probe returns what the run stops for.
func (d *Debugger) probe() *mpsim.Probe {
	return &mpsim.Probe{Breaks: d.Breaks, Watches: d.Watches}
}

// forward continues to a time, or to an earlier stop.
func (d *Debugger) forward(ctx context.Context, until uint64) (Stop, bool, error) {
	for {
		s, found, err := d.meet(ctx, until)
		if err != nil || !found {
			return s, found, err
		}
		if hold, err := d.holds(ctx, s); hold || err != nil {
			return s, true, err
		}
	}
}

// holds calls Hold for a stop that is not a step's own.
func (d *Debugger) holds(ctx context.Context, s Stop) (bool, error) {
	if d.Hold == nil || s.Reason != Breakpoint && s.Reason != Watchpoint {
		return true, nil
	}
	if h := d.Replay.Thread(s.Thread); s.Reason == Breakpoint && h != nil && d.targets[h.PC] {
		return true, nil
	}
	return d.Hold(ctx, s)
}

// meet continues to a time, or to an earlier breakpoint or watchpoint.
func (d *Debugger) meet(ctx context.Context, until uint64) (Stop, bool, error) {
	hit, found, err := d.Forward(ctx, until, d.probe(), true)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return d.stand(Stop{Reason: Interrupted, Thread: d.running()}), true, nil
	case err != nil || !found:
		return Stop{}, false, err
	case hit.Watch < 0:
		return d.stand(Stop{Reason: Breakpoint, Thread: hit.Thread}), true, nil
	}
	if !hit.System {
		if err := d.Seek(ctx, hit.Time+1); err != nil {
			return Stop{}, false, err
		}
	}
	return d.stand(d.watched(&hit)), true, nil
}

func (d *Debugger) watched(hit *mpsim.Hit) Stop {
	at := max(hit.Addr, d.Watches[hit.Watch].Addr)
	return Stop{Reason: Watchpoint, Thread: hit.Thread, Watch: hit.Watch, Addr: at, Time: hit.Time}
}

// stand makes the thread of a stop the present one.
func (d *Debugger) stand(s Stop) Stop {
	if d.Replay.Thread(s.Thread) == nil { // it has just ended
		if alive := d.Threads(); len(alive) > 0 {
			s.Thread = alive[0].ID()
		}
	}
	d.Thread = s.Thread
	return s
}

// At returns the stop of a thread at a breakpoint at its present place.
func (d *Debugger) At(t event.ThreadID) Stop {
	return d.stand(Stop{Reason: Breakpoint, Thread: t})
}

// running returns the thread that executes the next instruction, or executed the last one.
func (d *Debugger) running() event.ThreadID {
	id, ok := d.Journal().Runs(d.Time())
	if !ok && d.Time() > 0 {
		id, _ = d.Journal().Runs(d.Time() - 1)
	}
	return id
}

// end returns the stop at the end of the run.
func (d *Debugger) end() Stop {
	s := Stop{Reason: AtEnd, Thread: d.running(), Signal: d.Journal().Signal()}
	if f := d.Journal().Fault(); f != nil {
		s.Thread = f.Thread
	}
	return d.stand(s)
}

// Continue continues to the next stop, or to the end of the run.
func (d *Debugger) Continue(ctx context.Context) (Stop, error) {
	s, found, err := d.forward(ctx, d.End())
	if err != nil || found {
		return s, err
	}
	return d.end(), nil
}

// Step continues until a thread has executed an instruction, while the other threads take
// the turns that they took.
func (d *Debugger) Step(ctx context.Context, t event.ThreadID) (Stop, error) {
	return d.StepOut(ctx, t, func(uint64) bool { return true })
}

// StepOut steps a thread until out returns true for its place.
func (d *Debugger) StepOut(ctx context.Context, t event.ThreadID, out func(pc uint64) bool) (Stop, error) {
	for {
		next, ok := d.Journal().Next(t, d.Time())
		if !ok { // it waits forever, or ends: the run continues without it
			return d.Continue(ctx)
		}
		s, found, err := d.forward(ctx, next+1)
		if err != nil || found {
			return s, err
		}
		h := d.Replay.Thread(t)
		if h == nil || out(h.PC) {
			return d.stand(Stop{Reason: Stepped, Thread: t}), nil
		}
	}
}

// StepBack returns to just before the last instruction of a thread.
func (d *Debugger) StepBack(ctx context.Context, t event.ThreadID) (Stop, error) {
	at, ok := d.Journal().Previous(t, d.Time())
	if !ok {
		return d.stand(Stop{Reason: AtBegin, Thread: t}), d.Seek(ctx, 0)
	}
	return d.arrive(ctx, at, Stop{Reason: Stepped, Thread: t})
}

// arrive goes to a time. If the context ends on the way, the run stays where it is.
func (d *Debugger) arrive(ctx context.Context, at uint64, s Stop) (Stop, error) {
	err := d.Seek(ctx, at)
	if err != nil && ctx.Err() != nil {
		return d.stand(Stop{Reason: Interrupted, Thread: d.running()}), nil
	}
	return d.stand(s), err
}

// Goto goes to a time.
func (d *Debugger) Goto(ctx context.Context, at uint64) (Stop, error) {
	id, ok := d.Journal().Runs(at)
	if !ok && at > 0 {
		id, _ = d.Journal().Runs(at - 1)
	}
	return d.arrive(ctx, at, Stop{Reason: Stepped, Thread: id})
}

// ContinueBack goes back to the previous stop, or to the beginning of the run.
func (d *Debugger) ContinueBack(ctx context.Context) (Stop, error) {
	for {
		s, err := d.meetBack(ctx)
		if err != nil {
			return s, err
		}
		if hold, err := d.holds(ctx, s); hold || err != nil {
			return s, err
		}
	}
}

// meetBack goes back to the previous breakpoint or watchpoint.
func (d *Debugger) meetBack(ctx context.Context) (Stop, error) {
	start, from, probe := d.Time(), uint64(0), d.probe()
	w, indexed, err := d.indexed(ctx)
	if err == nil && indexed { // only a breakpoint after it remains to be found
		from, probe.Watches = w.time+1, nil
	}
	var hit mpsim.Hit
	found := false
	if err == nil && (!indexed || len(d.Breaks) > 0) {
		hit, found, err = d.Last(ctx, from, start, probe)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return d.stand(Stop{Reason: Interrupted, Thread: d.running()}), nil
	case err != nil:
		return Stop{}, err
	case !found && indexed:
		return d.arrive(ctx, w.time, Stop{Reason: Watchpoint, Thread: w.thread, Watch: w.watch, Addr: w.addr, Time: w.time})
	case !found:
		return d.stand(Stop{Reason: AtBegin, Thread: d.running()}), nil
	case hit.Watch < 0:
		return d.stand(Stop{Reason: Breakpoint, Thread: hit.Thread}), nil
	}
	return d.stand(d.watched(&hit)), nil
}

// found is the last write to watched memory.
type found struct {
	time   uint64
	thread event.ThreadID
	watch  int
	addr   uint64
}

// indexed looks up the last write to watched memory. ok is false if it has to be found by
// running: if reads count, or if memory has changed since that write, which means that the
// index does not have all writes.
func (d *Debugger) indexed(ctx context.Context) (last found, ok bool, err error) {
	if d.Index == nil || len(d.Watches) == 0 {
		return last, false, nil
	}
	for i, w := range d.Watches {
		if w.Access&mem.Read != 0 {
			return last, false, nil
		}
		at, found, err := d.LastWrite(ctx, w.Addr, w.Size)
		if err != nil || !found {
			return last, false, err
		}
		if !ok || at.Time > last.time {
			ok, last.time, last.thread, last.watch, last.addr = true, at.Time, at.Thread, i, max(at.Addr, w.Addr)
		}
	}
	if !ok {
		return last, false, nil
	}
	start := d.Time()
	now := d.contents()
	if err := d.Seek(ctx, last.time+1); err != nil {
		return last, false, err
	}
	if !bytes.Equal(now, d.contents()) {
		return last, false, d.Seek(ctx, start)
	}
	return last, true, nil
}

// contents returns the content of watched memory.
func (d *Debugger) contents() (all []byte) {
	for _, w := range d.Watches {
		b := make([]byte, w.Size)
		d.Space().Content(w.Addr, b)
		all = append(all, b...)
	}
	return all
}

// LastWrite returns the last write to size bytes at addr before now, according to the index
// and the journal: of instructions that the trace recorded, and of the system.
func (d *Debugger) LastWrite(ctx context.Context, addr, size uint64) (w Write, ok bool, err error) {
	if d.Index != nil {
		start := d.Time()
		w, ok, err = d.Index.LastWrite(ctx, d.Replay, addr, size, start)
		if back := d.Seek(ctx, start); err == nil {
			err = back
		}
		if err != nil {
			return w, false, err
		}
	}
	if at, id, system := d.Journal().SystemWrote(addr, size, d.Time()); system && (!ok || at > w.Time) {
		w, ok = Write{Time: at, Thread: id, Addr: addr}, true
	}
	return w, ok, nil
}

// Signal returns the name of the signal that ended the run, or "".
func (d *Debugger) Signal() string {
	if n := d.Journal().Signal(); n != 0 {
		return linux.SignalName(n)
	}
	return ""
}
