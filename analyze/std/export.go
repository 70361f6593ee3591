package std

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"

	"hindsight/analyze/place"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// ErrTrace is wrapped by errors about traces that contradict themselves.
var ErrTrace = replay.ErrTrace

// Options of an export. With the zero value, it exports every access.
type Options struct {
	// Program distinguishes the user's code and variables from those of libraries.
	// Accesses that are not the program's business are left out. With nil, everything is
	// the user's.
	Program place.Program
	// TLSSize is the size in bytes of a thread's thread-local variables.
	TLSSize uint64
}

// Stats says what an export wrote.
type Stats struct {
	Lines    uint64
	Accesses uint64 // that were exported, in one or more lines each
	Left     uint64 // accesses left out: of libraries to their own data, and to atomic variables
	Messages uint64 // edges that are written as separate locks
}

// Source is the recorded run. *cdr.Trace implements it.
type Source interface {
	Threads() []cdr.Thread
	Site(format.SiteID) format.Site
	Events() iter.Seq2[format.Event, error]
	Steps(event.ThreadID) iter.Seq2[cdr.Step, error]
}

// Export writes the run as STD text. It walks over the trace twice and holds no part of
// it in memory. Its memory is proportional to the memory that the program touched in
// parts of granules, to the program's live objects, and to the edges of happens-before
// that are not a mutex's (16 bytes each).
func Export(ctx context.Context, w io.Writer, src Source, opts Options) (Stats, error) {
	x := &exporter{src: src, opts: opts, business: replay.NewBusiness(opts.Program), cells: newCells()}
	return x.export(ctx, w)
}

