package fpu

import "math"

func f64(v uint64) float64 { return math.Float64frombits(v) }
func u64(v float64) uint64 { return math.Float64bits(v) }

// plain64 reports whether r is a finite number whose exponent field is 2 or more. Such a
// number cannot result from an overflow, an invalid operation or an operand that is not a
// number, and it is not tiny before rounding.
func plain64(r uint64) bool { return r<<1-2<<53 < 0x7fd<<53 }

// large64 reports whether r is a finite number of magnitude 2^-900 or more. The residual of
// an operation with such a result or operand is itself a number.
func large64(r uint64) bool { return r<<1-(1023-900)<<53 < (2047-1023+900)<<53 }

// Add64 computes fadd.d.
func Add64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && *fl&NX != 0 {
		if r := u64(f64(a) + f64(b)); plain64(r) {
			return r
		}
	}
	return add64(a, b, rm, fl)
}

// Sub64 computes fsub.d.
func Sub64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && *fl&NX != 0 {
		if r := u64(f64(a) - f64(b)); plain64(r) {
			return r
		}
	}
	return add64(a, b^sign64, rm, fl)
}

func add64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm != RNE {
		return binary64().add(a, b, rm, fl)
	}
	x, y := f64(a), f64(b)
	s := x + y
	r := u64(s)
	if plain64(r) {
		if twoSumError(x, y, s) != 0 {
			*fl |= NX
		}
		return r
	}
	if r<<1 < 4<<52 { // a sum this small is exact
		return r
	}
	return binary64().add(a, b, rm, fl)
}

// twoSumError returns exactly x+y-s, where s is the rounded sum (Knuth's TwoSum), if
// nothing overflows.
func twoSumError(x, y, s float64) float64 {
	t := float64(s - x)
	return float64(float64(x-float64(s-t)) + float64(y-t))
}

// Mul64 computes fmul.d.
func Mul64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && *fl&NX != 0 {
		if r := u64(float64(f64(a) * f64(b))); plain64(r) {
			return r
		}
	}
	return mul64(a, b, rm, fl)
}

func mul64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE {
		x, y := f64(a), f64(b)
		p := float64(x * y)
		if r := u64(p); large64(r) {
			if math.FMA(x, y, -p) != 0 {
				*fl |= NX
			}
			return r
		}
		if (x == 0 || y == 0) && p == 0 {
			return u64(p)
		}
	}
	return binary64().mul(a, b, rm, fl)
}

// Div64 computes fdiv.d.
func Div64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && *fl&NX != 0 {
		if r := u64(f64(a) / f64(b)); plain64(r) {
			return r
		}
	}
	return div64(a, b, rm, fl)
}

func div64(a, b uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && large64(a) {
		x, y := f64(a), f64(b)
		q := x / y
		if r := u64(q); large64(r) {
			if math.FMA(-q, y, x) != 0 {
				*fl |= NX
			}
			return r
		}
	}
	return binary64().div(a, b, rm, fl)
}

// Sqrt64 computes fsqrt.d.
func Sqrt64(a uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && large64(a) && a < sign64 {
		x := f64(a)
		s := math.Sqrt(x)
		if *fl&NX == 0 && math.FMA(-s, s, x) != 0 {
			*fl |= NX
		}
		return u64(s)
	}
	return binary64().sqrt(a, rm, fl)
}

// MAdd64 computes fmadd.d: a×b+c.
func MAdd64(a, b, c uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE && *fl&NX != 0 {
		if r := u64(math.FMA(f64(a), f64(b), f64(c))); plain64(r) {
			return r
		}
	}
	return madd64(a, b, c, rm, fl)
}

// MSub64 computes fmsub.d: a×b-c.
func MSub64(a, b, c uint64, rm uint8, fl *uint8) uint64 {
	return MAdd64(a, b, c^sign64, rm, fl)
}

// NMSub64 computes fnmsub.d: -(a×b)+c.
func NMSub64(a, b, c uint64, rm uint8, fl *uint8) uint64 {
	return MAdd64(a^sign64, b, c, rm, fl)
}

// NMAdd64 computes fnmadd.d: -(a×b)-c.
func NMAdd64(a, b, c uint64, rm uint8, fl *uint8) uint64 {
	return MAdd64(a^sign64, b, c^sign64, rm, fl)
}

func madd64(a, b, c uint64, rm uint8, fl *uint8) uint64 {
	if rm == RNE {
		x, y, z := f64(a), f64(b), f64(c)
		// If the product is exact, so is the check of the sum.
		p := float64(x * y)
		if large64(u64(p)) && math.FMA(x, y, -p) == 0 {
			s := p + z
			if r := u64(s); plain64(r) {
				if twoSumError(p, z, s) != 0 {
					*fl |= NX
				}
				return r
			}
		}
	}
	return binary64().fma(a, b, c, rm, fl)
}
