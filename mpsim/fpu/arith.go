package fpu

import "math/bits"

// jam shifts v right by n. Bit 0 also shows whether anything was lost.
func jam(v uint64, n uint) uint64 {
	if n >= 64 {
		if v != 0 {
			return 1
		}
		return 0
	}
	if v<<(64-n) != 0 {
		return v>>n | 1
	}
	return v >> n
}

// jam128 is jam for hi:lo.
func jam128(hi, lo uint64, n uint) (uint64, uint64) {
	switch {
	case n == 0:
		return hi, lo
	case n < 64:
		return hi >> n, hi<<(64-n) | jam(lo, n)
	}
	low := jam(hi, n-64)
	if lo != 0 {
		low |= 1
	}
	return 0, low
}

// exactZero returns the sign of a sum that cancels, or of a sum of zeros.
func exactZero(a, b bool, rm uint8) bool {
	if a == b {
		return a
	}
	return rm == RDN
}

func (f format) add(a, b uint64, rm uint8, fl *uint8) uint64 {
	x, y := f.unpack(a), f.unpack(b)
	switch {
	case x.isNaN() || y.isNaN():
		return f.propagate(fl, x, y)
	case x.class == infinite && y.class == infinite && x.neg != y.neg:
		return f.invalid(fl)
	case x.class == infinite:
		return a
	case y.class == infinite:
		return b
	case x.class == zero && y.class == zero:
		return f.signed(exactZero(x.neg, y.neg, rm), 0)
	case x.class == zero:
		return b
	case y.class == zero:
		return a
	}
	return f.sum(x.neg, x.exp, x.sig, 0, y.neg, y.exp, y.sig, 0, rm, fl)
}

// sum adds two finite nonzero values, each (hi:lo)/2^127 × 2^exp with bit 127 set and the
// lowest two bits clear.
func (f format) sum(xneg bool, xexp int, xhi, xlo uint64, yneg bool, yexp int, yhi, ylo uint64, rm uint8, fl *uint8) uint64 {
	if xexp < yexp || xexp == yexp && (xhi < yhi || xhi == yhi && xlo < ylo) {
		xneg, yneg = yneg, xneg
		xexp, yexp = yexp, xexp
		xhi, yhi = yhi, xhi
		xlo, ylo = ylo, xlo
	}
	// One bit of headroom. If the exponents differ by two or more, a difference loses at
	// most one leading bit, and the sticky bit stays below what is kept. If they differ by
	// less, nothing is shifted out.
	xhi, xlo = jam128(xhi, xlo, 1)
	yhi, ylo = jam128(yhi, ylo, uint(1+xexp-yexp))
	var hi, lo, carry uint64
	if xneg == yneg {
		lo, carry = bits.Add64(xlo, ylo, 0)
		hi, _ = bits.Add64(xhi, yhi, carry)
	} else {
		lo, carry = bits.Sub64(xlo, ylo, 0)
		hi, _ = bits.Sub64(xhi, yhi, carry)
		if hi|lo == 0 {
			return f.signed(rm == RDN, 0)
		}
	}
	return f.pack128(xneg, xexp+1, hi, lo, rm, fl)
}

// pack128 normalises and packs (hi:lo)/2^127 × 2^exp, which is not zero.
func (f format) pack128(neg bool, exp int, hi, lo uint64, rm uint8, fl *uint8) uint64 {
	if hi == 0 {
		hi, lo = lo, 0
		exp -= 64
	}
	if n := bits.LeadingZeros64(hi); n > 0 {
		hi, lo = hi<<n|lo>>(64-n), lo<<n
		exp -= n
	}
	if lo != 0 {
		hi |= 1
	}
	return f.pack(neg, exp, hi, rm, fl)
}

func (f format) mul(a, b uint64, rm uint8, fl *uint8) uint64 {
	x, y := f.unpack(a), f.unpack(b)
	neg := x.neg != y.neg
	switch {
	case x.isNaN() || y.isNaN():
		return f.propagate(fl, x, y)
	case x.class == infinite && y.class == zero, x.class == zero && y.class == infinite:
		return f.invalid(fl)
	case x.class == infinite || y.class == infinite:
		return f.signed(neg, f.infinity())
	case x.class == zero || y.class == zero:
		return f.signed(neg, 0)
	}
	hi, lo := bits.Mul64(x.sig, y.sig)
	return f.pack128(neg, x.exp+y.exp+1, hi, lo, rm, fl)
}

