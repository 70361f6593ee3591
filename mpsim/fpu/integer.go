package fpu

// The names of the conversions contain the source and the target type. W and L are signed
// integers of 32 and 64 bits, WU and LU unsigned ones. Integers are whole registers.

// fits64 reports whether the value is less than 2^62 in magnitude. The host's
// conversion to int64 is then exact, except that it drops the fraction.
func fits64(a uint64) bool { return a<<1 < (1023+62)<<53 }
func fits32(a uint32) bool { return a<<1 < (127+62)<<24 }

// F64ToW computes fcvt.w.d.
func F64ToW(a uint64, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits64(a) {
		x := f64(a)
		if i := int64(x); i == int64(int32(i)) {
			if float64(i) != x {
				*fl |= NX
			}
			return uint64(i)
		}
	}
	return binary64().toInt(a, 32, false, rm, fl)
}

// F64ToWU computes fcvt.wu.d.
func F64ToWU(a uint64, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits64(a) {
		x := f64(a)
		if i := int64(x); i == int64(uint32(i)) {
			if float64(i) != x {
				*fl |= NX
			}
			return uint64(int64(int32(i)))
		}
	}
	return binary64().toInt(a, 32, true, rm, fl)
}

// F64ToL computes fcvt.l.d.
func F64ToL(a uint64, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits64(a) {
		x := f64(a)
		i := int64(x)
		if float64(i) != x {
			*fl |= NX
		}
		return uint64(i)
	}
	return binary64().toInt(a, 64, false, rm, fl)
}

// F64ToLU computes fcvt.lu.d.
func F64ToLU(a uint64, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits64(a) {
		x := f64(a)
		if i := int64(x); i >= 0 {
			if float64(i) != x {
				*fl |= NX
			}
			return uint64(i)
		}
	}
	return binary64().toInt(a, 64, true, rm, fl)
}

// F32ToW computes fcvt.w.s.
func F32ToW(a uint32, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits32(a) {
		x := f32(a)
		if i := int64(x); i == int64(int32(i)) {
			if float32(i) != x {
				*fl |= NX
			}
			return uint64(i)
		}
	}
	return binary32().toInt(uint64(a), 32, false, rm, fl)
}

// F32ToWU computes fcvt.wu.s.
func F32ToWU(a uint32, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits32(a) {
		x := f32(a)
		if i := int64(x); i == int64(uint32(i)) {
			if float32(i) != x {
				*fl |= NX
			}
			return uint64(int64(int32(i)))
		}
	}
	return binary32().toInt(uint64(a), 32, true, rm, fl)
}

// F32ToL computes fcvt.l.s.
func F32ToL(a uint32, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits32(a) {
		x := f32(a)
		i := int64(x)
		if float32(i) != x {
			*fl |= NX
		}
		return uint64(i)
	}
	return binary32().toInt(uint64(a), 64, false, rm, fl)
}

// F32ToLU computes fcvt.lu.s.
func F32ToLU(a uint32, rm uint8, fl *uint8) uint64 {
	if rm == RTZ && fits32(a) {
		x := f32(a)
		if i := int64(x); i >= 0 {
			if float32(i) != x {
				*fl |= NX
			}
			return uint64(i)
		}
	}
	return binary32().toInt(uint64(a), 64, true, rm, fl)
}

// Integers below 2^53 (2^24) are exact as doubles (singles). For larger ones, the host's
// conversion does not show whether they are exact.

// WToF64 computes fcvt.d.w, which is always exact.
func WToF64(v uint64) uint64 { return u64(float64(int32(v))) }

// WUToF64 computes fcvt.d.wu, which is always exact.
func WUToF64(v uint64) uint64 { return u64(float64(uint32(v))) }

// LToF64 computes fcvt.d.l.
func LToF64(v uint64, rm uint8, fl *uint8) uint64 {
	if v+1<<53 <= 1<<54 || rm == RNE && *fl&NX != 0 {
		return u64(float64(int64(v)))
	}
	return binary64().fromSigned(int64(v), rm, fl)
}

// LUToF64 computes fcvt.d.lu.
func LUToF64(v uint64, rm uint8, fl *uint8) uint64 {
	if v <= 1<<53 || rm == RNE && *fl&NX != 0 && v < 1<<63 {
		return u64(float64(int64(v)))
	}
	return binary64().fromInt(false, v, rm, fl)
}

// WToF32 computes fcvt.s.w.
func WToF32(v uint64, rm uint8, fl *uint8) uint32 {
	return LToF32(uint64(int64(int32(v))), rm, fl)
}

// WUToF32 computes fcvt.s.wu.
func WUToF32(v uint64, rm uint8, fl *uint8) uint32 {
	return LUToF32(uint64(uint32(v)), rm, fl)
}

// LToF32 computes fcvt.s.l.
func LToF32(v uint64, rm uint8, fl *uint8) uint32 {
	if v+1<<24 <= 1<<25 || rm == RNE && *fl&NX != 0 {
		return u32(float32(int64(v)))
	}
	return uint32(binary32().fromSigned(int64(v), rm, fl))
}

// LUToF32 computes fcvt.s.lu.
func LUToF32(v uint64, rm uint8, fl *uint8) uint32 {
	if v <= 1<<24 || rm == RNE && *fl&NX != 0 && v < 1<<63 {
		return u32(float32(int64(v)))
	}
	return uint32(binary32().fromInt(false, v, rm, fl))
}

// F32ToF64 computes fcvt.d.s, which is always exact.
func F32ToF64(a uint32, fl *uint8) uint64 {
	if isNaN32(a) {
		if isSignalling32(a) {
			*fl |= NV
		}
		return NaN64
	}
	return u64(float64(f32(a)))
}

// F64ToF32 computes fcvt.s.d.
func F64ToF32(a uint64, rm uint8, fl *uint8) uint32 {
	if rm == RNE {
		if r, ok := narrow(f64(a), fl); ok {
			return r
		}
		if a<<1 == 0 {
			return uint32(a >> 32)
		}
	}
	return uint32(binary32().convert(binary64(), a, rm, fl))
}
