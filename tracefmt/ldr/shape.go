package ldr

import (
	"encoding/binary"
	"errors"
)

const (
	leaderBit = 1 << 63

	maxWords     = 1 << 17 // of a window
	maxBlockData = 255     // data words of a block; further ones form a block without leader
	maxShapes    = 1 << 16
	maxPlaces    = 1 << 20 // values of all shapes together
	maxMembers   = 1 << 20 // of all sequences together
	maxDepth     = 64      // of shapes in shapes
)

type shapeKind uint8

const (
	blockShape shapeKind = iota
	sequenceShape
	loopShape
)

// shape is a part of a trace without its values.
type shape struct {
	kind    shapeKind
	depth   uint8
	values  uint32   // number of values of an item of this shape
	words   uint32   // of a block
	leader  uint64   // of a block: its first word, or 0 without a leader
	members []uint32 // of a sequence; for a loop, its body alone
	chaotic []bool   // of a loop, by value of the body
	count   uint32   // of a loop with chaotic values: its iterations; otherwise 0
	history []place  // one for each value, at the top level
}

// place predicts a value from the previous ones at the same place of the same shape: the
// last one plus the stride, once it was seen twice.
type place struct {
	last, stride, seen uint64
	known              bool // there was a value before
}

func (p *place) predict() uint64 { return p.last + p.stride }

func (p *place) update(v uint64) {
	if !p.known {
		p.known, p.last = true, v
		return
	}
	d := v - p.last
	if d == p.seen {
		p.stride = d
	}
	p.seen, p.last = d, v
}

// table has the shapes known so far. Writer and reader keep identical tables.
type table struct {
	shapes  []shape
	places  int
	members int
	leader  uint64 // of the last defined block
	near    uint64 // the last data address of a block item
}

var errShape = errors.New("impossible shape")

// fits reports whether there is room for a shape with these numbers of values and
// members.
func (t *table) fits(values, members int) bool {
	return len(t.shapes) < maxShapes && t.places+values <= maxPlaces && t.members+members <= maxMembers
}

func (t *table) reset() { *t = table{shapes: t.shapes[:0]} }

// add completes a shape and returns its number. Its members are in the table.
func (t *table) add(s shape) (uint32, error) {
	values := 0
	switch s.kind {
	case blockShape:
		values = int(s.words)
		if s.leader != 0 {
			values--
		}
	case sequenceShape:
		for _, m := range s.members {
			values += int(t.shapes[m].values)
			s.depth = max(s.depth, t.shapes[m].depth+1)
			if values > maxPlaces {
				return 0, errShape
			}
		}
	case loopShape:
		s.depth = t.shapes[s.members[0]].depth + 1
		if s.count == 0 {
			values++
		}
		for _, c := range s.chaotic {
			if c {
				values += int(s.count)
			} else {
				values += 2
			}
			if values > maxPlaces {
				return 0, errShape
			}
		}
	}
	if s.depth > maxDepth || !t.fits(values, len(s.members)) {
		return 0, errShape
	}
	s.values = uint32(values)
	s.history = make([]place, values)
	t.places += values
	t.members += len(s.members)
	t.shapes = append(t.shapes, s)
	return uint32(len(t.shapes) - 1), nil
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// residuals appends the differences of an item's values from their predictions, and
// stores the values for later predictions.
func (t *table) residuals(dst []byte, s *shape, values []uint64) []byte {
	j := 0
	eachValue(s, func(chain bool) {
		p := &s.history[j]
		predicted := t.predict(s, p)
		if chain {
			predicted = values[j-1]
		}
		dst = binary.AppendUvarint(dst, zigzag(values[j]-predicted))
		t.update(s, p, values[j])
		j++
	})
	return dst
}

// predict returns the value expected at a place of an item. A block that occurs for the
// first time has its data near those of the previous block.
func (t *table) predict(s *shape, p *place) uint64 {
	if !p.known && s.kind == blockShape {
		return t.near
	}
	return p.predict()
}

func (t *table) update(s *shape, p *place, v uint64) {
	p.update(v)
	if s.kind == blockShape {
		t.near = v
	}
}

// eachValue calls f for the values of a shape in order. chain says that a value follows
// another one of the same chaotic reference, from which it is predicted.
func eachValue(s *shape, f func(chain bool)) {
	if s.kind != loopShape || s.count == 0 {
		for range s.values {
			f(false)
		}
		return
	}
	for _, c := range s.chaotic {
		if !c {
			f(false)
			f(false)
			continue
		}
		for i := range s.count {
			f(i > 0)
		}
	}
}
