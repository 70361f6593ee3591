package fpu

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"hindsight/examples/cross"
)

// exactBits is more than any sum of a product and an addend of doubles needs.
const exactBits = 4400

func bigModes() [5]big.RoundingMode {
	return [...]big.RoundingMode{big.ToNearestEven, big.ToZero, big.ToNegativeInf, big.ToPositiveInf, big.ToNearestAway}
}

// exactly returns a finite value as a big number.
func exactly(f format, v uint64) *big.Float {
	n := int64(v & (1<<f.frac - 1))
	e := int(v >> f.frac & uint64(2*f.bias+1))
	if e > 0 {
		n |= 1 << f.frac
	} else {
		e = 1
	}
	x := new(big.Float).SetPrec(exactBits).SetInt64(n)
	x.SetMantExp(x, e-f.bias-int(f.frac))
	if v&f.sign() != 0 {
		x.Neg(x)
	}
	return x
}

// isFinite reports whether v is neither an infinity nor a NaN.
func isFinite(f format, v uint64) bool { return v&^f.sign() < f.infinity() }

// bigRound rounds a nonzero number to the format and returns its flags, by the definitions
// of IEEE 754: overflow and underflow depend on the result rounded with an unbounded
// exponent.
func bigRound(f format, x *big.Float, rm uint8) (v uint64, fl uint8) {
	least := 1 - f.bias
	prec := f.frac + 1
	free := new(big.Float).SetPrec(prec).SetMode(bigModes()[rm]).Set(x)
	exp := x.MantExp(nil) - 1
	bounded := free
	if exp < least {
		prec = uint(max(0, int(prec)-(least-exp)))
		bounded = roundTiny(f, x, prec, rm)
	}
	if bounded.Cmp(x) != 0 {
		fl |= NX
		if free.MantExp(nil)-1 < least {
			fl |= UF
		}
	}
	var sign uint64
	if x.Signbit() {
		sign = f.sign()
	}
	if bounded.Sign() == 0 {
		return sign, fl
	}
	if e := bounded.MantExp(nil) - 1; e > f.bias {
		fl |= OF | NX
		up := rm == RNE || rm == RMM || rm == RUP && sign == 0 || rm == RDN && sign != 0
		if up {
			return sign | f.infinity(), fl
		}
		return sign | f.infinity() - 1, fl
	}
	scaled := new(big.Float).SetMantExp(bounded, int(f.frac)-least) // in units of the smallest subnormal
	scaled.Abs(scaled)
	i, _ := scaled.Int(nil)
	if i.BitLen() <= int(f.frac)+1 {
		return sign | i.Uint64(), fl
	}
	shift := i.BitLen() - int(f.frac) - 1
	m := new(big.Int).Rsh(i, uint(shift)).Uint64()
	return sign | uint64(shift+1)<<f.frac | m&(1<<f.frac-1), fl
}

// roundTiny rounds to a multiple of the smallest subnormal, of which x has prec significant
// bits left. With none, x is between zero and one unit.
func roundTiny(f format, x *big.Float, prec uint, rm uint8) *big.Float {
	if prec > 0 {
		return new(big.Float).SetPrec(prec).SetMode(bigModes()[rm]).Set(x)
	}
	unit := new(big.Float).SetMantExp(big.NewFloat(1), 1-f.bias-int(f.frac))
	half := new(big.Float).SetMantExp(unit, -1)
	size := new(big.Float).Abs(x)
	up := false
	switch rm {
	case RNE:
		up = size.Cmp(half) > 0
	case RMM:
		up = size.Cmp(half) >= 0
	case RDN:
		up = x.Signbit()
	case RUP:
		up = !x.Signbit()
	}
	r := new(big.Float)
	if up {
		r.Set(unit)
	}
	if x.Signbit() {
		r.Neg(r)
	}
	return r
}

// nudge makes an inexact quotient or root, truncated to many bits, stand for what was
// truncated.
func nudge(x *big.Float, exact bool) *big.Float {
	if exact {
		return x
	}
	tail := new(big.Float).SetPrec(exactBits).SetMantExp(x, -exactBits/2)
	return new(big.Float).SetPrec(2*exactBits).Add(x, tail)
}

// bigResult computes operation name on finite operands. ok is false for a zero result and
// for what is not arithmetic.
func bigResult(name string, f format, v [3]uint64) (x *big.Float, ok bool) {
	a, b, c := exactly(f, v[0]), exactly(f, v[1]), exactly(f, v[2])
	truncated := func() *big.Float { return new(big.Float).SetPrec(1000).SetMode(big.ToZero) }
	switch name {
	case "fadd":
		x = a.Add(a, b)
	case "fsub":
		x = a.Sub(a, b)
	case "fmul":
		x = a.Mul(a, b)
	case "fmadd", "fmsub", "fnmsub", "fnmadd":
		p := a.Mul(a, b)
		if name == "fnmsub" || name == "fnmadd" {
			p.Neg(p)
		}
		if name == "fmsub" || name == "fnmadd" {
			c.Neg(c)
		}
		x = p.Add(p, c)
	case "fdiv":
		if b.Sign() == 0 {
			return nil, false
		}
		x = truncated().Quo(a, b)
		back := new(big.Float).SetPrec(exactBits).Mul(x, b)
		x = nudge(x, back.Cmp(a) == 0)
	case "fsqrt":
		if a.Sign() <= 0 {
			return nil, false
		}
		// Sqrt is correct to its precision. Squaring shows whether it is exact.
		x = new(big.Float).SetPrec(1000).Sqrt(a)
		back := new(big.Float).SetPrec(exactBits).Mul(x, x)
		x = nudge(x, back.Cmp(a) == 0)
	default:
		return nil, false
	}
	return x, x.Sign() != 0
}

// TestAgainstBig rounds exact results according to the definition, in every mode.
func TestAgainstBig(t *testing.T) {
	tries := 4000
	if !cross.Long() {
		tries = 400
	}
	for _, o := range arithmetic() {
		t.Run(o.asm, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			name, _, _ := strings.Cut(o.asm, ".")
			for range tries {
				o.compareBig(t, name, o.operands(r))
			}
		})
	}
}

func (o *operation) compareBig(t *testing.T, name string, v [3]uint64) {
	t.Helper()
	f, raw := binary64(), v
	if o.single {
		f = binary32()
		for i := range v {
			raw[i] = uint64(Unbox32(v[i]))
		}
	}
	for _, x := range raw[:o.args] {
		if !isFinite(f, x) {
			return
		}
	}
	for i := o.args; i < 3; i++ {
		raw[i] = 0
	}
	x, ok := bigResult(name, f, raw)
	if !ok {
		return
	}
	for rm := RNE; rm <= RMM; rm++ {
		want, wantFl := bigRound(f, x, rm)
		if o.single {
			want = Box32(uint32(want))
		}
		for _, before := range []uint8{0, NX} {
			fl := before
			if got := o.fast(v[0], v[1], v[2], rm, &fl); got != want || fl != wantFl|before {
				t.Fatalf("%x rm %d flags %x: got %#x flags %x, exact arithmetic %#x flags %x", v, rm, before, got, fl, want, wantFl|before)
			}
		}
	}
}
