package fpu

// The operations of Zfhmin ("The RISC-V Instruction Set Manual, Volume I", 20240411,
// chapter 23). They are rarely executed, so all of them take the soft path.

// NaN16 is the canonical NaN of half precision.
const NaN16 uint16 = 0x7e00

func binary16() format { return format{frac: 10, bias: 15} }

// Box16 returns the 64-bit register content for a half-precision value.
func Box16(v uint16) uint64 { return 0xffffffffffff<<16 | uint64(v) }

// Unbox16 returns the half-precision value in a 64-bit register, or the canonical NaN if
// the register does not contain a boxed value.
func Unbox16(r uint64) uint16 {
	if r>>16 != 0xffffffffffff {
		return NaN16
	}
	return uint16(r)
}

// F16ToF32 computes fcvt.s.h.
func F16ToF32(a uint16, fl *uint8) uint32 {
	return uint32(binary32().convert(binary16(), uint64(a), RNE, fl))
}

// F16ToF64 computes fcvt.d.h.
func F16ToF64(a uint16, fl *uint8) uint64 {
	return binary64().convert(binary16(), uint64(a), RNE, fl)
}

// F32ToF16 computes fcvt.h.s.
func F32ToF16(a uint32, rm uint8, fl *uint8) uint16 {
	return uint16(binary16().convert(binary32(), uint64(a), rm, fl))
}

// F64ToF16 computes fcvt.h.d.
func F64ToF16(a uint64, rm uint8, fl *uint8) uint16 {
	return uint16(binary16().convert(binary64(), a, rm, fl))
}
