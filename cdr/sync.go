package cdr

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// S_synch of an epoch is stored as columns. Across threads there is only the
// order: runs of (thread, number of events). What the events are stands in
// columns of each thread, where it repeats: the row of a dictionary of (kind,
// mode, size, pc), the object and the argument, both as differences to what
// that thread had at the same row.
//
//	payload = dictionary order thread*
//	dictionary = uvarint n, then n times: kind, mode, uvarint size, varint pc - pc of the row before
//	order  = uvarint bytes, then runs: uvarint thread, uvarint events
//	thread = uvarint thread id, uvarint events, three columns
//	column = uvarint bytes, bytes: rows (uvarint), objects, arguments (varint difference)
//	object = uvarint 0: as before at this row; 1: as the thread's event before;
//	         2: followed by the uvarint address; 3+z: before at this row plus the zigzag number z
type syncRec struct {
	rows   []syncRow
	rowIDs map[syncRow]uint32
	order  []byte
	last   event.ThreadID
	run    uint64
}

type syncRow struct {
	pc   uint64
	size uint32
	kind event.Kind
	mode event.Mode
}

// syncThread is what [syncRec] keeps of a thread.
type syncThread struct {
	prev   []syncPrev // by row
	obj    uint64     // of the event before
	row    []byte
	objs   []byte
	args   []byte
	events uint64
}

type syncPrev struct{ obj, arg uint64 }

// add records an event and says how much memory that took.
func (s *syncRec) add(t *threadRec, e *event.Event) uint64 {
	th := &t.sync
	before := len(th.row) + len(th.objs) + len(th.args) + len(s.order)
	grown := uint64(0)

	key := syncRow{e.PC, e.Size, e.Kind, e.Mode}
	row, ok := s.rowIDs[key]
	if !ok {
		if s.rowIDs == nil {
			s.rowIDs = map[syncRow]uint32{}
		}
		row = uint32(len(s.rows))
		s.rows = append(s.rows, key)
		s.rowIDs[key] = row
		grown += 100
	}
	for int(row) >= len(th.prev) {
		th.prev = append(th.prev, syncPrev{})
		grown += 16
	}
	if s.run > 0 && s.last != t.id {
		s.flush()
	}
	s.last = t.id
	s.run++

	p := &th.prev[row]
	th.row = binary.AppendUvarint(th.row, uint64(row))
	th.objs = appendObject(th.objs, e.Obj, p.obj, th.obj)
	th.args = binary.AppendVarint(th.args, int64(e.Arg-p.arg))
	p.obj, p.arg, th.obj = e.Obj, e.Arg, e.Obj
	th.events++
	return grown + uint64(len(th.row)+len(th.objs)+len(th.args)+len(s.order)-before)
}

func (s *syncRec) flush() {
	if s.run > 0 {
		s.order = binary.AppendUvarint(s.order, uint64(s.last))
		s.order = binary.AppendUvarint(s.order, s.run)
		s.run = 0
	}
}

func appendObject(dst []byte, obj, atRow, before uint64) []byte {
	z := zigzag(int64(obj - atRow))
	switch {
	case obj == atRow:
		return append(dst, 0)
	case obj == before:
		return append(dst, 1)
	case z >= 1<<63:
		return binary.AppendUvarint(append(dst, 2), obj)
	}
	return binary.AppendUvarint(dst, 3+z)
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(z uint64) int64 { return int64(z>>1) ^ -int64(z&1) }

// encode gives the payload of the epoch's sync block.
func (s *syncRec) encode(threads []*threadRec) []byte {
	s.flush()
	var b []byte
	b = binary.AppendUvarint(b, uint64(len(s.rows)))
	pc := uint64(0)
	for _, r := range s.rows {
		b = append(b, byte(r.kind), byte(r.mode))
		b = binary.AppendUvarint(b, uint64(r.size))
		b = binary.AppendVarint(b, int64(r.pc-pc))
		pc = r.pc
	}
	b = appendColumn(b, s.order)
	for _, t := range threads {
		if t == nil || t.sync.events == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(t.id))
		b = binary.AppendUvarint(b, t.sync.events)
		b = appendColumn(b, t.sync.row)
		b = appendColumn(b, t.sync.objs)
		b = appendColumn(b, t.sync.args)
	}
	return b
}

// syncBlock is the decoded form of a sync block's frame; the events stay in
// their columns until they are asked for.
type syncBlock struct {
	rows    []syncRow
	order   []byte
	threads []syncColumns // ordered by thread
}

type syncColumns struct {
	thread          event.ThreadID
	events          uint64
	row, objs, args []byte
}

