package fpu

import "math/bits"

// format is an IEEE 754 binary interchange format of at most 64 bits.
type format struct {
	frac uint // bits of the stored significand
	bias int  // exponent bias; also the largest exponent
}

func binary32() format { return format{frac: 23, bias: 127} }
func binary64() format { return format{frac: 52, bias: 1023} }

func (f format) sign() uint64 { return (f.infinity() + 1<<f.frac) }
func (f format) infinity() uint64 {
	return uint64(2*f.bias+1) << f.frac
}
func (f format) nan() uint64 { return f.infinity() | 1<<(f.frac-1) }

// class is the kind of a number. The order matters: everything from quiet on is a NaN.
type class uint8

const (
	zero class = iota
	finite
	infinite
	quiet
	signalling
)

// number is an unpacked value. A finite one is sig/2^63 × 2^exp, with bit 63 of sig set.
type number struct {
	class class
	neg   bool
	exp   int
	sig   uint64
}

func (n number) isNaN() bool { return n.class >= quiet }

func (f format) unpack(v uint64) number {
	n := number{neg: v&f.sign() != 0}
	e := int(v >> f.frac & uint64(2*f.bias+1))
	m := v & (1<<f.frac - 1)
	switch {
	case e == 2*f.bias+1 && m == 0:
		n.class = infinite
	case e == 2*f.bias+1 && m>>(f.frac-1) != 0:
		n.class = quiet
	case e == 2*f.bias+1:
		n.class = signalling
	case e == 0 && m == 0:
		n.class = zero
	case e == 0:
		n.class = finite
		lead := bits.LeadingZeros64(m)
		n.sig = m << lead
		n.exp = 1 - f.bias + 63 - int(f.frac) - lead
	default:
		n.class = finite
		n.sig = (m | 1<<f.frac) << (63 - f.frac)
		n.exp = e - f.bias
	}
	return n
}

func (f format) signed(neg bool, magnitude uint64) uint64 {
	if neg {
		return magnitude | f.sign()
	}
	return magnitude
}

// increments reports whether rounding adds one to the truncated magnitude. odd is its
// lowest bit, half the first bit lost, and rest whether any bit below that was set.
func increments(rm uint8, neg, odd, half, rest bool) bool {
	switch rm {
	case RTZ:
		return false
	case RDN:
		return neg && (half || rest)
	case RUP:
		return !neg && (half || rest)
	case RMM:
		return half
	}
	return half && (rest || odd)
}

// roundOff drops the low n bits (n ≥ 1) of sig under rm.
func roundOff(sig uint64, n uint, neg bool, rm uint8) (kept uint64, inexact bool) {
	var half, more bool
	switch {
	case n > 64:
		more = sig != 0
	case n == 64:
		half = sig>>63 != 0
		more = sig<<1 != 0
	default:
		kept = sig >> n
		half = sig>>(n-1)&1 != 0
		more = sig&(1<<(n-1)-1) != 0
	}
	if increments(rm, neg, kept&1 != 0, half, more) {
		kept++
	}
	return kept, half || more
}

// pack rounds sig/2^63 × 2^exp to the format. Bit 63 of sig is set. Bit 0 is sticky (set if
// anything below was lost), which is correct because both formats leave at least two bits
// below their own.
func (f format) pack(neg bool, exp int, sig uint64, rm uint8, fl *uint8) uint64 {
	drop := 63 - f.frac
	least := 1 - f.bias
	if exp < least {
		return f.packTiny(neg, exp, sig, rm, fl)
	}
	kept, inexact := roundOff(sig, drop, neg, rm)
	if inexact {
		*fl |= NX
	}
	if kept>>(f.frac+1) != 0 {
		kept >>= 1
		exp++
	}
	if exp <= f.bias {
		return f.signed(neg, uint64(exp+f.bias)<<f.frac|kept&(1<<f.frac-1))
	}
	*fl |= OF | NX
	if rm == RTZ || rm == RDN && !neg || rm == RUP && neg {
		return f.signed(neg, f.infinity()-1)
	}
	return f.signed(neg, f.infinity())
}

// packTiny is pack for a magnitude below the smallest normal number. The value is tiny
// unless rounding to the format's precision, with an unbounded exponent, carries it up to
// that number.
func (f format) packTiny(neg bool, exp int, sig uint64, rm uint8, fl *uint8) uint64 {
	drop := 63 - f.frac
	least := 1 - f.bias
	tiny := true
	if exp == least-1 {
		full, _ := roundOff(sig, drop, neg, rm)
		tiny = full>>(f.frac+1) == 0
	}
	// A carry out of the fraction results in the encoding of the smallest normal number.
	kept, inexact := roundOff(sig, drop+uint(least-exp), neg, rm)
	if inexact {
		*fl |= NX
		if tiny {
			*fl |= UF
		}
	}
	return f.signed(neg, kept)
}

// invalid returns the result of an invalid operation.
func (f format) invalid(fl *uint8) uint64 {
	*fl |= NV
	return f.nan()
}

// propagate returns the result of an operation with a NaN among its operands.
func (f format) propagate(fl *uint8, operands ...number) uint64 {
	for _, n := range operands {
		if n.class == signalling {
			*fl |= NV
		}
	}
	return f.nan()
}
