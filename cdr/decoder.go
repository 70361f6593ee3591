package cdr

import (
	"encoding/binary"
	"fmt"

	"hindsight/tracefmt"
)

// decoder takes numbers from the front of a payload. The first thing that is
// wrong sticks in err, and everything after it reads as zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %w", what, tracefmt.ErrMalformed)
	}
	d.b = nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("end of payload")
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

// max reads a number that must not exceed limit.
func (d *decoder) max(limit uint64) uint64 {
	v := d.uvarint()
	if v > limit {
		d.fail("number out of range")
		return 0
	}
	return v
}

// count reads a number of things that take at least size bytes each in what
// follows, so that it may be allocated for.
func (d *decoder) count(size int) int {
	v := d.uvarint()
	if v > uint64(len(d.b)/size) {
		d.fail("count")
		return 0
	}
	return int(v)
}

func (d *decoder) end() {
	if d.err == nil && len(d.b) != 0 {
		d.fail("bytes left over")
	}
}
