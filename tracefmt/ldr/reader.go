package ldr

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"hindsight/tracefmt/wire"
)

// Codes of the shapes section.
const (
	codeReset = 3
	codeItem  = 4

	// maxSection limits either section of a window: a definition and ten bytes for each
	// value in the worst case.
	maxSection = 8 << 20

	// maxSteps limits the work of expanding a window, in values computed. The writer's
	// output has at most two values per word and level.
	maxSteps = 2 * maxWords * (maxDepth + 2)
)

// Reader decompresses a trace as it is read. For bad input the error is a
// *wire.CorruptError. Memory is bounded by a window, its two sections and the table of
// shapes.
type Reader struct {
	wire.Stream
	in    *wire.Reader
	dec   *zstd.Decoder // nil when plain
	table table

	shapes, values []byte // the sections of the window
	body, vals     []byte // the unread parts of the sections
	words          int    // remaining words of the window
	steps          int
	scratch        [][]uint64 // by depth of the shape
	item           []uint64

	buf   []byte
	ended bool
}

// NewReader reads the head of a compressed trace.
func NewReader(r io.Reader) (*Reader, error) {
	in := wire.NewReader(r, "ldr")
	if err := in.Head(magic, Version); err != nil {
		return nil, err
	}
	how, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	z := &Reader{in: in, scratch: make([][]uint64, maxDepth+1)}
	z.Fill = z.fill
	switch how {
	case 0:
	case 1:
		dec, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(2*zstdWindow))
		if err != nil {
			return nil, fmt.Errorf("ldr: %w", err)
		}
		z.dec = dec
		z.in = wire.Decompressed(dec, "ldr")
	default:
		return nil, in.Fail(wire.ErrMalformed, "compression %d", how)
	}
	return z, nil
}

// Close releases the decoder.
func (z *Reader) Close() error {
	if z.dec != nil {
		z.dec.Close()
	}
	z.Stop(ErrClosed)
	return nil
}

// fill reads codes until there is something to return.
func (z *Reader) fill() ([]byte, error) {
	if z.ended {
		return nil, io.EOF
	}
	if z.words == 0 {
		if len(z.body) > 0 || len(z.vals) > 0 {
			return nil, z.in.Fail(wire.ErrMalformed, "%d and %d bytes behind the end of a window", len(z.body), len(z.vals))
		}
		return z.section()
	}
	z.buf = z.buf[:0]
	for len(z.buf) == 0 {
		code, err := z.code(codeItem+maxShapes, "code")
		if err != nil {
			return nil, err
		}
		switch {
		case code >= codeItem:
			err = z.expandItem(uint32(code - codeItem))
		case code == codeReset:
			z.table.reset()
		default:
			err = z.define(shapeKind(code))
		}
		if err != nil {
			return nil, err
		}
	}
	return z.buf, nil
}

// section reads the next window, or the end.
func (z *Reader) section() ([]byte, error) {
	words, err := z.in.Uvarint(maxWords, "words of a window")
	if err != nil {
		return nil, err
	}
	if words == 0 {
		z.ended = true
		return z.in.Tail(wordSize)
	}
	for _, s := range []*[]byte{&z.shapes, &z.values} {
		n, err := z.in.Uvarint(maxSection, "length of a section")
		if err != nil {
			return nil, err
		}
		if *s, err = z.in.Append((*s)[:0], n); err != nil {
			return nil, err
		}
	}
	z.body, z.vals, z.words, z.steps = z.shapes, z.values, int(words), 0
	return nil, nil
}

// code reads a number of the shapes section.
func (z *Reader) code(limit uint64, what string) (uint64, error) {
	v, n := binary.Uvarint(z.body)
	if n <= 0 || v > limit {
		return 0, z.in.Fail(wire.ErrMalformed, "%s in the shapes of the window that ends here", what)
	}
	z.body = z.body[n:]
	return v, nil
}

// member reads a distance back to a shape.
func (z *Reader) member() (uint32, error) {
	d, err := z.code(uint64(len(z.table.shapes)), "distance to a shape")
	if err == nil && d == 0 {
		err = z.in.Fail(wire.ErrMalformed, "a shape in itself")
	}
	return uint32(len(z.table.shapes)) - uint32(d), err
}

