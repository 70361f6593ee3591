package fpu

import "testing"

// The benchmarks use each result in the next operation if that keeps it in range.
// accrued=yes means that NX is set already, as after the first inexact result of a program.
func BenchmarkOps(b *testing.B) {
	third, half := u64(1.0/3), u64(0.5)
	third32, half32 := u32(1.0/3), u32(0.5)
	for _, c := range []struct {
		name string
		rm   uint8
		do   func(x uint64, rm uint8, fl *uint8) uint64
	}{
		{"add64", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return Add64(third, x&^sign64, rm, fl) }},
		{"add64/rm=rtz", RTZ, func(x uint64, rm uint8, fl *uint8) uint64 { return Add64(third, x&^sign64, rm, fl) }},
		{"mul64", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return Mul64(third, half|x&1, rm, fl) }},
		{"div64", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return Div64(third, half|x&1, rm, fl) }},
		{"sqrt64", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return Sqrt64(third|x&1, rm, fl) }},
		{"madd64", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return MAdd64(third, half, x, rm, fl) }},
		{"add32", RNE, func(x uint64, rm uint8, fl *uint8) uint64 {
			return Box32(Add32(third32, uint32(x)&^sign32, rm, fl))
		}},
		{"mul32", RNE, func(x uint64, rm uint8, fl *uint8) uint64 {
			return Box32(Mul32(third32, half32|uint32(x)&1, rm, fl))
		}},
		{"madd32", RNE, func(x uint64, rm uint8, fl *uint8) uint64 {
			return Box32(MAdd32(third32, half32, uint32(x), rm, fl))
		}},
		{"lt64", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return Lt64(x, third, fl) }},
		{"toW", RTZ, func(x uint64, rm uint8, fl *uint8) uint64 { return F64ToW(third|x&1, rm, fl) }},
		{"fromL", RNE, func(x uint64, rm uint8, fl *uint8) uint64 { return LToF64(x&0xffff, rm, fl) }},
	} {
		for _, accrued := range []string{"yes", "no"} {
			b.Run("op="+c.name+"/accrued="+accrued, func(b *testing.B) {
				var x uint64
				var fl uint8
				for b.Loop() {
					fl = 0
					if accrued == "yes" {
						fl = NX
					}
					x = c.do(x, c.rm, &fl)
				}
			})
		}
	}
}
