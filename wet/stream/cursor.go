package stream

import (
	"fmt"
	"sort"
)

// Cursor is a position between two values of a stream, from 0, before the first, to Len,
// after the last. A step costs the same in either direction. A Cursor belongs to one
// goroutine and need not be closed.
type Cursor struct {
	s   *Stream
	pos uint64

	last   uint64 // the previous value, if symbols are strides
	misses uint64 // last-n: misses before pos

	// Context methods: the state of figure 5.
	ctx          context
	line         uint64 // hash of ctx
	frTab, blTab []uint64
	frMiss       uint64 // FR misses before pos
	blMiss       uint64 // BL misses from pos on
}

// Cursor returns a cursor before the first value. The first cursor of a stream with a
// context method decodes the stream once, to build the form that can be walked in both
// directions.
func (s *Stream) Cursor() *Cursor {
	s.open()
	c := &Cursor{s: s}
	if s.two != nil {
		c.ctx = newContext(s.method.order(), s.bits)
		c.frTab = make([]uint64, 1<<s.bits)
		c.blTab = make([]uint64, 1<<s.bits)
		c.load(&s.two.checks[0])
	}
	return c
}

// Pos returns the number of values before the cursor.
func (c *Cursor) Pos() uint64 { return c.pos }

// Next returns the value after the cursor and steps over it. ok is false at the end.
func (c *Cursor) Next() (v uint64, ok bool) {
	s := c.s
	if c.pos == s.n {
		return 0, false
	}
	switch s.method.family() {
	case familyPlain:
		v = s.missed.at(c.pos)
	case familyLast:
		if code := s.codes.at(c.pos); code == 0 {
			v = s.missed.at(c.misses)
			c.misses++
		} else {
			v = s.missed.at(c.misses - code)
		}
	default:
		v = c.stepForward()
	}
	c.pos++
	if s.method.strides() {
		c.last += unzigzag(v)
		v = c.last
	}
	return v, true
}

// Prev returns the value before the cursor and steps back over it. ok is false at the
// beginning.
func (c *Cursor) Prev() (v uint64, ok bool) {
	s := c.s
	if c.pos == 0 {
		return 0, false
	}
	c.pos--
	switch s.method.family() {
	case familyPlain:
		v = s.missed.at(c.pos)
	case familyLast:
		if code := s.codes.at(c.pos); code == 0 {
			c.misses--
			v = s.missed.at(c.misses)
		} else {
			v = s.missed.at(c.misses - code)
		}
	default:
		v = c.stepBack()
	}
	if s.method.strides() {
		c.last, v = c.last-unzigzag(v), c.last
	}
	return v, true
}

// stepForward is figure 5's forward traversal from pos to pos+1. It takes the next symbol
// out of BL with the left context, then puts the symbol that leaves the context into FR
// with the right context.
func (c *Cursor) stepForward() uint64 {
	two := c.s.two
	line := &c.blTab[c.line]
	sym := *line
	if !two.bl.at(c.pos) {
		c.blMiss--
		*line = two.blOld.at(c.blMiss)
	}
	out := c.ctx.push(sym)
	c.line = c.ctx.hash()
	if line := &c.frTab[c.line]; *line != out {
		*line = out // FR has the old value
		c.frMiss++
	}
	return sym
}

// stepBack is figure 5's backward traversal, from pos+1 to pos: it takes a
// symbol out of FR with the right context, then puts the symbol that leaves the
// context into BL with the left context.
func (c *Cursor) stepBack() uint64 {
	two := c.s.two
	line := &c.frTab[c.line]
	in := *line
	if !two.fr.at(c.pos) {
		c.frMiss--
		*line = two.frOld.at(c.frMiss)
	}
	sym := c.ctx.pull(in)
	c.line = c.ctx.hash()
	if line := &c.blTab[c.line]; *line != sym {
		*line = sym
		c.blMiss++
	}
	return sym
}

// Seek moves the cursor to pos, which is at most Len. It steps there from its position or
// from the nearest checkpoint, whichever is closer.
func (c *Cursor) Seek(pos uint64) error {
	if pos > c.s.n {
		return fmt.Errorf("%w: %d in a stream of %d values", ErrPosition, pos, c.s.n)
	}
	switch c.s.method.family() {
	case familyPlain:
		c.pos = pos
		return nil
	case familyLast:
		at := pos / rankEvery
		if distance(at*rankEvery, pos) < distance(c.pos, pos) {
			r := c.s.rank.at[at]
			c.pos, c.misses, c.last = at*rankEvery, r.misses, r.last
		}
	default:
		near := c.s.two.nearest(pos)
		// Copying the tables of a checkpoint costs about one step per line.
		if distance(near.pos, pos)+uint64(len(c.frTab)/4) < distance(c.pos, pos) {
			c.load(near)
		}
	}
	for c.pos < pos {
		c.Next()
	}
	for c.pos > pos {
		c.Prev()
	}
	return nil
}

// Search moves the cursor before the first value that is not below v, and reports whether
// there is one. If not, the cursor is at the end. The values must not decrease, as
// timestamps do not. Search uses checkpoints first.
func (c *Cursor) Search(v uint64) bool {
	every := uint64(1)
	switch c.s.method.family() {
	case familyLast:
		every = rankEvery
	case familyContext:
		every = c.s.two.every
	}
	reached := func(pos uint64) bool {
		_ = c.Seek(pos) // pos is in the stream
		x, ok := c.Next()
		return !ok || x >= v
	}
	k := uint64(sort.Search(int(c.s.n/every)+1, func(k int) bool { return reached(uint64(k) * every) }))
	// The value at checkpoint k-1 is below v, the one at k is not.
	_ = c.Seek((max(k, 1) - 1) * every)
	for x, ok := c.Next(); ok; x, ok = c.Next() {
		if x >= v {
			c.Prev()
			return true
		}
	}
	return false
}

func (c *Cursor) load(k *check) {
	c.pos, c.last, c.frMiss, c.blMiss = k.pos, k.last, k.frMiss, k.blMiss
	c.ctx.sym = k.sym
	c.line = c.ctx.hash()
	copy(c.frTab, k.frTab)
	copy(c.blTab, k.blTab)
}
