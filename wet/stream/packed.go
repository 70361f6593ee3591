package stream

import (
	"encoding/binary"
	"math/bits"
)

// packed is a sequence of numbers with the same width in bits, each relative to a base.
// It can be read at any position in constant time.
type packed struct {
	words []uint64
	n     uint64
	base  uint64
	width uint // 0 to 64
}

// wordsFor returns the length of words that at needs for n numbers. One additional word
// allows it to read two words without a check.
func wordsFor(n uint64, width uint) uint64 { return (n*uint64(width)+63)/64 + 1 }

// at returns the number at i, which must be below n.
func (p *packed) at(i uint64) uint64 {
	bit := i * uint64(p.width)
	w, off := bit>>6, uint(bit&63)
	// A shift by 64 is 0 in Go, so for off 0 the second word does not matter.
	v := p.words[w]>>off | p.words[w+1]<<(64-off)
	return p.base + v&(1<<p.width-1)
}

// push adds a number that fits width. The base is 0.
func (p *packed) push(v uint64) {
	bit := p.n * uint64(p.width)
	w, off := bit>>6, uint(bit&63)
	for uint64(len(p.words)) < w+2 {
		p.words = append(p.words, 0)
	}
	p.words[w] |= v << off
	p.words[w+1] |= v >> (64 - off)
	p.n++
}

// pack stores values in the smallest width.
func pack(values []uint64) packed {
	if len(values) == 0 {
		return packed{words: make([]uint64, 1)}
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	p := packed{base: low, width: uint(bits.Len64(high - low))}
	p.words = make([]uint64, 0, wordsFor(uint64(len(values)), p.width))
	for _, v := range values {
		p.push(v - low)
	}
	return p
}

// bytes returns the size of the numbers in memory.
func (p *packed) bytes() uint64 { return 8 * uint64(len(p.words)) }

// byteLen returns the length of the binary form of n numbers, without base and width.
func byteLen(n uint64, width uint) uint64 { return (n*uint64(width) + 7) / 8 }

// appendBits appends the numbers, the first in the low bits of the first byte.
func (p *packed) appendBits(dst []byte) []byte {
	left := byteLen(p.n, p.width)
	var b [8]byte
	for _, w := range p.words {
		if left == 0 {
			break
		}
		binary.LittleEndian.PutUint64(b[:], w)
		k := min(left, 8)
		dst = append(dst, b[:k]...)
		left -= k
	}
	return dst
}

// fromBits returns the inverse of appendBits; src holds exactly byteLen(n, width) bytes.
func fromBits(src []byte, n, base uint64, width uint) packed {
	p := packed{n: n, base: base, width: width, words: make([]uint64, max(2, wordsFor(n, width)))}
	var b [8]byte
	for i := 0; len(src) > 0; i++ {
		b = [8]byte{}
		k := copy(b[:], src)
		p.words[i] = binary.LittleEndian.Uint64(b[:])
		src = src[k:]
	}
	return p
}

// flags has one bit per position.
type flags []uint64

func newFlags(n uint64) flags { return make(flags, (n+63)/64) }

func (f flags) at(i uint64) bool { return f[i>>6]>>(i&63)&1 != 0 }

func (f flags) set(i uint64) { f[i>>6] |= 1 << (i & 63) }

// uvarintLen returns the length of v in LEB128.
func uvarintLen(v uint64) uint64 { return uint64(bits.Len64(v|1)+6) / 7 }
