package cdr

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// A flow block replaces a control block where control flow is
// recorded as arithmetic program paths ([ControlAPP]): what one thread did in
// one epoch, as the directions of its branches. Played back through the shell
// of the program that the trace carries it returns the blocks and events from
// which the control string is made, the same as a recorder of [ControlWPP] would have made.
//
//	payload = version stack pending marks points stream
//	version = byte 1: how names are made and how the program is analysed
//	stack   = uvarint frames, then varint differences, outermost first: the
//	          call stack when the epoch began
//	pending = byte 1 if the thread returned last and its innermost frame is
//	          therefore left as soon as the target is known, else 0
//	marks   = uvarint n, n bytes of kind (0 event, 1 unwound, 2 rewound, 3 pop,
//	          4 push), then for
//	          each varint a - a of the mark before of its kind and, for an event,
//	          uvarint b (column of its own)
//	points  = uvarint n, then for each checkpoint of the stream uvarint blocks
//	          (marks do not count) between the one before and it
//	stream  = of package app, over names of blocks and marks
//
// See flowShell for the names.
type flow struct {
	stack   []uint64
	pending bool
	marks   []mark
	points  []uint64 // blocks before each checkpoint of the stream
	stream  []byte
}

const flowVersion = 1

// mark is something between two blocks that is told beside them.
type mark struct {
	kind markKind
	a, b uint64
}

// markKind numbers are part of the format.
type markKind uint8

const (
	markEvent   markKind = iota // ordered event, a and b as in a termSync
	markUnwound                 // the stack is cut down to its a outermost frames
	markRewound                 // the frame a is put back
	markPop                     // code that is not recorded left a frames
	markPush                    // and called, to return to a
	numMarkKinds
)

// returns says whether control goes on at the innermost frame, which is left.
func (m mark) returns() bool {
	return m.kind == markEvent && m.b&1 != 0 || m.kind == markPop && m.a == 1
}

func (f *flow) encode() []byte {
	b := []byte{flowVersion}
	b = binary.AppendUvarint(b, uint64(len(f.stack)))
	prev := uint64(0)
	for _, x := range f.stack {
		b = binary.AppendVarint(b, int64(x-prev))
		prev = x
	}
	pending := byte(0)
	if f.pending {
		pending = 1
	}
	b = append(b, pending)
	b = binary.AppendUvarint(b, uint64(len(f.marks)))
	for _, m := range f.marks {
		b = append(b, byte(m.kind))
	}
	var last [numMarkKinds]uint64
	for _, m := range f.marks {
		b = binary.AppendVarint(b, int64(m.a-last[m.kind]))
		last[m.kind] = m.a
	}
	for _, m := range f.marks {
		if m.kind == markEvent {
			b = binary.AppendUvarint(b, m.b)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(f.points)))
	last = [numMarkKinds]uint64{}
	for _, n := range f.points {
		b = binary.AppendUvarint(b, n-last[0])
		last[0] = n
	}
	return append(b, f.stream...)
}

func decodeFlow(payload []byte) (*flow, error) {
	d := decode(payload)
	f := &flow{}
	if v := d.Byte(); d.Err == nil && v != flowVersion {
		return nil, fmt.Errorf("flow: %w %d", tracefmt.ErrVersion, v)
	}
	n := d.Count(1, "count")
	if n > maxStack+1 {
		d.Fail("call stack")
		n = 0
	}
	f.stack = make([]uint64, n)
	at := uint64(0)
	for i := range f.stack {
		at += uint64(d.Varint())
		f.stack[i] = at
	}
	pending := d.Byte()
	if pending > 1 {
		d.Fail("pending return")
	}
	f.pending = pending == 1
	n = d.Count(2, "count")
	if n > maxTerms {
		d.Fail("number of marks")
		n = 0
	}
	f.marks = make([]mark, n)
	for i := range f.marks {
		f.marks[i].kind = markKind(d.Byte())
		if f.marks[i].kind >= numMarkKinds {
			d.Fail("kind of a mark")
			break
		}
	}
	if d.Err == nil {
		f.decodeMarks(&d)
		f.points = make([]uint64, d.Count(1, "count"))
		at := uint64(0)
		for i := range f.points {
			at += d.Max(maxFlowBlocks+maxTableRows, "number out of range")
			f.points[i] = at
		}
	}
	if d.Err != nil {
		return nil, fmt.Errorf("flow: %w", d.Err)
	}
	f.stream = d.Rest
	return f, nil
}

func (f *flow) decodeMarks(d *decoder) {
	var last [numMarkKinds]uint64
	for i := range f.marks {
		m := &f.marks[i]
		last[m.kind] += uint64(d.Varint())
		m.a = last[m.kind]
	}
	for i := range f.marks {
		if m := &f.marks[i]; m.kind == markEvent {
			m.b = d.Max(uint64(event.NumKinds)*2-1, "number out of range")
		}
	}
}
