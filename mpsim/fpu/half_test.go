package fpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// pattern returns a bit pattern of the format, often near a limit of half precision.
func pattern(rng *rand.Rand, f format) uint64 {
	width := f.frac + 1
	for 1<<(width-f.frac) < uint64(4*f.bias+4) {
		width++
	}
	v := rng.Uint64() >> (64 - width)
	switch rng.IntN(5) {
	case 0: // near the limits of half precision or of an integer
		e := uint64(f.bias + rng.IntN(80) - 30)
		v = v&(f.sign()|1<<f.frac-1) | min(e, uint64(2*f.bias))<<f.frac
	case 1: // few bits, so that ties occur
		v &^= 1<<(f.frac-min(f.frac, uint(rng.IntN(12)))) - 1
		e := uint64(f.bias + rng.IntN(40) - 20)
		v = v&(f.sign()|1<<f.frac-1) | min(e, uint64(2*f.bias))<<f.frac
	case 2:
		return []uint64{0, f.sign(), f.infinity(), f.infinity() | f.sign(), f.nan(), f.infinity() + 1, 1, 1 << f.frac}[rng.IntN(8)]
	}
	return v
}

// TestHalf compares conversions to and from half precision with arbitrary-precision
// numbers: all halves, and doubles and singles of all kinds.
func TestHalf(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	for h := range 1 << 16 {
		var fl, want uint8
		wide, narrow := F16ToF64(uint16(h), &fl), F16ToF32(uint16(h), &fl)
		f := binary16()
		switch {
		case isFinite(f, uint64(h)):
			if exactly(binary64(), wide).Cmp(exactly(f, uint64(h))) != 0 || F32ToF64(narrow, &fl) != wide || wide>>63 != uint64(h)>>15 {
				t.Fatalf("%#x becomes %#x and %#x", h, wide, narrow)
			}
			if back := F64ToF16(wide, RNE, &fl); back != uint16(h) {
				t.Fatalf("%#x becomes %#x and that %#x", h, wide, back)
			}
		case h&0x3ff != 0: // NaN
			if h&0x200 == 0 {
				want = NV
			}
			if wide != NaN64 || narrow != NaN32 {
				t.Fatalf("%#x becomes %#x and %#x", h, wide, narrow)
			}
		}
		if fl != want {
			t.Fatalf("%#x: flags %#x, want %#x", h, fl, want)
		}
	}
	for range 200_000 {
		rm := uint8(rng.IntN(5))
		v, s := pattern(rng, binary64()), uint32(pattern(rng, binary32()))
		var fl uint8
		got := F64ToF16(v, rm, &fl)
		checkHalf(t, binary64(), v, rm, got, fl)
		fl = 0
		got = F32ToF16(s, rm, &fl)
		checkHalf(t, binary32(), uint64(s), rm, got, fl)
	}
}

func checkHalf(t *testing.T, from format, v uint64, rm uint8, got uint16, fl uint8) {
	t.Helper()
	var want uint64
	var flags uint8
	switch n := from.unpack(v); n.class {
	case zero:
		want = binary16().signed(n.neg, 0)
	case infinite:
		want = binary16().signed(n.neg, binary16().infinity())
	case quiet:
		want = uint64(NaN16)
	case signalling:
		want, flags = uint64(NaN16), NV
	default:
		want, flags = bigRound(binary16(), exactly(from, v), rm)
	}
	if uint64(got) != want || fl != flags {
		t.Fatalf("%#x, mode %d: %#x, flags %#x; want %#x, %#x", v, rm, got, fl, want, flags)
	}
}

// integerOf rounds a number to an integer.
func integerOf(x *big.Float, rm uint8) *big.Int {
	below, _ := x.Int(nil) // towards zero
	if x.Signbit() && x.Cmp(new(big.Float).SetInt(below)) != 0 {
		below.Sub(below, big.NewInt(1))
	}
	rest := new(big.Float).SetPrec(exactBits).Sub(x, new(big.Float).SetPrec(exactBits).SetInt(below))
	up := false
	switch half := rest.Cmp(big.NewFloat(0.5)); rm {
	case RNE:
		up = half > 0 || half == 0 && below.Bit(0) == 1
	case RMM:
		up = half > 0 || half == 0 && !x.Signbit()
	case RTZ:
		up = x.Signbit() && rest.Sign() > 0
	case RUP:
		up = rest.Sign() > 0
	}
	if up {
		below.Add(below, big.NewInt(1))
	}
	return below
}

