package format

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// A flow block replaces a control block if control flow is recorded as arithmetic program
// paths ([ControlAPP]). It says what one thread did in one epoch, as the directions of
// its branches. Playing it back through the shell of the program in the trace returns the
// blocks and events, and so the control string that a recorder of [ControlWPP] would have
// written.
//
//	payload = version stack pending marks points stream
//	version = byte 1: how names are formed and how the program is analysed
//	stack   = uvarint frames, then varint differences, outermost first: the
//	          call stack when the epoch began
//	pending = byte 1 if the thread's last step was a return, so that its innermost
//	          frame is popped as soon as the target is known, else 0
//	marks   = uvarint n, n bytes of kind (0 event, 1 unwound, 2 rewound, 3 pop,
//	          4 push), then for
//	          each varint a - a of the previous mark of its kind and, for an event,
//	          uvarint b (in its own column)
//	points  = uvarint n, then for each checkpoint of the stream uvarint blocks
//	          (without marks) since the previous checkpoint
//	stream  = of package app, over names of blocks and marks
//
// See [FlowShell] for the names.
type Flow struct {
	Stack   []uint64
	Pending bool
	Marks   []Mark
	Points  []uint64 // block executions before each checkpoint of the stream
	Stream  []byte
}

const flowVersion = 1

// Mark is something that happened between two blocks.
type Mark struct {
	Kind markKind
	A, B uint64
}

// markKind numbers are part of the format.
type markKind uint8

const (
	MarkEvent   markKind = iota // ordered event; a and b as in TermSync
	MarkUnwound                 // the stack is cut down to its a outermost frames
	MarkRewound                 // the frame a is put back
	MarkPop                     // code that is not recorded returned from a frames
	MarkPush                    // code that is not recorded called, with return address a
	numMarkKinds
)

// Returns reports whether control leaves the innermost frame and continues at its
// return address.
func (m Mark) Returns() bool {
	return m.Kind == MarkEvent && m.B&1 != 0 || m.Kind == MarkPop && m.A == 1
}

func (f *Flow) Encode() []byte {
	b := []byte{flowVersion}
	b = binary.AppendUvarint(b, uint64(len(f.Stack)))
	prev := uint64(0)
	for _, x := range f.Stack {
		b = binary.AppendVarint(b, int64(x-prev))
		prev = x
	}
	pending := byte(0)
	if f.Pending {
		pending = 1
	}
	b = append(b, pending)
	b = binary.AppendUvarint(b, uint64(len(f.Marks)))
	for _, m := range f.Marks {
		b = append(b, byte(m.Kind))
	}
	var last [numMarkKinds]uint64
	for _, m := range f.Marks {
		b = binary.AppendVarint(b, int64(m.A-last[m.Kind]))
		last[m.Kind] = m.A
	}
	for _, m := range f.Marks {
		if m.Kind == MarkEvent {
			b = binary.AppendUvarint(b, m.B)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(f.Points)))
	last = [numMarkKinds]uint64{}
	for _, n := range f.Points {
		b = binary.AppendUvarint(b, n-last[0])
		last[0] = n
	}
	return append(b, f.Stream...)
}

func DecodeFlow(payload []byte) (*Flow, error) {
	d := decode(payload)
	f := &Flow{}
	if v := d.Byte(); d.Err == nil && v != flowVersion {
		return nil, fmt.Errorf("flow: %w %d", tracefmt.ErrVersion, v)
	}
	n := d.Count(1, "count")
	if n > MaxStack+1 {
		d.Fail("call stack")
		n = 0
	}
	f.Stack = make([]uint64, n)
	at := uint64(0)
	for i := range f.Stack {
		at += uint64(d.Varint())
		f.Stack[i] = at
	}
	pending := d.Byte()
	if pending > 1 {
		d.Fail("pending return")
	}
	f.Pending = pending == 1
	n = d.Count(2, "count")
	if n > MaxTerms {
		d.Fail("number of marks")
		n = 0
	}
	f.Marks = make([]Mark, n)
	for i := range f.Marks {
		f.Marks[i].Kind = markKind(d.Byte())
		if f.Marks[i].Kind >= numMarkKinds {
			d.Fail("kind of a mark")
			break
		}
	}
	if d.Err == nil {
		f.decodeMarks(&d)
		f.Points = make([]uint64, d.Count(1, "count"))
		at := uint64(0)
		for i := range f.Points {
			at += d.Max(MaxFlowBlocks+MaxTableRows, "number out of range")
			f.Points[i] = at
		}
	}
	if d.Err != nil {
		return nil, fmt.Errorf("flow: %w", d.Err)
	}
	f.Stream = d.Rest
	return f, nil
}

func (f *Flow) decodeMarks(d *decoder) {
	var last [numMarkKinds]uint64
	for i := range f.Marks {
		m := &f.Marks[i]
		last[m.Kind] += uint64(d.Varint())
		m.A = last[m.Kind]
	}
	for i := range f.Marks {
		if m := &f.Marks[i]; m.Kind == MarkEvent {
			m.B = d.Max(uint64(event.NumKinds)*2-1, "number out of range")
		}
	}
}

// MaxFlowBlocks limits the block executions of a thread in an epoch, and so the time of a
// playback.
const MaxFlowBlocks = 1 << 26
