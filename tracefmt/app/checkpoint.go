package app

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"hindsight/tracefmt/wire"
)

// Checkpoint is a place where reading can start.
type Checkpoint struct {
	Blocks uint64 // blocks before the checkpoint
	Offset int64  // bytes of the stream before the checkpoint
}

// maxEnd limits the end of a stream that [Checkpoints] reads, to some four million
// checkpoints.
const maxEnd = 64 << 20

// Checkpoints returns the checkpoints of a stream of size bytes, in order. The start of
// the stream is not one.
func Checkpoints(r io.ReaderAt, size int64) ([]Checkpoint, error) {
	fail := func(off int64, kind error, what string) error {
		return &wire.CorruptError{Format: format, Offset: off, Err: fmt.Errorf("%w: %s", kind, what)}
	}
	const fixed = 4 + 8 + len(trailer)
	var tail [fixed]byte
	if size < int64(fixed) {
		return nil, fail(size, wire.ErrTruncated, "no end")
	}
	if err := readAt(r, tail[:], size-int64(fixed)); err != nil {
		return nil, err
	}
	start := binary.LittleEndian.Uint64(tail[4:])
	if string(tail[12:]) != trailer || start >= uint64(size)-uint64(fixed) {
		return nil, fail(size, wire.ErrTruncated, "no end")
	}
	off := int64(start)
	if size-off > maxEnd {
		return nil, fail(off, wire.ErrTooLarge, "list of checkpoints")
	}
	b := make([]byte, size-int64(fixed)-off)
	if err := readAt(r, b, off); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(b) != binary.LittleEndian.Uint32(tail[:]) {
		return nil, fail(off, wire.ErrChecksum, "end")
	}
	p := parser{in: b}
	p.uvarint(0, "end")
	blocks := p.uvarint(1<<63-1, "blocks")
	var list []Checkpoint
	var last Checkpoint
	for range p.uvarint(maxEnd, "checkpoints") {
		last.Blocks += p.uvarint(1<<63-1, "blocks to a checkpoint")
		last.Offset += int64(p.uvarint(uint64(size), "offset of a checkpoint"))
		if p.bad != "" || last.Blocks > blocks || last.Offset >= off {
			p.fail("a checkpoint after the end")
			break
		}
		list = append(list, last)
	}
	if p.bad != "" || len(p.in) > 0 {
		return nil, fail(off, wire.ErrMalformed, "list of checkpoints: "+p.bad)
	}
	return list, nil
}

func readAt(r io.ReaderAt, b []byte, off int64) error {
	return wire.NewReader(io.NewSectionReader(r, off, int64(len(b))), format).ReadFull(b)
}

// NewDecoderAt reads a stream of size bytes from one of its [Checkpoints]. The
// first block that it returns is the one with number c.Blocks, counted from 0.
func NewDecoderAt(r io.ReaderAt, size int64, shell Shell, c Checkpoint) (*Decoder, error) {
	d, err := NewDecoder(io.NewSectionReader(r, 0, size), shell)
	if err != nil {
		return nil, err
	}
	d.in = wire.NewReader(io.NewSectionReader(r, c.Offset, size-c.Offset), format)
	d.from, d.blocks = false, c.Blocks
	return d, nil
}
