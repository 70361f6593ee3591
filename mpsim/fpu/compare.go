package fpu

func isNaN64(v uint64) bool        { return v&^sign64 > inf64 }
func isNaN32(v uint32) bool        { return v&^sign32 > inf32 }
func isSignalling64(v uint64) bool { return isNaN64(v) && v>>51&1 == 0 }
func isSignalling32(v uint32) bool { return isNaN32(v) && v>>22&1 == 0 }

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// order64 maps values that are not NaNs to integers in the order of minimumNumber: -0
// before +0.
func order64(v uint64) int64 {
	return int64(v) ^ int64(uint64(int64(v)>>63)>>1)
}

func order32(v uint32) int32 {
	return int32(v) ^ int32(uint32(int32(v)>>31)>>1)
}

// Eq64 computes feq.d: 1 when a = b. It sets NV for signalling NaNs only.
func Eq64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		if isSignalling64(a) || isSignalling64(b) {
			*fl |= NV
		}
		return 0
	}
	return bit(a == b || (a|b)<<1 == 0)
}

// Lt64 computes flt.d: 1 when a < b. It sets NV for any NaN.
func Lt64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		*fl |= NV
		return 0
	}
	return bit(order64(a) < order64(b) && (a|b)<<1 != 0)
}

// Le64 computes fle.d: 1 when a ≤ b. It sets NV for any NaN.
func Le64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		*fl |= NV
		return 0
	}
	return bit(order64(a) <= order64(b) || (a|b)<<1 == 0)
}

// Min64 computes fmin.d: minimumNumber of IEEE 754-2019. A signalling NaN sets NV.
func Min64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		return number64(a, b, fl)
	}
	if order64(b) < order64(a) {
		return b
	}
	return a
}

// Max64 computes fmax.d: maximumNumber of IEEE 754-2019. A signalling NaN sets NV.
func Max64(a, b uint64, fl *uint8) uint64 {
	if isNaN64(a) || isNaN64(b) {
		return number64(a, b, fl)
	}
	if order64(b) > order64(a) {
		return b
	}
	return a
}

// number64 returns the operand that is a number, or the canonical NaN.
func number64(a, b uint64, fl *uint8) uint64 {
	if isSignalling64(a) || isSignalling64(b) {
		*fl |= NV
	}
	switch {
	case !isNaN64(a):
		return a
	case !isNaN64(b):
		return b
	}
	return NaN64
}

// Class64 computes fclass.d: one bit of ten.
func Class64(a uint64) uint64 { return binary64().classify(a) }

// SgnJ64 computes fsgnj.d: a with the sign of b.
func SgnJ64(a, b uint64) uint64 { return a&^sign64 | b&sign64 }

// SgnJN64 computes fsgnjn.d: a with the opposite of b's sign.
func SgnJN64(a, b uint64) uint64 { return a&^sign64 | ^b&sign64 }

// SgnJX64 computes fsgnjx.d: a with the exclusive or of both signs.
func SgnJX64(a, b uint64) uint64 { return a ^ b&sign64 }

// Eq32 computes feq.s: 1 when a = b. It sets NV for signalling NaNs only.
func Eq32(a, b uint32, fl *uint8) uint64 {
	if isNaN32(a) || isNaN32(b) {
		if isSignalling32(a) || isSignalling32(b) {
			*fl |= NV
		}
		return 0
	}
	return bit(a == b || (a|b)<<1 == 0)
}

// Lt32 computes flt.s: 1 when a < b. It sets NV for any NaN.
func Lt32(a, b uint32, fl *uint8) uint64 {
	if isNaN32(a) || isNaN32(b) {
		*fl |= NV
		return 0
	}
	return bit(order32(a) < order32(b) && (a|b)<<1 != 0)
}

// Le32 computes fle.s: 1 when a ≤ b. It sets NV for any NaN.
func Le32(a, b uint32, fl *uint8) uint64 {
	if isNaN32(a) || isNaN32(b) {
		*fl |= NV
		return 0
	}
	return bit(order32(a) <= order32(b) || (a|b)<<1 == 0)
}

// Min32 computes fmin.s: minimumNumber of IEEE 754-2019. A signalling NaN sets NV.
func Min32(a, b uint32, fl *uint8) uint32 {
	if isNaN32(a) || isNaN32(b) {
		return number32(a, b, fl)
	}
	if order32(b) < order32(a) {
		return b
	}
	return a
}

// Max32 computes fmax.s: maximumNumber of IEEE 754-2019. A signalling NaN sets NV.
func Max32(a, b uint32, fl *uint8) uint32 {
	if isNaN32(a) || isNaN32(b) {
		return number32(a, b, fl)
	}
	if order32(b) > order32(a) {
		return b
	}
	return a
}

func number32(a, b uint32, fl *uint8) uint32 {
	if isSignalling32(a) || isSignalling32(b) {
		*fl |= NV
	}
	switch {
	case !isNaN32(a):
		return a
	case !isNaN32(b):
		return b
	}
	return NaN32
}

// Class32 computes fclass.s: one bit of ten.
func Class32(a uint32) uint64 { return binary32().classify(uint64(a)) }

// SgnJ32 computes fsgnj.s: a with the sign of b.
func SgnJ32(a, b uint32) uint32 { return a&^sign32 | b&sign32 }

// SgnJN32 computes fsgnjn.s: a with the opposite of b's sign.
func SgnJN32(a, b uint32) uint32 { return a&^sign32 | ^b&sign32 }

// SgnJX32 computes fsgnjx.s: a with the exclusive or of both signs.
func SgnJX32(a, b uint32) uint32 { return a ^ b&sign32 }

// classify returns the mask of table 11.5 in the manual.
func (f format) classify(v uint64) uint64 {
	n := f.unpack(v)
	// Distance from the middle, which is between -0 (3) and +0 (4).
	var away uint
	switch n.class {
	case signalling:
		return 1 << 8
	case quiet:
		return 1 << 9
	case infinite:
		away = 3
	case finite:
		away = 2
		if n.exp < 1-f.bias {
			away = 1
		}
	}
	if n.neg {
		return 1 << (3 - away)
	}
	return 1 << (4 + away)
}
