package arch

import "hindsight/tracefmt/event"

// Stream is one of the history strings of a thread.
type Stream uint8

const (
	Loads    Stream = iota // 1: the load missed
	Stores                 // 1: the store missed; an atomic read-modify-write is a store
	Branches               // 1: the conditional branch was mispredicted
	NumStreams
)

// History receives history bits as they are produced: the next n bits of a stream of a
// thread, the first one in the lowest bit of bits[0]. The slice may be reused after the
// call.
type History interface {
	Append(t event.ThreadID, s Stream, bits []uint64, n int)
}

// historyChunk is the number of bits collected before they are passed on.
const historyChunk = 1 << 12

// bitBuffer collects a stream.
type bitBuffer struct {
	bits []uint64
	n    int
}

func (b *bitBuffer) add(bit bool) {
	if b.n>>6 == len(b.bits) {
		b.bits = append(b.bits, 0)
	}
	if bit {
		b.bits[b.n>>6] |= 1 << (b.n & 63)
	}
	b.n++
}

// note adds a bit to a stream of a hart.
func (m *Model) note(h *hart, s Stream, bit bool) {
	if m.cfg.History == nil {
		return
	}
	b := &h.streams[s]
	b.add(bit)
	if b.n == historyChunk {
		m.handOver(h, s)
	}
}

func (m *Model) handOver(h *hart, s Stream) {
	b := &h.streams[s]
	if b.n > 0 {
		m.cfg.History.Append(h.id, s, b.bits, b.n)
		b.bits, b.n = b.bits[:0], 0
	}
}

// Flush passes on the history bits collected so far.
func (m *Model) Flush() {
	if m.cfg.History == nil {
		return
	}
	for _, h := range m.harts {
		for s := range NumStreams {
			if h != nil {
				m.handOver(h, s)
			}
		}
	}
}
