package fpu

import "math/rand/v2"

// operation is one instruction under test, on whole 64-bit registers.
type operation struct {
	asm  string // with ft0, ft1, ft2 or t0 as operands and ft3 or t1 as destination
	args int
	rm   bool // rounds
	// single says that the operands are single precision, and integer that the only operand
	// is an integer.
	single, integer bool
	fast, soft      func(a, b, c uint64, rm uint8, fl *uint8) uint64
}

type (
	op3 = func(a, b, c uint64, rm uint8, fl *uint8) uint64
	s32 = func(a, b, c uint32, rm uint8, fl *uint8) uint32
)

// boxed converts an operation on singles to one on registers.
func boxed(f s32) op3 {
	return func(a, b, c uint64, rm uint8, fl *uint8) uint64 {
		return Box32(f(Unbox32(a), Unbox32(b), Unbox32(c), rm, fl))
	}
}

// plainSoft converts the soft operation of a format to one on registers.
func plainSoft(single bool, do func(f format, a, b, c uint64, rm uint8, fl *uint8) uint64) op3 {
	if !single {
		return func(a, b, c uint64, rm uint8, fl *uint8) uint64 { return do(binary64(), a, b, c, rm, fl) }
	}
	return boxed(func(a, b, c uint32, rm uint8, fl *uint8) uint32 {
		return uint32(do(binary32(), uint64(a), uint64(b), uint64(c), rm, fl))
	})
}

func arithmetic() []operation {
	var ops []operation
	both := func(name string, args int, d op3, s s32, soft func(f format, a, b, c uint64, rm uint8, fl *uint8) uint64) {
		operands := []string{"ft0", "ft0,ft1", "ft0,ft1,ft2"}[args-1]
		ops = append(ops,
			operation{asm: name + ".d ft3," + operands, args: args, rm: true, fast: d, soft: plainSoft(false, soft)},
			operation{asm: name + ".s ft3," + operands, args: args, rm: true, single: true, fast: boxed(s), soft: plainSoft(true, soft)})
	}
	type u = uint64
	both("fadd", 2, func(a, b, c u, rm uint8, fl *uint8) u { return Add64(a, b, rm, fl) },
		func(a, b, c uint32, rm uint8, fl *uint8) uint32 { return Add32(a, b, rm, fl) },
		func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.add(a, b, rm, fl) })
	both("fsub", 2, func(a, b, c u, rm uint8, fl *uint8) u { return Sub64(a, b, rm, fl) },
		func(a, b, c uint32, rm uint8, fl *uint8) uint32 { return Sub32(a, b, rm, fl) },
		func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.add(a, b^f.sign(), rm, fl) })
	both("fmul", 2, func(a, b, c u, rm uint8, fl *uint8) u { return Mul64(a, b, rm, fl) },
		func(a, b, c uint32, rm uint8, fl *uint8) uint32 { return Mul32(a, b, rm, fl) },
		func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.mul(a, b, rm, fl) })
	both("fdiv", 2, func(a, b, c u, rm uint8, fl *uint8) u { return Div64(a, b, rm, fl) },
		func(a, b, c uint32, rm uint8, fl *uint8) uint32 { return Div32(a, b, rm, fl) },
		func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.div(a, b, rm, fl) })
	both("fsqrt", 1, func(a, b, c u, rm uint8, fl *uint8) u { return Sqrt64(a, rm, fl) },
		func(a, b, c uint32, rm uint8, fl *uint8) uint32 { return Sqrt32(a, rm, fl) },
		func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.sqrt(a, rm, fl) })
	both("fmadd", 3, MAdd64, MAdd32, func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.fma(a, b, c, rm, fl) })
	both("fmsub", 3, MSub64, MSub32, func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.fma(a, b, c^f.sign(), rm, fl) })
	both("fnmsub", 3, NMSub64, NMSub32, func(f format, a, b, c u, rm uint8, fl *uint8) u { return f.fma(a^f.sign(), b, c, rm, fl) })
	both("fnmadd", 3, NMAdd64, NMAdd32, func(f format, a, b, c u, rm uint8, fl *uint8) u {
		return f.fma(a^f.sign(), b, c^f.sign(), rm, fl)
	})
	return ops
}

