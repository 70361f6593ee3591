package mpsim

import (
	"math"
	"math/bits"

	"hindsight/mpsim/rv"
)

// divide computes divisions and the less common multiplications. For zero and overflow it
// follows chapter 7 of the manual.
func divide(code rv.Op, a, b uint64) uint64 {
	switch code {
	case rv.OpMULH:
		hi, _ := bits.Mul64(a, b)
		return hi - uint64(int64(a)>>63)&b - uint64(int64(b)>>63)&a
	case rv.OpMULHSU:
		hi, _ := bits.Mul64(a, b)
		return hi - uint64(int64(a)>>63)&b
	case rv.OpDIV:
		if b == 0 {
			return math.MaxUint64
		}
		return uint64(int64(a) / int64(b))
	case rv.OpDIVU:
		if b == 0 {
			return math.MaxUint64
		}
		return a / b
	case rv.OpREM:
		if b == 0 {
			return a
		}
		return uint64(int64(a) % int64(b))
	case rv.OpREMU:
		if b == 0 {
			return a
		}
		return a % b
	case rv.OpDIVW:
		if uint32(b) == 0 {
			return math.MaxUint64
		}
		return uint64(int64(int32(a) / int32(b)))
	case rv.OpDIVUW:
		if uint32(b) == 0 {
			return math.MaxUint64
		}
		return uint64(int64(int32(uint32(a) / uint32(b))))
	case rv.OpREMW:
		if uint32(b) == 0 {
			return uint64(int64(int32(a)))
		}
		return uint64(int64(int32(a) % int32(b)))
	}
	if uint32(b) == 0 {
		return uint64(int64(int32(a)))
	}
	return uint64(int64(int32(uint32(a) % uint32(b))))
}
