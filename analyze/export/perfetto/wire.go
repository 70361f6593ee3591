package perfetto

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers, by message.
const (
	// Trace
	tracePacket = 1
	// TracePacket
	packetTimestamp  = 8
	packetSequence   = 10
	packetEvent      = 11
	packetFlags      = 13
	packetDescriptor = 60
	// TrackDescriptor
	trackUUID    = 1
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	// ProcessDescriptor
	processPID  = 1
	processName = 6
	// ThreadDescriptor
	threadPID  = 1
	threadTID  = 2
	threadName = 5
	// TrackEvent
	eventAnnotations = 4
	eventType        = 9
	eventTrack       = 11
	eventCategories  = 22
	eventName        = 23
	eventFlows       = 47
	eventFlowEnds    = 48
	// DebugAnnotation
	annotationUint   = 3
	annotationString = 6
	annotationName   = 10
)

// Values of TrackEvent.Type, and of TracePacket.SequenceFlags.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3

	stateCleared = 1
)

// sequence is the number of the only sequence of packets.
const sequence = 1

// message is a message that is being built.
type message []byte

func (m *message) varint(field protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

func (m *message) fixed(field protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) inner(field protowire.Number, inner message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

// writer writes packets.
type writer struct {
	out   *bufio.Writer
	begun bool
	err   error
}

func newWriter(out io.Writer) *writer { return &writer{out: bufio.NewWriter(out)} }

func (w *writer) packet(m message) {
	m.varint(packetSequence, sequence)
	if !w.begun {
		m.varint(packetFlags, stateCleared)
		w.begun = true
	}
	var whole message
	whole.inner(tracePacket, m)
	if _, err := w.out.Write(whole); err != nil && w.err == nil {
		w.err = err
	}
}

// descriptor describes a track.
func (w *writer) descriptor(track message) {
	var m message
	m.inner(packetDescriptor, track)
	w.packet(m)
}

// event writes an event of a track.
func (w *writer) event(at uint64, event message) {
	var m message
	m.varint(packetTimestamp, at)
	m.inner(packetEvent, event)
	w.packet(m)
}

func newEvent(kind, track uint64) (m message) {
	m.varint(eventType, kind)
	m.varint(eventTrack, track)
	return m
}

func (m *message) note(name, value string) {
	var a message
	a.text(annotationName, name)
	a.text(annotationString, value)
	m.inner(eventAnnotations, a)
}

func (m *message) number(name string, value uint64) {
	var a message
	a.text(annotationName, name)
	a.varint(annotationUint, value)
	m.inner(eventAnnotations, a)
}
