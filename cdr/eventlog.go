package cdr

import (
	"encoding/binary"
	"iter"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// eventLog holds events in order, in few bytes each. Analyses walk S_synch several times.
// Decoding an event from the trace takes a microsecond or two, and from here some ten
// nanoseconds.
//
// An event consists of the number of its row, and of the differences of its object and
// argument from those of the row's last event. The lowest bit of the row says whether the
// thread differs from the previous event's; if so, the thread follows.
type eventLog struct {
	bytes []byte
	rows  []eventRow
	ids   map[eventRow]uint32
	last  []eventEnds // by row
	by    event.ThreadID
}

type eventRow struct {
	kind event.Kind
	mode event.Mode
	size uint32
	pc   uint64
}

type eventEnds struct{ obj, arg uint64 }

// maxEventLog limits the bytes of a log.
const maxEventLog = 64 << 20

// add appends an event. It reports false when the log is full.
func (l *eventLog) add(e *format.Event) bool {
	row := eventRow{e.Kind, e.Mode, e.Size, e.PC}
	id, ok := l.ids[row]
	if !ok {
		if l.ids == nil {
			l.ids = map[eventRow]uint32{}
		}
		id = uint32(len(l.rows))
		l.ids[row], l.rows, l.last = id, append(l.rows, row), append(l.last, eventEnds{})
	}
	turn := uint64(0)
	if e.Thread != l.by {
		turn = 1
	}
	l.bytes = binary.AppendUvarint(l.bytes, uint64(id)<<1|turn)
	if turn != 0 {
		l.bytes = binary.AppendUvarint(l.bytes, uint64(e.Thread))
		l.by = e.Thread
	}
	last := &l.last[id]
	l.bytes = binary.AppendVarint(l.bytes, int64(e.Obj-last.obj))
	l.bytes = binary.AppendVarint(l.bytes, int64(e.Arg-last.arg))
	*last = eventEnds{e.Obj, e.Arg}
	return len(l.bytes) <= maxEventLog
}

// all returns the events of a run with this many threads.
func (l *eventLog) all(threads int) iter.Seq[format.Event] {
	return func(yield func(format.Event) bool) {
		index, last := make([]uint64, threads), make([]eventEnds, len(l.rows))
		e, rest := format.Event{}, l.bytes
		number := func() uint64 {
			x, n := binary.Uvarint(rest)
			rest = rest[n:]
			return x
		}
		for len(rest) > 0 {
			x := number()
			if x&1 != 0 {
				e.Thread = event.ThreadID(number())
			}
			row, ends := &l.rows[x>>1], &last[x>>1]
			ends.obj += uint64(signed(number()))
			ends.arg += uint64(signed(number()))
			e.Kind, e.Mode, e.Size, e.PC, e.Obj, e.Arg = row.kind, row.mode, row.size, row.pc, ends.obj, ends.arg
			e.Index = index[e.Thread]
			if !yield(e) {
				return
			}
			e.Seq++
			index[e.Thread]++
		}
	}
}

// signed undoes what [binary.AppendVarint] does to signed numbers.
func signed(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }
