package stream

import (
	"iter"
	"sync"
)

// Stream is an immutable compressed sequence of values. It is safe for concurrent use;
// each goroutine uses its own [Cursor].
type Stream struct {
	method Method
	bits   uint // of a table index
	n      uint64
	codes  packed // one code per value
	missed packed // symbols that were not predicted, in order

	once sync.Once
	two  *bidirectional // context methods
	rank *ranks         // last-n methods
}

// Len returns the number of values.
func (s *Stream) Len() uint64 { return s.n }

// Method returns how the stream is predicted.
func (s *Stream) Method() Method { return s.method }

// Size returns the length of the binary form in bytes.
func (s *Stream) Size() int { return len(s.AppendBinary(nil)) }

// Memory prepares the stream for cursors, and returns its size in memory in bytes.
func (s *Stream) Memory() uint64 {
	s.open()
	m := s.codes.bytes() + s.missed.bytes()
	if s.two != nil {
		m += s.two.bytes()
	}
	if s.rank != nil {
		m += 16 * uint64(len(s.rank.at))
	}
	return m
}

// open builds what cursors walk on, once.
func (s *Stream) open() {
	s.once.Do(func() {
		switch s.method.family() {
		case familyLast:
			s.rank = newRanks(s)
		case familyContext:
			s.two = newBidirectional(s)
		}
	})
}

// symbols decodes the one-directional form.
func (s *Stream) symbols() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		var ctx context
		var table []uint64
		if s.method.family() == familyContext {
			ctx = newContext(s.method.order(), s.bits)
			table = make([]uint64, 1<<s.bits)
		}
		misses := uint64(0)
		for i := range s.n {
			var sym uint64
			code := s.codes.at(i)
			switch {
			case code == 0:
				sym = s.missed.at(misses)
				misses++
			case table != nil:
				sym = table[ctx.hash()]
			default:
				sym = s.missed.at(misses - code)
			}
			if table != nil {
				table[ctx.hash()] = sym
				ctx.push(sym)
			}
			if !yield(sym) {
				return
			}
		}
	}
}

// All returns the values in order. It needs nothing that a cursor needs, and no memory
// except for one table. Use it to walk over a stream once.
func (s *Stream) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		last := uint64(0)
		for sym := range s.symbols() {
			if s.method.strides() {
				last += unzigzag(sym)
				sym = last
			}
			if !yield(sym) {
				return
			}
		}
	}
}
