package wet

import "math"

// run is a part of an arithmetic sequence: first, first+stride, …
type run struct {
	first, stride uint64 // modulo 2^64
	n             uint64
}

const runBytes = 24

// seq is a sequence of numbers while an epoch is open: a list of arithmetic runs, each as
// long as possible. A regular sequence takes no more memory, however long it grows. An
// irregular one takes at most 12 bytes per number.
type seq struct {
	runs []run
	n    uint64
}

// add appends v, and returns the memory that it took.
func (s *seq) add(v uint64) (grown uint64) {
	s.n++
	if k := len(s.runs) - 1; k >= 0 {
		r := &s.runs[k]
		if r.n == 1 {
			r.stride = v - r.first
			r.n = 2
			return 0
		}
		if v == r.first+r.stride*r.n && r.n < math.MaxUint32 {
			r.n++
			return 0
		}
	}
	s.runs = append(s.runs, run{first: v, n: 1})
	return runBytes
}

// each calls f with the numbers in order.
func (s *seq) each(f func(v uint64)) {
	for _, r := range s.runs {
		v := r.first
		for range r.n {
			f(v)
			v += r.stride
		}
	}
}

// first returns the first number, or 0 if there is none.
func (s *seq) first() uint64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[0].first
}

// regular reports whether the sequence is at most one run.
func (s *seq) regular() bool { return len(s.runs) <= 1 }
