package archinfo

import (
	"encoding/binary"
	"fmt"
	"iter"

	"hindsight/tracefmt/wire"
)

// Stream is one of the history strings of a thread.
type Stream uint8

const (
	Loads      Stream = iota // 1 if the load missed
	Stores                   // 1 if the store missed
	Branches                 // 1 if the conditional branch was mispredicted
	NumStreams = 3
)

const form = 1

// HistoryEncoder collects the history of one thread in one epoch. It keeps only the coded
// bits. The zero value is empty.
type HistoryEncoder struct {
	streams [NumStreams]*bitEncoder
}

// Append adds the next n bits of a stream, the first in the lowest bit of
// bits[0].
func (h *HistoryEncoder) Append(s Stream, bits []uint64, n int) {
	e := h.streams[s]
	if e == nil {
		e = new(bitEncoder)
		e.reset()
		h.streams[s] = e
	}
	for i := range n {
		e.add(uint32(bits[i>>6]>>(i&63)) & 1)
	}
}

// Empty reports whether there is nothing to write.
func (h *HistoryEncoder) Empty() bool {
	for _, e := range h.streams {
		if e != nil && e.bits > 0 {
			return false
		}
	}
	return true
}

// Payload returns the arch block of what was added since the last call, and resets the
// encoder.
func (h *HistoryEncoder) Payload() []byte {
	b := []byte{form}
	for _, e := range h.streams {
		if e == nil {
			b = append(b, 0, 0, 0)
			continue
		}
		code := e.finish()
		b = binary.AppendUvarint(b, e.bits)
		b = binary.AppendUvarint(b, e.ones)
		b = binary.AppendUvarint(b, uint64(len(code)))
		b = append(b, code...)
		e.reset()
	}
	return b
}

// History is an arch block that has not been expanded yet.
type History struct {
	streams [NumStreams]coded
}

type coded struct {
	bits, ones uint64
	code       []byte
}

// DecodeHistory decodes an arch block. It keeps the payload.
func DecodeHistory(payload []byte) (*History, error) {
	d := decode(payload)
	if d.Byte() != form {
		d.Fail("form")
	}
	h := new(History)
	for i := range h.streams {
		s := &h.streams[i]
		s.bits, s.ones = d.Uvarint(), d.Uvarint()
		s.code = d.Take(d.Uvarint())
		if s.ones > s.bits || s.bits > uint64(len(s.code))*maxExpansion {
			d.Fail("number of history bits")
		}
	}
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("arch: %w", d.Err)
	}
	return h, nil
}

// Bits returns a stream bit by bit. It ends with an error if the code has another number
// of bits, or of ones, than the block says.
func (h *History) Bits(s Stream) iter.Seq2[bool, error] {
	return func(yield func(bool, error) bool) {
		c := &h.streams[s]
		if c.bits == 0 {
			return
		}
		d := new(bitDecoder)
		d.reset(c.code)
		ones := uint64(0)
		for range c.bits {
			bit := d.bit()
			if d.coder.Overrun() {
				yield(false, fmt.Errorf("arch: history bits end early: %w", wire.ErrMalformed))
				return
			}
			ones += uint64(bit)
			if !yield(bit == 1, nil) {
				return
			}
		}
		if ones != c.ones || d.coder.Rest() != 0 {
			yield(false, fmt.Errorf("arch: history bits differ from their count: %w", wire.ErrMalformed))
		}
	}
}

type decoder struct{ wire.Payload }

func decode(payload []byte) decoder {
	return decoder{wire.Payload{Rest: payload}}
}
