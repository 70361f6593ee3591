package eval_test

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim/asm"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/rv"
)

// TestNext: branches go where the machine's go; jumps and links too.
func TestNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	p := &asm.Program{}
	p.Func("_start")
	var want []uint64
	for op := rv.OpBEQ; op <= rv.OpBGEU; op++ {
		for range 200 {
			a, b := value(rng), value(rng)
			if rng.IntN(4) == 0 {
				b = a
			}
			p.Li(rs1, a)
			p.Li(rs2, b)
			p.Li(rd, 1)
			i := rv.Inst{Op: op, Rs1: rs1, Rs2: rs2, Imm: 8, Len: 4}
			pc := p.PC()
			next := eval.Next(i, eval.Operands{PC: pc, Rs1: a, Rs2: b})
			if next != pc+4 && next != pc+8 {
				t.Fatalf("%v at %#x goes to %#x", op, pc, next)
			}
			p.Emit(i)
			p.Li(rd, 0)
			p.Li(base, asm.DataBase+8*uint64(len(want)))
			p.Store(rv.OpSD, rd, base, 0)
			want = append(want, (next-pc)/4-1)
		}
	}
	p.Data("", make([]byte, 8*len(want)))
	for _, part := range [][2]uint64{{10, 1}, {11, asm.DataBase}, {12, 8 * uint64(len(want))}, {17, 64}, {10, 0}, {17, 94}} {
		p.Li(uint8(part[0]), part[1])
		if part[0] == 17 {
			p.Op(rv.OpECALL, 0, 0, 0)
		}
	}
	got := execute(t, p)
	taken := 0
	for n, w := range want {
		if v := binary.LittleEndian.Uint64(got[8*n:]); v != w {
			t.Errorf("branch %d: taken %d, the machine %d", n, w, v)
		}
		taken += int(w)
	}
	if taken < len(want)/4 || taken > len(want)*3/4 {
		t.Errorf("%d of %d branches taken", taken, len(want))
	}
	if pc := eval.Next(rv.Inst{Op: rv.OpJALR, Rs1: 1, Imm: 5, Len: 2}, eval.Operands{PC: 100, Rs1: 0x1000}); pc != 0x1004 {
		t.Errorf("jalr goes to %#x", pc)
	}
	if v, ok := eval.Result(rv.Inst{Op: rv.OpJALR, Rd: 1, Rs1: 1, Imm: 5, Len: 2}, eval.Operands{PC: 100}); v != 102 || !ok {
		t.Errorf("jalr links %d", v)
	}
}

// TestMultiply compares extension M with numbers of any size.
func TestMultiply(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	signed := func(v uint64) *big.Int { return big.NewInt(int64(v)) }
	unsigned := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	result := func(op rv.Op, a, b uint64) uint64 {
		v, ok := eval.Result(rv.Inst{Op: op, Rd: 3, Rs1: 1, Rs2: 2, Len: 4}, eval.Operands{Rs1: a, Rs2: b})
		if !ok {
			t.Fatalf("%v has no result", op)
		}
		return v
	}
	high := func(p *big.Int) uint64 {
		p.Rsh(p, 64) // rounds down, as two's complement wants
		return new(big.Int).And(p, unsigned(1<<64-1)).Uint64()
	}
	for range 20000 {
		a, b := value(rng), value(rng)
		for op, want := range map[rv.Op]uint64{
			rv.OpMULHU:  high(new(big.Int).Mul(unsigned(a), unsigned(b))),
			rv.OpMULH:   high(new(big.Int).Mul(signed(a), signed(b))),
			rv.OpMULHSU: high(new(big.Int).Mul(signed(a), unsigned(b))),
			rv.OpMUL:    a * b,
			// The manual's identity: dividend = divisor × quotient + remainder, always.
			rv.OpREM:  a - b*result(rv.OpDIV, a, b),
			rv.OpREMU: a - b*result(rv.OpDIVU, a, b),
		} {
			if got := result(op, a, b); got != want {
				t.Errorf("%v of %#x and %#x: %#x, want %#x", op, a, b, got, want)
			}
		}
	}
}