func conversions() []operation {
	var ops []operation
	to := func(name string, width uint, unsigned bool, d func(uint64, uint8, *uint8) uint64, s func(uint32, uint8, *uint8) uint64) {
		ops = append(ops,
			operation{asm: "fcvt." + name + ".d t1,ft0", args: 1, rm: true,
				fast: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 { return d(a, rm, fl) },
				soft: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 {
					return binary64().toInt(a, width, unsigned, rm, fl)
				}},
			operation{asm: "fcvt." + name + ".s t1,ft0", args: 1, rm: true, single: true,
				fast: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 { return s(Unbox32(a), rm, fl) },
				soft: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 {
					return binary32().toInt(uint64(Unbox32(a)), width, unsigned, rm, fl)
				}})
	}
	to("w", 32, false, F64ToW, F32ToW)
	to("wu", 32, true, F64ToWU, F32ToWU)
	to("l", 64, false, F64ToL, F32ToL)
	to("lu", 64, true, F64ToLU, F32ToLU)

	from := func(name string, value func(uint64) (neg bool, magnitude uint64), d func(uint64, uint8, *uint8) uint64, s func(uint64, uint8, *uint8) uint32) {
		ops = append(ops,
			operation{asm: "fcvt.d." + name + " ft3,t0", args: 1, rm: true, integer: true,
				fast: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 { return d(a, rm, fl) },
				soft: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 {
					neg, m := value(a)
					return binary64().fromInt(neg, m, rm, fl)
				}},
			operation{asm: "fcvt.s." + name + " ft3,t0", args: 1, rm: true, integer: true,
				fast: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 { return Box32(s(a, rm, fl)) },
				soft: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 {
					neg, m := value(a)
					return Box32(uint32(binary32().fromInt(neg, m, rm, fl)))
				}})
	}
	signed := func(v int64) (bool, uint64) {
		if v < 0 {
			return true, -uint64(v)
		}
		return false, uint64(v)
	}
	from("w", func(v uint64) (bool, uint64) { return signed(int64(int32(v))) },
		func(v uint64, _ uint8, _ *uint8) uint64 { return WToF64(v) }, WToF32)
	from("wu", func(v uint64) (bool, uint64) { return false, uint64(uint32(v)) },
		func(v uint64, _ uint8, _ *uint8) uint64 { return WUToF64(v) }, WUToF32)
	from("l", func(v uint64) (bool, uint64) { return signed(int64(v)) }, LToF64, LToF32)
	from("lu", func(v uint64) (bool, uint64) { return false, v }, LUToF64, LUToF32)

	return append(ops,
		operation{asm: "fcvt.d.s ft3,ft0", args: 1, single: true,
			fast: func(a, _, _ uint64, _ uint8, fl *uint8) uint64 { return F32ToF64(Unbox32(a), fl) },
			soft: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 {
				return binary64().convert(binary32(), uint64(Unbox32(a)), rm, fl)
			}},
		operation{asm: "fcvt.s.d ft3,ft0", args: 1, rm: true,
			fast: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 { return Box32(F64ToF32(a, rm, fl)) },
			soft: func(a, _, _ uint64, rm uint8, fl *uint8) uint64 {
				return Box32(uint32(binary32().convert(binary64(), a, rm, fl)))
			}})
}

// comparisons do not round, and have only one implementation.
func comparisons() []operation {
	var ops []operation
	flags := func(name, dst string, d func(a, b uint64, fl *uint8) uint64, s func(a, b uint32, fl *uint8) uint64) {
		ops = append(ops,
			operation{asm: name + ".d " + dst + ",ft0,ft1", args: 2, fast: func(a, b, _ uint64, _ uint8, fl *uint8) uint64 { return d(a, b, fl) }},
			operation{asm: name + ".s " + dst + ",ft0,ft1", args: 2, single: true, fast: func(a, b, _ uint64, _ uint8, fl *uint8) uint64 {
				return s(Unbox32(a), Unbox32(b), fl)
			}})
	}
	box := func(f func(a, b uint32, fl *uint8) uint32) func(a, b uint32, fl *uint8) uint64 {
		return func(a, b uint32, fl *uint8) uint64 { return Box32(f(a, b, fl)) }
	}
	pure64 := func(f func(a, b uint64) uint64) func(a, b uint64, fl *uint8) uint64 {
		return func(a, b uint64, _ *uint8) uint64 { return f(a, b) }
	}
	pure32 := func(f func(a, b uint32) uint32) func(a, b uint32, fl *uint8) uint64 {
		return func(a, b uint32, _ *uint8) uint64 { return Box32(f(a, b)) }
	}
	flags("feq", "t1", Eq64, Eq32)
	flags("flt", "t1", Lt64, Lt32)
	flags("fle", "t1", Le64, Le32)
	flags("fmin", "ft3", Min64, box(Min32))
	flags("fmax", "ft3", Max64, box(Max32))
	flags("fsgnj", "ft3", pure64(SgnJ64), pure32(SgnJ32))
	flags("fsgnjn", "ft3", pure64(SgnJN64), pure32(SgnJN32))
	flags("fsgnjx", "ft3", pure64(SgnJX64), pure32(SgnJX32))
	return append(ops,
		operation{asm: "fclass.d t1,ft0", args: 1, fast: func(a, _, _ uint64, _ uint8, _ *uint8) uint64 { return Class64(a) }},
		operation{asm: "fclass.s t1,ft0", args: 1, single: true, fast: func(a, _, _ uint64, _ uint8, _ *uint8) uint64 { return Class32(Unbox32(a)) }})
}

