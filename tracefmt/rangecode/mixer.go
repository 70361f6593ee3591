package rangecode

import (
	"math"
	"sync"
)

// This file codes decisions whose probabilities are mixed from several contexts, as in
// context-mixing compressors (Mahoney, "Adaptive Weighing of Context Models for Lossless
// Data Compression", 2005), with an arithmetic coder of its own.

// interval is a binary arithmetic coder, for both directions. The interval is low..high,
// both inclusive.
type interval struct {
	decoding  bool
	low, high uint32
	code      uint32 // the part of the code that was read, when decoding
	out       []byte
	in        []byte
	over      int // bytes read after the end of in
}

// Decoding reports whether the coder decodes.
func (a *interval) Decoding() bool { return a.decoding }

// Len returns the number of bytes written.
func (a *interval) Len() int { return len(a.out) }

// Rest returns the number of input bytes that have not been needed so far.
func (a *interval) Rest() int { return len(a.in) }

// Overrun reports whether more was read than the input has.
func (a *interval) Overrun() bool { return a.over > 0 }

// Begin starts a string of decisions. It reads from in when decoding, and otherwise
// appends to out.
func (a *interval) Begin(out, in []byte) {
	a.low, a.high, a.in, a.out, a.over = 0, math.MaxUint32, in, out, 0
	if a.decoding {
		for range 4 {
			a.code = a.code<<8 | uint32(a.next())
		}
	}
}

func (a *interval) next() byte {
	if len(a.in) == 0 {
		a.over++
		return 0
	}
	b := a.in[0]
	a.in = a.in[1:]
	return b
}

// End completes the string. It writes enough bytes that any bytes may follow.
func (a *interval) End() []byte {
	a.out = append(a.out, byte(a.high>>24), byte(a.high>>16), byte(a.high>>8), byte(a.high))
	return a.out
}

// bit codes a decision. p is the probability of 1, in 1/65536, and is neither 0 nor
// 65536. y is ignored when decoding.
func (a *interval) bit(p uint32, y int) int {
	mid := a.low + uint32(uint64(a.high-a.low)*uint64(p)>>16)
	if a.decoding {
		y = 0
		if a.code <= mid {
			y = 1
		}
	}
	if y != 0 {
		a.high = mid
	} else {
		a.low = mid + 1
	}
	for (a.low^a.high)>>24 == 0 {
		if a.decoding {
			a.code = a.code<<8 | uint32(a.next())
		} else {
			a.out = append(a.out, byte(a.high>>24))
		}
		a.low, a.high = a.low<<8, a.high<<8|0xff
	}
	return y
}

// Chance is an adaptive probability of 1: 22 bits of probability above 10 bits that count
// its uses. The count determines how fast it adapts. The memory stores 1/2 as 0, so that
// new tables need no initialisation.
type Chance uint32

const (
	evenChance  Chance = 1 << 31
	chanceLimit        = 60
)

const (
	// Inputs is the number of contexts of a decision.
	Inputs = 4
	// Sets is the number of sets of weights.
	Sets = 64
	// Weights, in 1/65536, move by mixRate/2^mixShift of the error, in 1/4096,
	// times the input, in 1/256.
	mixRate  = 6
	mixShift = 14
)

// Mixer encodes or decodes decisions. The probability of a decision is mixed from the
// probabilities in Inputs contexts: it is their weighted sum in the logistic domain. The
// Mixer learns the weights. There are several sets of weights, for different kinds of
// decisions. Call Begin before the first.
type Mixer struct {
	interval
	stretch [4096]int16  // ln(p/(1-p)) in 1/256, p in 1/4096
	squash  [4096]uint16 // its inverse, in 1/65536, from -2048
	rate    [64]uint32   // by how often a Chance was used, at most chanceLimit
	weights [Sets][Inputs]int32
}

// NewMixer returns a mixer for one direction.
func NewMixer(decoding bool) *Mixer {
	m := *unused() // a trace has a mixer for each thread and epoch: the tables are computed once
	m.interval = interval{decoding: decoding}
	return &m
}

// unused returns a mixer that was not used yet. It is only copied.
var unused = sync.OnceValue(func() *Mixer {
	m := new(Mixer)
	for i := range m.stretch {
		p := (float64(i) + 0.5) / 4096
		m.stretch[i] = int16(math.Round(math.Log(p/(1-p)) * 256))
	}
	for i := range m.squash {
		p := 1 / (1 + math.Exp(-float64(i-2048)/256))
		m.squash[i] = uint16(max(8, min(65528, math.Round(p*65536))))
	}
	for i := range m.rate {
		m.rate[i] = uint32(65536 / (float64(i) + 1.6))
	}
	for i := range m.weights {
		for j := range m.weights[i] {
			m.weights[i][j] = 1 << 16 * 2 / 5
		}
	}
	return m
})

// Decide codes a decision in the given contexts, with the weights of set modulo Sets, and
// returns it: y when encoding, and the coded decision when decoding.
func (m *Mixer) Decide(set int, c0, c1, c2, c3 *Chance, y int) int {
	v0, v1, v2, v3 := *c0^evenChance, *c1^evenChance, *c2^evenChance, *c3^evenChance
	s0, s1 := int(m.stretch[v0>>20]), int(m.stretch[v1>>20])
	s2, s3 := int(m.stretch[v2>>20]), int(m.stretch[v3>>20])
	w := &m.weights[set&(Sets-1)]
	w0, w1, w2, w3 := int(w[0]), int(w[1]), int(w[2]), int(w[3])
	dot := (w0*s0 + w1*s1 + w2*s2 + w3*s3) >> 16
	p := int(m.squash[(max(-2048, min(2047, dot))+2048)&4095])
	y = m.bit(uint32(p), y)
	err := (y<<16 - p) * mixRate >> 4
	w[0] = int32(w0 + (s0*err+1<<(mixShift-1))>>mixShift)
	w[1] = int32(w1 + (s1*err+1<<(mixShift-1))>>mixShift)
	w[2] = int32(w2 + (s2*err+1<<(mixShift-1))>>mixShift)
	w[3] = int32(w3 + (s3*err+1<<(mixShift-1))>>mixShift)
	target := int(uint32(-y) >> 10)
	*c0 = v0.toward(target, &m.rate)
	*c1 = v1.toward(target, &m.rate)
	*c2 = v2.toward(target, &m.rate)
	*c3 = v3.toward(target, &m.rate)
	return y
}

// toward moves a Chance toward the outcome, which is 0 or all ones.
func (c Chance) toward(target int, rate *[64]uint32) Chance {
	n := int(c & 1023)
	p := int(c >> 10)
	p += (target - p) * int(rate[n&63]) >> 16
	return Chance(p<<10|n+int(uint(n-chanceLimit)>>63)) ^ evenChance
}