// define reads the definition of a shape.
func (z *Reader) define(kind shapeKind) error {
	s := shape{kind: kind}
	switch kind {
	case blockShape:
		n, err := z.code(2*maxBlockData+1, "data words of a block")
		if err != nil {
			return err
		}
		s.words = uint32(n / 2)
		if n&1 == 1 {
			d, err := z.code(math.MaxUint64, "leader")
			if err != nil {
				return err
			}
			z.table.leader += unzigzag(d)
			s.leader = z.table.leader | leaderBit
			s.words++
		}
		if s.words == 0 {
			return z.in.Fail(wire.ErrMalformed, "a block of no words")
		}
	case sequenceShape:
		n, err := z.code(uint64(len(z.body)), "members of a sequence")
		if err != nil {
			return err
		}
		if n == 0 {
			return z.in.Fail(wire.ErrMalformed, "an empty sequence")
		}
		for range n {
			m, err := z.member()
			if err != nil {
				return err
			}
			s.members = append(s.members, m)
		}
	case loopShape:
		m, err := z.member()
		if err != nil {
			return err
		}
		s.members = []uint32{m}
		if err := z.kinds(&s); err != nil {
			return err
		}
	}
	if _, err := z.table.add(s); err != nil {
		return z.in.Fail(wire.ErrTooLarge, "table of shapes: %v", err)
	}
	return nil
}

// kinds reads which values of a loop's body are chaotic.
func (z *Reader) kinds(s *shape) error {
	width := int(z.table.shapes[s.members[0]].values)
	if len(z.body) < (width+7)/8 {
		return z.in.Fail(wire.ErrMalformed, "kinds of values are cut off")
	}
	s.chaotic = make([]bool, width)
	any := false
	for j := range s.chaotic {
		s.chaotic[j] = z.body[j/8]>>(j%8)&1 == 1
		any = any || s.chaotic[j]
	}
	z.body = z.body[(width+7)/8:]
	if any {
		n, err := z.code(maxWords, "iterations")
		if err != nil {
			return err
		}
		if n == 0 {
			return z.in.Fail(wire.ErrMalformed, "a loop of no iterations")
		}
		s.count = uint32(n)
	}
	return nil
}

// expandItem reads an item's values and appends its words.
func (z *Reader) expandItem(id uint32) error {
	if int(id) >= len(z.table.shapes) {
		return z.in.Fail(wire.ErrMalformed, "item of shape %d of %d", id, len(z.table.shapes))
	}
	s := &z.table.shapes[id]
	z.item = z.item[:0]
	bad := false
	eachValue(s, func(chain bool) {
		v, n := binary.Uvarint(z.vals)
		if n <= 0 || bad {
			bad = true
			return
		}
		z.vals = z.vals[n:]
		j := len(z.item)
		p := &s.history[j]
		predicted := z.table.predict(s, p)
		if chain {
			predicted = z.item[j-1]
		}
		z.item = append(z.item, predicted+unzigzag(v))
		z.table.update(s, p, z.item[j])
	})
	if bad {
		return z.in.Fail(wire.ErrMalformed, "values are cut off in the window that ends here")
	}
	return z.expand(s, z.item)
}

// expand appends the words of an item.
func (z *Reader) expand(s *shape, values []uint64) error {
	z.steps += len(values) + 1
	if z.steps > maxSteps {
		return z.in.Fail(wire.ErrTooLarge, "work of a window")
	}
	switch s.kind {
	case blockShape:
		z.words -= int(s.words)
		if z.words < 0 {
			return z.in.Fail(wire.ErrMalformed, "more words than the window has")
		}
		if s.leader != 0 {
			z.buf = binary.LittleEndian.AppendUint64(z.buf, s.leader)
		}
		for _, v := range values {
			if v >= leaderBit {
				return z.in.Fail(wire.ErrMalformed, "a data address with bit 63")
			}
			z.buf = binary.LittleEndian.AppendUint64(z.buf, v)
		}
	case sequenceShape:
		for _, m := range s.members {
			member := &z.table.shapes[m]
			if err := z.expand(member, values[:member.values]); err != nil {
				return err
			}
			values = values[member.values:]
		}
	case loopShape:
		return z.expandLoop(s, values)
	}
	return nil
}

func (z *Reader) expandLoop(s *shape, values []uint64) error {
	count := uint64(s.count)
	if count == 0 {
		count, values = values[0], values[1:]
		if count == 0 {
			return z.in.Fail(wire.ErrMalformed, "a loop of no iterations")
		}
	}
	body := &z.table.shapes[s.members[0]]
	row := z.scratch[s.depth]
	if cap(row) < len(s.chaotic) {
		row = make([]uint64, len(s.chaotic))
		z.scratch[s.depth] = row
	}
	row = row[:len(s.chaotic)]
	for i := range count {
		v := values
		for j, c := range s.chaotic {
			if c {
				row[j], v = v[i], v[s.count:]
			} else {
				row[j], v = v[0]+i*v[1], v[2:]
			}
		}
		if err := z.expand(body, row); err != nil {
			return err
		}
	}
	return nil
}