func operations() []operation {
	return append(append(arithmetic(), conversions()...), comparisons()...)
}

// operands returns the registers for one try of an operation.
func (o *operation) operands(r *rand.Rand) (v [3]uint64) {
	for i := range v {
		switch {
		case o.integer:
			v[i] = randomInteger(r)
		case o.single:
			v[i] = Box32(uint32(randomValue(r, binary32())))
			if r.IntN(64) == 0 {
				v[i] = randomValue(r, binary64())
			}
		default:
			v[i] = randomValue(r, binary64())
		}
	}
	if o.integer {
		return v
	}
	f, mask := binary64(), ^uint64(0)
	if o.single {
		f, mask = binary32(), 1<<32-1
	}
	// Some related operands: close to each other, or with a sum or product that cancels.
	switch r.IntN(8) {
	case 0:
		v[1] = v[0]&^mask | nearby(r, f, v[0]&mask)
	case 1:
		var fl uint8
		if o.args == 3 {
			p := f.mul(v[0]&mask, v[1]&mask, uint8(r.IntN(5)), &fl)
			v[2] = v[2]&^mask | nearby(r, f, p^f.sign())
		}
	}
	return v
}

func nearby(r *rand.Rand, f format, v uint64) uint64 {
	v ^= uint64(r.IntN(2)) << (f.frac + 1 + uint(f.expBits()) - 1)
	return (v + uint64(r.IntN(5)) - 2) & (f.sign()<<1 - 1)
}

func (f format) expBits() (n int) {
	for e := 2*f.bias + 1; e > 0; e >>= 1 {
		n++
	}
	return n
}

// randomValue prefers the limits of formats.
func randomValue(r *rand.Rand, f format) uint64 {
	top := 2*f.bias + 1
	var e int
	switch r.IntN(10) {
	case 0:
		e = r.IntN(4)
	case 1:
		e = top - r.IntN(4)
	case 2:
		e = f.bias + r.IntN(70) - 3
	case 3:
		e = f.bias/2 + r.IntN(9) - 4
	case 4:
		e = f.bias - 126 + r.IntN(34) - 28 // a double below the smallest single
		e = max(e, 0)
	case 5:
		e = min(f.bias+127+r.IntN(6)-3, top)
	case 6, 7:
		e = f.bias + r.IntN(2*int(f.frac)+8) - int(f.frac) - 4
		e = max(0, min(e, top))
	default:
		e = r.IntN(top + 1)
	}
	full := uint64(1)<<f.frac - 1
	var m uint64
	switch r.IntN(8) {
	case 0:
		m = 0
	case 1:
		m = full
	case 2:
		m = uint64(r.IntN(4))
	case 3:
		m = full - uint64(r.IntN(4))
	case 4:
		m = r.Uint64() & full &^ (1<<r.IntN(int(f.frac)) - 1)
	case 5:
		m = 1 << r.IntN(int(f.frac))
	default:
		m = r.Uint64() & full
	}
	v := uint64(e)<<f.frac | m
	if r.IntN(2) == 0 {
		v |= f.sign()
	}
	return v
}

func randomInteger(r *rand.Rand) uint64 {
	switch r.IntN(6) {
	case 0:
		return r.Uint64()
	case 1:
		return uint64(int64(r.IntN(9)) - 4)
	case 2:
		return 1<<r.IntN(64) + uint64(r.IntN(5)) - 2
	case 3:
		return -(1<<r.IntN(64) + uint64(r.IntN(5)) - 2)
	case 4:
		return uint64(int64(r.Uint64()) >> r.IntN(64))
	}
	// Ties of a narrower significand.
	return (r.Uint64()>>r.IntN(60) | 1) << r.IntN(60)
}
