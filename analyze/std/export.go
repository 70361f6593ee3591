package std

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"hindsight/analyze/place"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// ErrTrace is wrapped by errors about traces that contradict themselves.
var ErrTrace = errors.New("inconsistent trace")

// Options of an export. The zero value exports every access.
type Options struct {
	// Program tells the user's code and variables from those of libraries;
	// accesses that are not the program's business are left out. nil:
	// everything is the user's.
	Program place.Program
	// TLSSize is the size in bytes of a thread's thread-local variables.
	TLSSize uint64
}

// Stats says what an export wrote.
type Stats struct {
	Lines    uint64
	Accesses uint64 // that were exported; each is a line or more
	Left     uint64 // accesses left out: of libraries to their own data, and to atomic variables
	Messages uint64 // edges that are spelled with a lock of their own
}

// Source is the recorded run. *cdr.Trace is one.
type Source interface {
	Threads() []cdr.Thread
	Site(cdr.SiteID) cdr.Site
	Events() iter.Seq2[cdr.Event, error]
	Steps(event.ThreadID) iter.Seq2[cdr.Step, error]
}

// Export writes the run as STD text. It walks the trace twice and holds no part
// of it: its memory is bounded by the memory that the program touched in parts
// of granules, its live objects, and 16 bytes for each edge of happens-before
// that is no mutex's.
func Export(ctx context.Context, w io.Writer, src Source, opts Options) (Stats, error) {
	x := &exporter{ctx: ctx, src: src, opts: opts, cells: newCells()}
	return x.export(w)
}