func (f format) div(a, b uint64, rm uint8, fl *uint8) uint64 {
	x, y := f.unpack(a), f.unpack(b)
	neg := x.neg != y.neg
	switch {
	case x.isNaN() || y.isNaN():
		return f.propagate(fl, x, y)
	case x.class == y.class && x.class != finite: // 0/0, ∞/∞
		return f.invalid(fl)
	case x.class == infinite:
		return f.signed(neg, f.infinity())
	case x.class == zero || y.class == infinite:
		return f.signed(neg, 0)
	case y.class == zero:
		*fl |= DZ
		return f.signed(neg, f.infinity())
	}
	exp := x.exp - y.exp
	hi, lo := x.sig>>1, x.sig<<63
	if x.sig < y.sig {
		hi, lo = x.sig, 0
		exp--
	}
	q, rem := bits.Div64(hi, lo, y.sig)
	if rem != 0 {
		q |= 1
	}
	return f.pack(neg, exp, q, rm, fl)
}

func (f format) sqrt(a uint64, rm uint8, fl *uint8) uint64 {
	x := f.unpack(a)
	switch {
	case x.isNaN():
		return f.propagate(fl, x)
	case x.class == zero:
		return a
	case x.neg:
		return f.invalid(fl)
	case x.class == infinite:
		return a
	}
	// With an even exponent this is the root of sig·2^63, otherwise of sig·2^64. In both
	// cases it has 64 bits, the first of which is set.
	hi, lo := x.sig>>1, x.sig<<63
	if x.exp&1 != 0 {
		hi, lo = x.sig, 0
	}
	r, exact := root(hi, lo)
	if !exact {
		r |= 1
	}
	return f.pack(false, x.exp>>1, r, rm, fl)
}

// root computes the integer square root of hi:lo bit by bit, and reports whether it is
// exact.
func root(hi, lo uint64) (r uint64, exact bool) {
	var remHi, rem uint64 // remainder, up to 66 bits
	for range 64 {
		remHi = remHi<<2 | rem>>62
		rem = rem<<2 | hi>>62
		hi, lo = hi<<2|lo>>62, lo<<2
		tryHi, try := r>>62, r<<2|1
		r <<= 1
		if remHi > tryHi || remHi == tryHi && rem >= try {
			var borrow uint64
			rem, borrow = bits.Sub64(rem, try, 0)
			remHi -= tryHi + borrow
			r |= 1
		}
	}
	return r, remHi|rem == 0
}

// fma computes a×b+c with a single rounding.
func (f format) fma(a, b, c uint64, rm uint8, fl *uint8) uint64 {
	x, y, z := f.unpack(a), f.unpack(b), f.unpack(c)
	neg := x.neg != y.neg
	switch {
	case x.class == infinite && y.class == zero, x.class == zero && y.class == infinite:
		return f.invalid(fl) // even if c is a quiet NaN
	case x.isNaN() || y.isNaN() || z.isNaN():
		return f.propagate(fl, x, y, z)
	case x.class == infinite || y.class == infinite:
		if z.class == infinite && z.neg != neg {
			return f.invalid(fl)
		}
		return f.signed(neg, f.infinity())
	case z.class == infinite:
		return c
	case x.class == zero || y.class == zero:
		if z.class == zero {
			return f.signed(exactZero(neg, z.neg, rm), 0)
		}
		return c
	}
	exp := x.exp + y.exp + 1
	hi, lo := bits.Mul64(x.sig, y.sig)
	if z.class == zero {
		return f.pack128(neg, exp, hi, lo, rm, fl)
	}
	if hi>>63 == 0 {
		hi, lo = hi<<1|lo>>63, lo<<1
		exp--
	}
	return f.sum(neg, exp, hi, lo, z.neg, z.exp, z.sig, 0, rm, fl)
}
