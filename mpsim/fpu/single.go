package fpu

import "math"

func f32(v uint32) float32 { return math.Float32frombits(v) }
func u32(v float32) uint32 { return math.Float32bits(v) }

// plain32 is plain64 for single precision.
func plain32(r uint32) bool { return r<<1-2<<24 < 0xfd<<24 }

// narrow rounds w, the exact result of an operation in double precision, to single. ok is
// false if the result is not a plain number.
func narrow(w float64, fl *uint8) (r uint32, ok bool) {
	s := float32(w)
	r = u32(s)
	if !plain32(r) {
		return 0, false
	}
	if float64(s) != w {
		*fl |= NX
	}
	return r, true
}

// Add32 computes fadd.s.
func Add32(a, b uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE && *fl&NX != 0 {
		if r := u32(f32(a) + f32(b)); plain32(r) {
			return r
		}
	}
	return add32(a, b, rm, fl)
}

// Sub32 computes fsub.s.
func Sub32(a, b uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE && *fl&NX != 0 {
		if r := u32(f32(a) - f32(b)); plain32(r) {
			return r
		}
	}
	return add32(a, b^sign32, rm, fl)
}

func add32(a, b uint32, rm uint8, fl *uint8) uint32 {
	if rm != RNE {
		return uint32(binary32().add(uint64(a), uint64(b), rm, fl))
	}
	x, y := f32(a), f32(b)
	s := x + y
	r := u32(s)
	if plain32(r) {
		t := float32(s - x)
		if float32(float32(x-float32(s-t))+float32(y-t)) != 0 {
			*fl |= NX
		}
		return r
	}
	if r<<1 < 4<<23 { // a sum this small is exact
		return r
	}
	return uint32(binary32().add(uint64(a), uint64(b), rm, fl))
}

// Mul32 computes fmul.s.
func Mul32(a, b uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE && *fl&NX != 0 {
		if r := u32(float32(f32(a) * f32(b))); plain32(r) {
			return r
		}
	}
	return mul32(a, b, rm, fl)
}

func mul32(a, b uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE {
		w := float64(float64(f32(a)) * float64(f32(b)))
		if r, ok := narrow(w, fl); ok {
			return r
		}
		if a<<1 == 0 && b<<1 < 0xff<<24 || b<<1 == 0 && a<<1 < 0xff<<24 {
			return (a ^ b) & sign32
		}
	}
	return uint32(binary32().mul(uint64(a), uint64(b), rm, fl))
}

// Div32 computes fdiv.s.
func Div32(a, b uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE {
		x, y := f32(a), f32(b)
		q := x / y
		if r := u32(q); plain32(r) {
			if *fl&NX == 0 && float64(float64(q)*float64(y)) != float64(x) {
				*fl |= NX
			}
			return r
		}
	}
	return uint32(binary32().div(uint64(a), uint64(b), rm, fl))
}

// Sqrt32 computes fsqrt.s.
func Sqrt32(a uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE && plain32(a) && a < sign32 {
		// A double has more than twice as many digits plus two, so rounding twice has no
		// effect on the result.
		x := f32(a)
		s := float32(math.Sqrt(float64(x)))
		if *fl&NX == 0 && float64(float64(s)*float64(s)) != float64(x) {
			*fl |= NX
		}
		return u32(s)
	}
	return uint32(binary32().sqrt(uint64(a), rm, fl))
}

// MAdd32 computes fmadd.s: a×b+c.
func MAdd32(a, b, c uint32, rm uint8, fl *uint8) uint32 {
	if rm == RNE {
		// The product is exact. Rounding the sum to double first has no effect, unless the
		// result is halfway between two singles.
		p := float64(float64(f32(a)) * float64(f32(b)))
		z := float64(f32(c))
		w := p + z
		s := float32(w)
		if r := u32(s); plain32(r) && u64(w)&(1<<29-1) != 1<<28 {
			if *fl&NX == 0 && (float64(s) != w || twoSumError(p, z, w) != 0) {
				*fl |= NX
			}
			return r
		}
	}
	return uint32(binary32().fma(uint64(a), uint64(b), uint64(c), rm, fl))
}

// MSub32 computes fmsub.s: a×b-c.
func MSub32(a, b, c uint32, rm uint8, fl *uint8) uint32 {
	return MAdd32(a, b, c^sign32, rm, fl)
}

// NMSub32 computes fnmsub.s: -(a×b)+c.
func NMSub32(a, b, c uint32, rm uint8, fl *uint8) uint32 {
	return MAdd32(a^sign32, b, c, rm, fl)
}

// NMAdd32 computes fnmadd.s: -(a×b)-c.
func NMAdd32(a, b, c uint32, rm uint8, fl *uint8) uint32 {
	return MAdd32(a^sign32, b, c^sign32, rm, fl)
}