func (x *exporter) export(w io.Writer) (Stats, error) {
	created := map[uint64]bool{}
	err := x.events(func(ev *cdr.Event) error {
		switch ev.Kind {
		case event.Create:
			created[ev.Obj] = true
		case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
			x.cells.reserve(ev.Obj, uint64(min(max(ev.Size, 1), maxAtomic)))
		}
		x.own.event(ev.Thread, &ev.Event, x.opts.TLSSize)
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	var roots []event.ThreadID
	for _, th := range x.src.Threads() {
		if !created[uint64(th.ID)] {
			roots = append(roots, th.ID)
		}
	}
	if x.give, err = x.listen(roots); err != nil {
		return Stats{}, err
	}
	if err := x.survey(); err != nil {
		return Stats{}, err
	}
	x.out = bufio.NewWriterSize(w, 1<<16)
	if err := x.write(roots); err != nil {
		return x.stats, err
	}
	return x.stats, x.out.Flush()
}

const (
	maxAtomic = 16      // bytes of an atomic access
	maxFree   = 1 << 30 // bytes of a block that its free is taken for
)

type exporter struct {
	ctx    context.Context
	src    Source
	opts   Options
	cells  *cells
	spell  *speller
	give   *outbox
	own    own
	memory *place.Map
	lives  *lives
	feeds  []steps
	out    *bufio.Writer
	line   []byte
	stats  Stats
}

// steps is a thread's part of the run, and whether it has had a step.
type steps struct {
	next func() (cdr.Step, error, bool)
	stop func()
}

func (x *exporter) events(visit func(*cdr.Event) error) error {
	n := 0
	threads := len(x.src.Threads())
	for ev, err := range x.src.Events() {
		if err != nil {
			return err
		}
		if n++; n&0xfff == 0 {
			if err := x.ctx.Err(); err != nil {
				return err
			}
		}
		if int64(ev.Thread) >= int64(threads) {
			return fmt.Errorf("%w: event %d is of thread %d of %d", ErrTrace, ev.Seq, ev.Thread, threads)
		}
		if err := visit(&ev); err != nil {
			return fmt.Errorf("event %d: %w", ev.Seq, err)
		}
	}
	return x.ctx.Err()
}

// listen finds which messages are needed.
func (x *exporter) listen(roots []event.ThreadID) (*outbox, error) {
	give := &outbox{}
	s := newSpeller(len(x.src.Threads()), roots, give)
	var sp spelled
	err := x.events(func(ev *cdr.Event) error {
		if err := s.acquire(ev.Thread, &ev.Event, &sp); err != nil {
			return err
		}
		if err := s.release(ev.Thread, &ev.Event, nil, &sp); err != nil {
			return err
		}
		if ev.Kind == event.Free {
			x.own.note(ev.Thread, sp.strand, ev.Obj, min(ev.Arg, maxFree))
		}
		x.own.turn(ev.Thread, ev.Index, s.order.Strand(ev.Thread))
		return nil
	})
	give.sort()
	return give, err
}

// survey finds where variables begin and end.
func (x *exporter) survey() error {
	for _, th := range x.src.Threads() {
		n, turn, index := 0, 0, uint64(0)
		for step, err := range x.src.Steps(th.ID) {
			if err != nil {
				return err
			}
			if n++; n&0xffff == 0 {
				if err := x.ctx.Err(); err != nil {
					return err
				}
			}
			if step.IsEvent {
				index++
				continue
			}
			size := uint64(x.src.Site(step.Site).Size)
			x.cells.cut(step.Address, size)
			if x.own.tasks {
				x.own.note(th.ID, x.own.strand(th.ID, index, &turn), step.Address, size)
			}
		}
	}
	return x.events(func(ev *cdr.Event) error {
		if ev.Kind == event.Free && ev.Arg > 0 {
			x.cells.cut(ev.Obj, ev.Arg)
		}
		return nil
	})
}

// write writes the lines: each segment just before the event that ends it.
func (x *exporter) write(roots []event.ThreadID) error {
	threads := x.src.Threads()
	x.spell = newSpeller(len(threads), roots, nil)
	x.memory, x.lives = place.NewMap(x.opts.TLSSize), newLives()
	for _, th := range threads {
		var s steps
		s.next, s.stop = iter.Pull2(x.src.Steps(th.ID))
		defer s.stop()
		x.feeds = append(x.feeds, s)
	}
	for _, t := range roots {
		x.lives.open(t)
	}
	err := x.events(func(ev *cdr.Event) error {
		if err := x.segment(ev.Thread); err != nil {
			return err
		}
		return x.event(ev)
	})
	if err != nil {
		return err
	}
	for t := range threads {
		if err := x.segment(event.ThreadID(t)); err != nil {
			return err
		}
	}
	if n := x.give.left(); n > 0 {
		return fmt.Errorf("%w: %d ends of epochs are missing", ErrTrace, n)
	}
	return nil
}

// segment writes the accesses of a thread up to its next event.
func (x *exporter) segment(t event.ThreadID) error {
	strand := x.spell.order.Strand(t)
	for n := 1; ; n++ {
		step, err, ok := x.feeds[t].next()
		if err != nil || !ok || step.IsEvent {
			return err
		}
		if n&0xffff == 0 {
			if err := x.ctx.Err(); err != nil {
				return err
			}
		}
		site := x.src.Site(step.Site)
		op := Read
		if site.Access == event.Write {
			op = Write
		}
		if x.foreign(site.PC, step.Address) {
			x.stats.Left++
			continue
		}
		before := x.stats.Lines
		err = x.cells.variables(step.Address, uint64(site.Size), func(at uint64, atomic bool) error {
			if atomic {
				return nil
			}
			first, last := x.lives.of(t, at>>3)
			for life := first; ; life++ {
				if err := x.access(t, strand, op, 'V', at, life, site.PC); err != nil || life == last {
					return err
				}
			}
		})
		if err != nil {
			return err
		}
		if x.stats.Lines == before {
			x.stats.Left++
		} else {
			x.stats.Accesses++
		}
	}
}

// foreign says whether an access is not the program's business.
func (x *exporter) foreign(pc, addr uint64) bool {
	p := x.opts.Program
	if p == nil {
		return false
	}
	if r, ok := p.(interface{ Runtime(pc uint64) bool }); ok && r.Runtime(pc) {
		return true
	}
	return !p.User(pc) && !x.memory.User(p, addr)
}

func (x *exporter) event(ev *cdr.Event) error {
	var sp spelled
	if err := x.spell.acquire(ev.Thread, &ev.Event, &sp); err != nil {
		return err
	}
	for _, m := range sp.hear {
		x.stats.Messages++
		if err := x.message(sp.strand, m, ev.PC); err != nil {
			return err
		}
	}
	heard := sp.hasOp
	if heard {
		if err := x.sync(sp.strand, sp.op, sp.other, ev.PC); err != nil {
			return err
		}
	}
	if ev.Kind == event.Free {
		if err := x.free(sp.strand, ev); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case event.Alloc, event.Map, event.StackMap, event.Renew:
		x.lives.renew(ev.Obj, ev.Arg)
	case event.StrandBegin, event.StrandEnd:
		low := ev.Arg - min(ev.Arg, taskFrames)
		x.lives.renew(low, ev.Arg-low)
	case event.Create:
		x.lives.open(event.ThreadID(ev.Obj))
	case event.ThreadEnd:
		defer x.lives.close(ev.Thread)
	}
	x.memory.Apply(ev.Thread, ev.Index, &ev.Event)
	if err := x.spell.release(ev.Thread, &ev.Event, x.give, &sp); err != nil {
		return err
	}
	if sp.hasOp && !heard {
		if err := x.sync(sp.sender, sp.op, sp.other, ev.PC); err != nil {
			return err
		}
	}
	for _, m := range sp.tell {
		if err := x.message(sp.sender, m.message, ev.PC); err != nil {
			return err
		}
	}
	x.lives.open(ev.Thread)
	return nil
}

// taskFrames is how many bytes of stack a task may use, as the analysis of
// races has it.
const taskFrames = 256 << 10

// free writes what a free does: a write of the whole block.
func (x *exporter) free(strand event.StrandID, ev *cdr.Event) error {
	size := ev.Arg
	if size == 0 {
		if b, ok := x.memory.Block(ev.Obj); ok && b.Addr == ev.Obj && !b.Freed {
			size = b.Size
		}
	}
	if size = min(size, maxFree); size == 0 || ev.Obj+size < ev.Obj || x.foreign(ev.PC, ev.Obj) {
		return nil
	}
	x.stats.Accesses++
	return x.cells.variables(ev.Obj, size, func(at uint64, atomic bool) error {
		kind := byte('V')
		if atomic {
			kind = 'F' // frees do not race with atomic accesses, but with each other
		}
		return x.access(ev.Thread, strand, Write, kind, at, x.lives.now(at>>3), ev.PC)
	})
}

// access writes a line about the variable at an address, in one of its lives,
// or one for each part of it that stands for the strand's accesses.
func (x *exporter) access(t event.ThreadID, strand event.StrandID, op Op, kind byte, at uint64, life uint32, pc uint64) error {
	if parts, err := x.own.parts(t, strand, at>>3, func(a, b int) error {
		x.variable(strand, op, kind, at, life)
		x.line = append(x.line, '~')
		x.line = strconv.AppendInt(x.line, int64(a), 10)
		x.line = append(x.line, '-')
		x.line = strconv.AppendInt(x.line, int64(b), 10)
		return x.end(pc)
	}); parts || err != nil {
		return err
	}
	x.variable(strand, op, kind, at, life)
	return x.end(pc)
}

func (x *exporter) variable(strand event.StrandID, op Op, kind byte, at uint64, life uint32) {
	x.begin(strand, op)
	x.line = append(x.line, kind)
	x.line = strconv.AppendUint(x.line, at, 16)
	if life > 0 {
		x.line = append(x.line, '.')
		x.line = strconv.AppendUint(x.line, uint64(life), 10)
	}
}

// sync writes a line about a mutex or a thread.
func (x *exporter) sync(strand event.StrandID, op Op, other, pc uint64) error {
	x.begin(strand, op)
	if op == Fork || op == Join {
		x.line = append(x.line, 'T')
	} else {
		x.line = append(x.line, 'L')
	}
	x.line = strconv.AppendUint(x.line, other, 10)
	return x.end(pc)
}

// message writes a strand's part of a message.
func (x *exporter) message(strand event.StrandID, number, pc uint64) error {
	for _, op := range [2]Op{Acquire, Release} {
		x.begin(strand, op)
		x.line = append(x.line, 'M')
		x.line = strconv.AppendUint(x.line, number, 10)
		if err := x.end(pc); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) begin(strand event.StrandID, op Op) {
	x.line = append(x.line[:0], 'T')
	x.line = strconv.AppendUint(x.line, uint64(strand), 10)
	x.line = append(x.line, '|')
	x.line = append(x.line, op.String()...)
	x.line = append(x.line, '(')
}

func (x *exporter) end(pc uint64) error {
	x.line = append(x.line, ")|"...)
	x.line = strconv.AppendUint(x.line, pc, 10)
	x.line = append(x.line, '\n')
	x.stats.Lines++
	_, err := x.out.Write(x.line)
	return err
}