func (x *exporter) export(ctx context.Context, w io.Writer) (Stats, error) {
	var err error
	x.survey, err = replay.NewSurvey(ctx, x.src, len(x.src.Threads()), false, &x.business, func(ev *format.Event) error {
		if n := replay.AtomicBytes(&ev.Event); n > 0 {
			x.cells.cut(ev.Obj, n)
		}
		x.own.event(ev.Thread, &ev.Event, x.opts.TLSSize)
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	if x.give, err = x.listen(ctx); err != nil {
		return Stats{}, err
	}
	if err := x.cut(ctx); err != nil {
		return Stats{}, err
	}
	x.out = bufio.NewWriterSize(w, 1<<16)
	if err := x.lines(ctx); err != nil {
		return x.stats, err
	}
	return x.stats, x.out.Flush()
}

type exporter struct {
	src      Source
	opts     Options
	survey   *replay.Survey
	some     []piece // see plain
	business replay.Business
	cells    *cells
	run      *replay.Walk
	spell    *speller
	said     spelled // the current event
	give     *outbox
	own      own
	lives    *lives
	late     late
	out      *bufio.Writer
	line     []byte
	stats    Stats
	// The last line, if it is about an access.
	lastGroup group
	lastAt    uint64
}

// listen finds out which messages are needed.
func (x *exporter) listen(ctx context.Context) (*outbox, error) {
	give := &outbox{}
	run := x.survey.Walk(replay.Options{TLSSize: x.opts.TLSSize})
	s := newSpeller(run.Order, give)
	var sp spelled
	err := run.Run(ctx, x.src, &replay.Visitor{
		Event: func(ev *format.Event) error {
			s.acquired(ev.Thread, &ev.Event, &sp)
			return nil
		},
		Access: func(u *replay.Unit, a *replay.Access) error {
			x.own.note(u.Thread, sp.strand, a.Address, a.Size)
			return nil
		},
		Done: func(ev *format.Event) error {
			s.released(ev.Thread, &ev.Event, nil, &sp)
			x.own.turn(ev.Thread, ev.Index, run.Order.Strand(ev.Thread))
			return nil
		},
	})
	give.sort()
	return give, err
}

// cut finds out where variables begin and end.
func (x *exporter) cut(ctx context.Context) error {
	for _, th := range x.src.Threads() {
		n, turn, index := 0, 0, uint64(0)
		for step, err := range x.src.Steps(th.ID) {
			if err != nil {
				return err
			}
			n++
			if n&0xffff == 0 {
				if err := ctx.Err(); err != nil {
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
	return x.survey.Walk(replay.Options{TLSSize: x.opts.TLSSize, NoOrder: true}).Run(ctx, x.src, &replay.Visitor{
		Access: func(_ *replay.Unit, a *replay.Access) error {
			if a.Size > 0 {
				x.cells.cut(a.Address, a.Size)
			}
			return nil
		},
	})
}

// lines writes the text, with accesses in the order in which they were executed, as far
// as the run knows it.
func (x *exporter) lines(ctx context.Context) error {
	x.run = x.survey.Walk(replay.Options{TLSSize: x.opts.TLSSize, Parts: true})
	x.spell = newSpeller(x.run.Order, nil)
	x.lives = newLives()
	steps := replay.NewSteps(x.survey.Threads, x.src.Steps)
	defer steps.Close()
	for _, t := range x.survey.Roots {
		x.lives.open(t)
	}
	err := x.run.Run(ctx, x.src, &replay.Visitor{
		Segment: func(u *replay.Unit) error {
			strand := x.run.Order.Strand(u.Thread)
			if u.Part == 0 {
				x.late.close(u.Thread)
			}
			return steps.Segment(ctx, u, func(s *cdr.Step) error { return x.step(u, strand, s) })
		},
		Event:  x.event,
		Access: x.access,
		Life: func(addr, size, _ uint64) error {
			x.lives.renew(addr, size)
			return x.late.renewed(addr, size, func(t event.ThreadID, a *lateAccess) error {
				return x.cells.granules(a.at, a.size, func(pieces []piece) error {
					life := x.lives.now(a.at >> 3)
					pieces = x.plain(pieces, life)
					if len(pieces) == 0 {
						return nil
					}
					return x.touch(t, x.run.Order.Strand(t), a.op, pieces, life, a.pc)
				})
			})
		},
		Done: x.done,
	})
	if err != nil {
		return err
	}
	if n := x.give.left(); n > 0 {
		return fmt.Errorf("%w: %d ends of epochs are missing", ErrTrace, n)
	}
	return nil
}

// step writes an execution of a site.
func (x *exporter) step(u *replay.Unit, strand event.StrandID, s *cdr.Step) error {
	t := u.Thread
	site := x.src.Site(s.Site)
	op := Read
	if site.Access == event.Write {
		op = Write
	}
	if x.foreign(site.PC, s.Address) {
		x.stats.Left++
		return nil
	}
	before := x.stats.Lines
	maybe := x.business.Atomicity(replay.SiteOp(&site), site.PC, false) == replay.MaybeAtomic
	err := x.cells.granules(s.Address, uint64(site.Size), func(pieces []piece) error {
		at := pieces[0].at
		first, last := x.lives.of(t, at>>3)
		if u.Part > 0 {
			end := pieces[len(pieces)-1]
			x.late.add(t, lateAccess{at, end.at + uint64(end.size) - at, site.PC, op})
		}
		for life := first; ; life++ {
			some := pieces
			if maybe {
				some = x.plain(pieces, life)
			}
			if len(some) > 0 {
				if err := x.touch(t, strand, op, some, life, site.PC); err != nil {
					return err
				}
			}
			if life == last {
				return nil
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
	return nil
}

// foreign reports whether an access is not the program's business.
func (x *exporter) foreign(pc, addr uint64) bool {
	return x.business.Muted(pc) || !x.business.Counts(x.run.Memory, pc, addr)
}

// event writes what orders an event after others.
func (x *exporter) event(ev *format.Event) error {
	sp := &x.said
	x.spell.acquired(ev.Thread, &ev.Event, sp)
	for _, m := range sp.hear {
		x.stats.Messages++
		if err := x.message(sp.strand, Read, m, ev.PC); err != nil {
			return err
		}
	}
	if sp.hasOp {
		return x.sync(sp.strand, sp.op, sp.other, ev.PC)
	}
	return nil
}

// done writes what orders others after an event.
func (x *exporter) done(ev *format.Event) error {
	sp := &x.said
	heard := sp.hasOp
	x.spell.released(ev.Thread, &ev.Event, x.give, sp)
	if sp.hasOp && !heard {
		if err := x.sync(sp.strand, sp.op, sp.other, ev.PC); err != nil {
			return err
		}
	}
	for _, m := range sp.tell {
		if err := x.message(sp.strand, Write, m.message, ev.PC); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case event.Create:
		x.lives.open(event.ThreadID(ev.Obj))
	case event.ThreadEnd:
		x.lives.close(ev.Thread)
		return nil
	}
	x.lives.open(ev.Thread)
	return nil
}

// access writes an event that is an access.
func (x *exporter) access(u *replay.Unit, a *replay.Access) error {
	if a.Size == 0 || a.Address+a.Size < a.Address || x.foreign(a.PC, a.Address) {
		return nil
	}
	x.stats.Accesses++
	op := Read
	if a.Op.Writes() {
		op = Write
	}
	return x.cells.granules(a.Address, a.Size, func(pieces []piece) error {
		life := x.lives.now(pieces[0].at >> 3)
		for i := range pieces {
			pieces[i].atomic = x.atomic(pieces[i].at, life)
		}
		return x.touch(u.Thread, x.said.strand, op, pieces, life, a.PC)
	})
}

// atomic reports whether the byte at addr belongs to an atomic variable in a life of
// its granule.
func (x *exporter) atomic(addr uint64, life uint32) bool {
	return x.survey.Atomic.In(addr>>3, uint64(life))>>(addr&7)&1 != 0
}

// plain returns the pieces that do not belong to an atomic variable in a life of their
// granule. The slice is only valid until the next call.
func (x *exporter) plain(pieces []piece, life uint32) []piece {
	x.some = x.some[:0]
	for _, p := range pieces {
		if !x.atomic(p.at, life) {
			x.some = append(x.some, p)
		}
	}
	return x.some
}

// touch writes the lines about an access to pieces of a granule in one of its lives, or
// the lines about those parts of the granule that stand for the strand's accesses.
func (x *exporter) touch(t event.ThreadID, strand event.StrandID, op Op, pieces []piece, life uint32, pc uint64) error {
	group := group{strand, op, pc, pieces[0].at >> 3, life, -1, -1}
	if parts, err := x.own.parts(t, strand, pieces[0].at>>3, func(a, b int) error {
		group.a, group.b = a, b
		return x.write(&group, pieces)
	}); parts || err != nil {
		return err
	}
	return x.write(&group, pieces)
}

// group is what the lines of one access to a granule have in common.
type group struct {
	strand  event.StrandID
	op      Op
	pc      uint64
	granule uint64
	life    uint32
	a, b    int // as in own.parts, or -1
}

// write writes the lines of an access to a granule. An import joins consecutive lines of
// a group in rising order to one access. Where that would join two accesses, a line about
// a variable that only the strand reads separates them.
func (x *exporter) write(g *group, pieces []piece) error {
	if x.lastGroup == *g && x.lastAt < pieces[0].at {
		x.begin(g.strand, Read)
		x.line = append(x.line, 'S')
		x.line = strconv.AppendUint(x.line, uint64(g.strand), 10)
		if err := x.end(0); err != nil {
			return err
		}
	}
	for i := range pieces {
		p := &pieces[i]
		x.begin(g.strand, g.op)
		kind := byte('V')
		if p.atomic {
			kind = 'F' // of frees, the text only has that they race with each other
		}
		x.line = append(x.line, kind)
		x.line = strconv.AppendUint(x.line, p.at, 16)
		x.line = append(x.line, ':', '0'+p.size)
		if g.life > 0 {
			x.line = append(x.line, '.')
			x.line = strconv.AppendUint(x.line, uint64(g.life), 10)
		}
		if g.a >= 0 {
			x.line = append(x.line, '~')
			x.line = strconv.AppendInt(x.line, int64(g.a), 10)
			x.line = append(x.line, '-')
			x.line = strconv.AppendInt(x.line, int64(g.b), 10)
		}
		if err := x.end(g.pc); err != nil {
			return err
		}
	}
	x.lastGroup, x.lastAt = *g, pieces[len(pieces)-1].at
	return nil
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

// message writes a strand's part of a message: a critical section of a separate lock, in
// which the sender writes a separate variable and the receiver reads it. Detectors that
// let critical sections change places unless they conflict therefore keep the two in
// order.
func (x *exporter) message(strand event.StrandID, op Op, number, pc uint64) error {
	for _, part := range [3]struct {
		op   Op
		name byte
	}{{Acquire, 'M'}, {op, 'm'}, {Release, 'M'}} {
		x.begin(strand, part.op)
		x.line = append(x.line, part.name)
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
	x.lastGroup = group{}
	_, err := x.out.Write(x.line)
	return err
}
