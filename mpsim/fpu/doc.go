// Package fpu computes the floating-point operations of the RISC-V extensions
// F and D ("The RISC-V Instruction Set Manual, Volume I", 20191213, chapters 11
// and 12): IEEE 754-2008 arithmetic with canonical NaN results, subnormals, the
// five rounding modes, accrued exception flags and tininess detected after
// rounding.
//
// Operands and results are bit patterns: uint64 for D, uint32 for F. A single-precision
// value in a 64-bit register is NaN-boxed; [Box32] and [Unbox32] convert between the two.
// Operations on integers take and return the whole 64-bit integer register, with 32-bit
// results sign-extended to it.
//
// rm is a resolved rounding mode, [RNE] … [RMM], never the dynamic one. fl points to the
// accrued flags. An operation only ever sets bits there. An rm that is none of the five
// behaves like RNE; the caller must trap reserved encodings.
//
// There are two ways to compute a result. The soft path (unpack.go, arith.go, convert.go)
// works on integers, for both formats alike, and is always correct. The fast path
// (double.go, single.go, integer.go) lets the host compute the operation if the mode is
// RNE, and returns a result only if its flags are certain: the result is a normal number
// well away from both ends of the range, and either inexactness has been accrued already or
// an error-free transformation shows whether the result is exact (TwoSum; the residual of a
// fused multiply-add; Muller et al., "Handbook of Floating-Point Arithmetic", 2nd ed.,
// chapter 4). Everything else takes the soft path.
//
// All functions are pure except for the flags that they accrue, and may be called from any
// number of goroutines at once.
package fpu

// Rounding modes, with the encoding of the rm field.
const (
	RNE uint8 = iota // to nearest, ties to even
	RTZ              // towards zero
	RDN              // down
	RUP              // up
	RMM              // to nearest, ties away from zero
)

// Accrued exception flags, with the encoding of fflags.
const (
	NX uint8 = 1 << iota // inexact
	UF                   // underflow
	OF                   // overflow
	DZ                   // divide by zero
	NV                   // invalid operation
)

// The canonical NaNs.
const (
	NaN32 uint32 = 0x7fc00000
	NaN64 uint64 = 0x7ff8000000000000
)

const (
	sign32 uint32 = 1 << 31
	sign64 uint64 = 1 << 63
	inf32  uint32 = 0x7f800000
	inf64  uint64 = 0x7ff0000000000000
)

// Box32 returns the 64-bit register content for a single-precision value.
func Box32(v uint32) uint64 { return 0xffffffff<<32 | uint64(v) }

// Unbox32 returns the single-precision value in a 64-bit register, or the canonical NaN if
// the register does not contain a boxed value.
func Unbox32(r uint64) uint32 {
	if r>>32 != 0xffffffff {
		return NaN32
	}
	return uint32(r)
}
