package fpu

// The operations of Zfa, additional floating-point instructions ("The RISC-V Instruction
// Set Manual, Volume I", 20240411, chapter 24). They are rarely executed, so all of them
// take the soft path.

// round rounds to an integer, and reports whether that changed the value.
func (f format) round(v uint64, rm uint8, fl *uint8) (r uint64, inexact bool) {
	n := f.unpack(v)
	switch {
	case n.isNaN():
		return f.propagate(fl, n), false
	case n.class != finite || n.exp >= int(f.frac):
		return v, false
	}
	magnitude, inexact := roundOff(n.sig, uint(63-n.exp), n.neg, rm)
	var none uint8 // the number has fewer bits than the format, so no flags are raised
	return f.signed(n.neg, f.fromInt(false, magnitude, RNE, &none)), inexact
}

// Round64 computes fround.d, which is never inexact.
func Round64(a uint64, rm uint8, fl *uint8) uint64 {
	r, _ := binary64().round(a, rm, fl)
	return r
}

// RoundNX64 computes froundnx.d: it sets NX when the result is another value.
func RoundNX64(a uint64, rm uint8, fl *uint8) uint64 {
	r, inexact := binary64().round(a, rm, fl)
	if inexact {
		*fl |= NX
	}
	return r
}

// Round32 computes fround.s, which is never inexact.
func Round32(a uint32, rm uint8, fl *uint8) uint32 {
	r, _ := binary32().round(uint64(a), rm, fl)
	return uint32(r)
}

// RoundNX32 computes froundnx.s: it sets NX when the result is another value.
func RoundNX32(a uint32, rm uint8, fl *uint8) uint32 {
	r, inexact := binary32().round(uint64(a), rm, fl)
	if inexact {
		*fl |= NX
	}
	return uint32(r)
}

// quietly calls compare if neither operand is a NaN. Otherwise the result is 0, and only a
// signalling NaN sets NV.
func (f format) quietly(a, b uint64, fl *uint8, compare func() uint64) uint64 {
	x, y := f.unpack(a), f.unpack(b)
	if x.isNaN() || y.isNaN() {
		f.propagate(fl, x, y)
		return 0
	}
	return compare()
}

// Leq64 computes fleq.d: Le64 that takes quiet NaNs without NV.
func Leq64(a, b uint64, fl *uint8) uint64 {
	return binary64().quietly(a, b, fl, func() uint64 { return Le64(a, b, fl) })
}

// Ltq64 computes fltq.d: Lt64 that takes quiet NaNs without NV.
func Ltq64(a, b uint64, fl *uint8) uint64 {
	return binary64().quietly(a, b, fl, func() uint64 { return Lt64(a, b, fl) })
}

// Leq32 computes fleq.s: Le32 that takes quiet NaNs without NV.
func Leq32(a, b uint32, fl *uint8) uint64 {
	return binary32().quietly(uint64(a), uint64(b), fl, func() uint64 { return Le32(a, b, fl) })
}

// Ltq32 computes fltq.s: Lt32 that takes quiet NaNs without NV.
func Ltq32(a, b uint32, fl *uint8) uint64 {
	return binary32().quietly(uint64(a), uint64(b), fl, func() uint64 { return Lt32(a, b, fl) })
}

// MinM64 computes fminm.d: minimum of IEEE 754-2019, a NaN when either operand is.
func MinM64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		number64(a, b, fl)
		return NaN64
	}
	return Min64(a, b, fl)
}

// MaxM64 computes fmaxm.d: maximum of IEEE 754-2019.
func MaxM64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		number64(a, b, fl)
		return NaN64
	}
	return Max64(a, b, fl)
}

// MinM32 computes fminm.s: minimum of IEEE 754-2019.
func MinM32(a, b uint32, fl *uint8) uint32 {
	if isNaN32(a) || isNaN32(b) {
		number32(a, b, fl)
		return NaN32
	}
	return Min32(a, b, fl)
}

// MaxM32 computes fmaxm.s: maximum of IEEE 754-2019.
func MaxM32(a, b uint32, fl *uint8) uint32 {
	if isNaN32(a) || isNaN32(b) {
		number32(a, b, fl)
		return NaN32
	}
	return Max32(a, b, fl)
}

// F64ToWMod computes fcvtmod.w.d: the integer part modulo 2^32, sign-extended, with the
// flags of fcvt.w.d.
func F64ToWMod(a uint64, fl *uint8) uint64 {
	f := binary64()
	f.toInt(a, 32, false, RTZ, fl)
	n := f.unpack(a)
	var magnitude uint64
	switch {
	case n.class != finite || n.exp < 0 || n.exp >= 64+32:
		return 0 // everything is above the 32 bits, or there is no integer part
	case n.exp > 63:
		magnitude = n.sig << (n.exp - 63)
	default:
		magnitude = n.sig >> (63 - n.exp)
	}
	if n.neg {
		magnitude = -magnitude
	}
	return uint64(int64(int32(magnitude)))
}

// loadable are the constants of fli as doubles. Numbers 1 and 31, the smallest normal
// number and the NaN, depend on the format.
var loadable = [32]float64{
	-1, 0, 0x1p-16, 0x1p-15, 0x1p-8, 0x1p-7, 0.0625, 0.125, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75, 0.875,
	1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 8, 16, 128, 256, 0x1p15, 0x1p16, 0, 0,
}

// Fli64 computes fli.d for the number of a constant.
func Fli64(n uint8) uint64 { return fli(binary64(), n) }

// Fli32 computes fli.s for the number of a constant.
func Fli32(n uint8) uint32 { return uint32(fli(binary32(), n)) }

func fli(f format, n uint8) uint64 {
	switch n &= 31; n {
	case 1:
		return 1 << f.frac
	case 30:
		return f.infinity()
	case 31:
		return f.nan()
	}
	var exact uint8
	return f.convert(binary64(), u64(loadable[n]), RNE, &exact)
}
