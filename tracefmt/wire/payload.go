package wire

import (
	"encoding/binary"
	"fmt"
)

// Payload takes numbers and bytes from the front of a payload in memory. Its first error
// is sticky: everything after it reads as zero, and Err is that error. The zero value is
// empty.
type Payload struct {
	Rest []byte // what is still to be read
	Err  error  // the first error; it wraps ErrMalformed
}

// Fail records an error, if it is the first, and ends the payload.
func (p *Payload) Fail(what string) {
	if p.Err == nil {
		p.Err = fmt.Errorf("%s: %w", what, ErrMalformed)
	}
	p.Rest = nil
}

// Byte reads one byte.
func (p *Payload) Byte() byte {
	if len(p.Rest) == 0 {
		p.Fail("end of payload")
		return 0
	}
	v := p.Rest[0]
	p.Rest = p.Rest[1:]
	return v
}

// Uvarint reads an unsigned number in LEB128.
func (p *Payload) Uvarint() uint64 {
	v, n := binary.Uvarint(p.Rest)
	if n <= 0 {
		p.Fail("number")
		return 0
	}
	p.Rest = p.Rest[n:]
	return v
}

// Varint reads a signed number in zigzag form.
func (p *Payload) Varint() int64 {
	v, n := binary.Varint(p.Rest)
	if n <= 0 {
		p.Fail("number")
		return 0
	}
	p.Rest = p.Rest[n:]
	return v
}

// Max reads a number that must not exceed limit. what is the name of the number in the
// error.
func (p *Payload) Max(limit uint64, what string) uint64 {
	v := p.Uvarint()
	if v > limit {
		p.Fail(what)
		return 0
	}
	return v
}

// Below reads a number that must be less than limit.
func (p *Payload) Below(limit uint64, what string) uint64 {
	v := p.Uvarint()
	if v >= limit {
		p.Fail(what)
		return 0
	}
	return v
}

// Count reads a number of elements that take at least size bytes each in the rest of the
// payload. Memory for them may therefore be allocated.
func (p *Payload) Count(size int, what string) int {
	return int(p.Max(uint64(len(p.Rest)/size), what))
}

// Take returns the next n bytes, which share memory with the payload.
func (p *Payload) Take(n uint64) []byte {
	if n > uint64(len(p.Rest)) {
		p.Fail("length")
		return nil
	}
	v := p.Rest[:n:n]
	p.Rest = p.Rest[n:]
	return v
}

// End records an error unless the payload is at its end.
func (p *Payload) End() {
	if len(p.Rest) != 0 {
		p.Fail("bytes behind the end")
	}
}