func decodeSync(payload []byte) (*syncBlock, error) {
	d := decoder{b: payload}
	s := &syncBlock{}
	n := d.count(4) // bytes of the shortest row
	s.rows = make([]syncRow, n)
	pc := uint64(0)
	for i := range s.rows {
		r := &s.rows[i]
		r.kind, r.mode = event.Kind(d.byte()), event.Mode(d.byte())
		r.size = uint32(d.max(1<<32 - 1))
		pc += uint64(d.varint())
		r.pc = pc
		if r.kind >= event.NumKinds {
			d.fail("kind of event")
		}
	}
	s.order = d.column()
	for d.err == nil && len(d.b) > 0 {
		c := syncColumns{thread: event.ThreadID(d.max(maxThreads - 1)), events: d.uvarint()}
		c.row, c.objs, c.args = d.column(), d.column(), d.column()
		if n := len(s.threads); n > 0 && s.threads[n-1].thread >= c.thread {
			d.fail("order of threads")
		}
		if c.events == 0 || c.events > uint64(len(c.row)) {
			d.fail("number of events")
		}
		s.threads = append(s.threads, c)
	}
	return s, d.err
}

// syncCursor replays a sync block.
type syncCursor struct {
	rows    []syncRow
	order   decoder
	threads map[event.ThreadID]*syncReplay
	cur     *syncReplay
	left    uint64
	memory  int // entries of prev in all threads
}

// maxSyncPrev bounds threads times rows, in entries of 16 bytes.
const maxSyncPrev = 4 << 20

type syncReplay struct {
	thread          event.ThreadID
	prev            []syncPrev
	obj             uint64
	row, objs, args decoder
	left            uint64
}

func (s *syncBlock) replay() *syncCursor {
	c := &syncCursor{rows: s.rows, order: decoder{b: s.order}, threads: map[event.ThreadID]*syncReplay{}}
	for _, t := range s.threads {
		c.threads[t.thread] = t.replay()
	}
	return c
}

func (c syncColumns) replay() *syncReplay {
	return &syncReplay{thread: c.thread, row: decoder{b: c.row}, objs: decoder{b: c.objs}, args: decoder{b: c.args}, left: c.events}
}

// next gives the next event; ok is false at the end.
func (c *syncCursor) next() (th event.ThreadID, e event.Event, ok bool, err error) {
	if c.left == 0 {
		if len(c.order.b) == 0 {
			for _, t := range c.threads {
				if t.left != 0 {
					return 0, e, false, fmt.Errorf("sync: events left over: %w", tracefmt.ErrMalformed)
				}
			}
			return 0, e, false, nil
		}
		c.cur = c.threads[event.ThreadID(c.order.max(maxThreads-1))]
		c.left = c.order.uvarint()
		if c.order.err != nil || c.cur == nil || c.left == 0 || c.left > c.cur.left {
			return 0, e, false, fmt.Errorf("sync: order: %w", tracefmt.ErrMalformed)
		}
	}
	c.left--
	before := len(c.cur.prev)
	e, err = c.cur.next(c.rows, maxSyncPrev-c.memory+before)
	c.memory += len(c.cur.prev) - before
	return c.cur.thread, e, err == nil, err
}

// next gives the thread's next event; it remembers at most room rows.
func (t *syncReplay) next(rows []syncRow, room int) (event.Event, error) {
	t.left--
	i := t.row.uvarint()
	if t.row.err != nil || i >= uint64(len(rows)) {
		return event.Event{}, fmt.Errorf("sync: row: %w", tracefmt.ErrMalformed)
	}
	if i >= uint64(room) {
		return event.Event{}, fmt.Errorf("sync: threads times rows: %w", tracefmt.ErrTooLarge)
	}
	for i >= uint64(len(t.prev)) {
		t.prev = append(t.prev, syncPrev{})
	}
	p := &t.prev[i]
	switch code := t.objs.uvarint(); code {
	case 0:
	case 1:
		p.obj = t.obj
	case 2:
		p.obj = t.objs.uvarint()
	default:
		p.obj += uint64(unzigzag(code - 3))
	}
	t.obj = p.obj
	p.arg += uint64(t.args.varint())
	if t.objs.err != nil || t.args.err != nil {
		return event.Event{}, fmt.Errorf("sync: column: %w", tracefmt.ErrMalformed)
	}
	r := rows[i]
	return event.Event{Kind: r.kind, Mode: r.mode, Size: r.size, PC: r.pc, Obj: p.obj, Arg: p.arg}, nil
}