// TestRound compares fround, froundnx and fcvtmod with arbitrary-precision numbers.
func TestRound(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 2))
	for range 200_000 {
		rm := uint8(rng.IntN(5))
		v, s := pattern(rng, binary64()), pattern(rng, binary32())
		var quiet64, quiet32, nx64, nx32 uint8
		check := func(f format, v, got, again uint64, plain, nx uint8) {
			var want uint64
			var flags, inexact uint8
			switch n := f.unpack(v); {
			case n.isNaN():
				want = f.nan()
				if n.class == signalling {
					flags, inexact = NV, NV
				}
			case n.class == finite:
				i := integerOf(exactly(f, v), rm)
				r := new(big.Float).SetPrec(exactBits).SetInt(i)
				if r.Cmp(exactly(f, v)) != 0 {
					inexact = NX
				}
				if want = f.signed(n.neg, 0); i.Sign() != 0 {
					want, _ = bigRound(f, r, RNE)
				}
			default:
				want = v
			}
			if got != want || again != want || plain != flags || nx != inexact {
				t.Fatalf("%#x, mode %d: %#x, %#x, flags %#x, %#x; want %#x, %#x, %#x", v, rm, got, again, plain, nx, want, flags, inexact)
			}
		}
		check(binary64(), v, Round64(v, rm, &quiet64), RoundNX64(v, rm, &nx64), quiet64, nx64)
		check(binary32(), s, uint64(Round32(uint32(s), rm, &quiet32)), uint64(RoundNX32(uint32(s), rm, &nx32)), quiet32, nx32)

		var fl, want uint8
		got := F64ToWMod(v, &fl)
		F64ToW(v, RTZ, &want)
		var low uint64
		if isFinite(binary64(), v) {
			i, _ := exactly(binary64(), v).Int(nil)
			low = new(big.Int).And(i, big.NewInt(math.MaxUint32)).Uint64()
		}
		if got != uint64(int64(int32(low))) || fl != want {
			t.Fatalf("fcvtmod of %#x: %#x, flags %#x; want %#x, %#x", v, got, fl, int32(low), want)
		}
	}
}

// TestQuiet compares fleq, fltq, fminm and fmaxm with the host's comparisons.
func TestQuiet(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	for range 200_000 {
		a, b := pattern(rng, binary64()), pattern(rng, binary64())
		if rng.IntN(4) == 0 {
			b = a ^ uint64(rng.IntN(2))<<63
		}
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		var want uint8
		if isSignalling64(a) || isSignalling64(b) {
			want = NV
		}
		least, most := math.Float64bits(math.Min(x, y)), math.Float64bits(math.Max(x, y))
		if x != x || y != y {
			least, most = NaN64, NaN64
		}
		for name, test := range map[string]struct {
			do   func(a, b uint64, fl *uint8) uint64
			want uint64
		}{"fleq": {Leq64, bit(x <= y)}, "fltq": {Ltq64, bit(x < y)}, "fminm": {MinM64, least}, "fmaxm": {MaxM64, most}} {
			var fl uint8
			if got := test.do(a, b, &fl); got != test.want || fl != want {
				t.Fatalf("%s of %#x and %#x: %#x, flags %#x; want %#x, %#x", name, a, b, got, fl, test.want, want)
			}
		}
	}
	for range 200_000 {
		a, b := uint32(pattern(rng, binary32())), uint32(pattern(rng, binary32()))
		var fl, want uint8
		x, y := math.Float32frombits(a), math.Float32frombits(b)
		if isSignalling32(a) || isSignalling32(b) {
			want = NV
		}
		least, most := math.Float32bits(float32(math.Min(float64(x), float64(y)))), math.Float32bits(float32(math.Max(float64(x), float64(y))))
		if x != x || y != y {
			least, most = NaN32, NaN32
		}
		got := [4]uint64{Leq32(a, b, &fl), Ltq32(a, b, &fl), uint64(MinM32(a, b, &fl)), uint64(MaxM32(a, b, &fl))}
		if got != [4]uint64{bit(x <= y), bit(x < y), uint64(least), uint64(most)} || fl != want {
			t.Fatalf("%#x and %#x: %#x, flags %#x", a, b, got, fl)
		}
	}
}

// TestFli checks the constants against the manual's table.
func TestFli(t *testing.T) {
	want := []string{"-1", "min", "2^-16", "2^-15", "2^-8", "2^-7", "0.0625", "0.125", "0.25", "0.3125", "0.375", "0.4375", "0.5", "0.625", "0.75", "0.875",
		"1", "1.25", "1.5", "1.75", "2", "2.5", "3", "4", "8", "16", "128", "256", "32768", "65536", "inf", "nan"}
	for n, text := range want {
		single, double := math.Float32frombits(Fli32(uint8(n))), math.Float64frombits(Fli64(uint8(n)))
		switch text {
		case "min":
			if single != 0x1p-126 || double != 0x1p-1022 {
				t.Errorf("least normal numbers: %g, %g", single, double)
			}
			continue
		case "nan":
			if Fli32(31) != NaN32 || Fli64(31) != NaN64 {
				t.Errorf("NaNs: %#x, %#x", Fli32(31), Fli64(31))
			}
			continue
		case "inf":
			text = "+Inf"
		}
		var v float64
		if e, ok := map[string]float64{"2^-16": 0x1p-16, "2^-15": 0x1p-15, "2^-8": 0x1p-8, "2^-7": 0x1p-7, "+Inf": math.Inf(1)}[text]; ok {
			v = e
		} else if f, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven); err == nil {
			v, _ = f.Float64()
		}
		if double != v || float64(single) != v {
			t.Errorf("constant %d: %g, %g, want %s", n, single, double, text)
		}
	}
}
