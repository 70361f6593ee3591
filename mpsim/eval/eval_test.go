package eval_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Offsets in the record of a test: operands, and what the machine computed from them.
const (
	atRs1   = 8 * iota
	atRs2   //
	atRs3   //
	atMem   // the doubleword that the instruction accesses
	atMode  // fcsr
	atOld   // previous content of rd
	atX     // rd, if integer
	atF     // rd, if floating-point
	recSize //
)

// Registers of a test's program.
const (
	rd, rs1, rs2, rs3 = 13, 10, 11, 12
	base              = 30
)

// one is an instruction with operands. mem is at the address in rs1.
type one struct {
	inst rv.Inst
	ops  eval.Operands
	addr uint64
}

// value returns a random operand, often an edge case, integer or floating-point.
func value(rng *rand.Rand) uint64 {
	edges := []uint64{0, 1, math.MaxUint64, 1 << 63, math.MaxInt64, 1 << 31, math.MaxInt32, 1<<64 - 1<<31, 63, 32, math.MaxUint32}
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, 0x1p-1022, math.MaxFloat64, 0.1, 1e10, -2147483648.5, 9.3e18, 2.5, 3.5}
	switch rng.IntN(6) {
	case 0:
		return edges[rng.IntN(len(edges))]
	case 1:
		return math.Float64bits(floats[rng.IntN(len(floats))])
	case 2:
		return 0xffffffff<<32 | uint64(math.Float32bits(float32(floats[rng.IntN(len(floats))])))
	case 3:
		return 0xffffffff<<32 | rng.Uint64()&math.MaxUint32
	case 4:
		return math.Float64bits(rng.NormFloat64() * 1000)
	}
	return rng.Uint64()
}

// random returns an instruction of op with fixed or equal registers.
func random(rng *rand.Rand, op rv.Op) (i rv.Inst, ok bool) {
	match, mask := op.Encoding()
	i, ok = rv.Decode(match | rng.Uint32()&^mask)
	if !ok || i.RM == 5 || i.RM == 6 || i.Op == rv.OpFENCE && i.Imm == 0x10 { // without reserved bits this is pause
		return i, false
	}
	pick := func(has uint8, r uint8) uint8 {
		switch {
		case has == 0:
			return 0
		case rng.IntN(20) == 0:
			return 0
		case rng.IntN(10) == 0:
			return rs1
		}
		return r
	}
	_, _, access := i.Mem()
	i.Rd = pick(i.Rd, rd)
	i.Rs2, i.Rs3 = pick(i.Rs2, rs2), pick(i.Rs3, rs3)
	i.Rs1 = pick(i.Rs1, rs1)
	if access || i.Atomic() {
		i.Rs1 = rs1
		if !i.StoresFloat() && i.Rs2 == rs1 {
			i.Rs2 = rs2
		}
	}
	if i.Compares() {
		i.Rs3 = i.Rd
	}
	return i, true
}

// emit appends the code of a test: it loads the operands into registers, executes the
// instruction, and stores the results in the record.
func emit(p *asm.Program, rng *rand.Rand, op rv.Op, at uint64) (one, bool) {
	i, ok := random(rng, op)
	if !ok {
		return one{}, false
	}
	c := one{inst: i, addr: at}
	c.ops.PC = 0 // set below
	_, _, access := i.Mem()
	vals := [recSize / 8]uint64{value(rng), value(rng), value(rng), value(rng), uint64(rng.IntN(5)<<5 | rng.IntN(32)), value(rng)}
	if access || i.Atomic() {
		vals[atRs1/8] = at + atMem - uint64(int64(i.Imm))
	}
	if rng.IntN(8) == 0 && !access && !i.Atomic() {
		vals[1] = vals[0]
	}
	if i.Compares() && rng.IntN(2) == 0 {
		vals[atOld/8] = vals[atMem/8] ^ uint64(rng.IntN(2))<<32 // at least the same word
	}
	var content []byte
	for _, v := range vals {
		content = binary.LittleEndian.AppendUint64(content, v)
	}
	p.Data("", content)
	p.Li(base, at)
	p.Imm(rv.OpLD, 5, base, atMode)
	p.Emit(rv.Inst{Op: rv.OpCSRRW, Rs1: 5, CSR: 3})
	for n, r := range []uint8{rs1, rs2, rs3} {
		p.Imm(rv.OpLD, r, base, int32(8*n))
		p.Imm(rv.OpFLD, r, base, int32(8*n))
	}
	p.Imm(rv.OpFLD, 0, base, atRs2) // unlike x0, f0 holds a value
	if i.Rd != rs1 {
		p.Imm(rv.OpLD, i.Rd, base, atOld)
	}
	if i.Rd != 0 && i.Rd != rs1 {
		p.Imm(rv.OpFLD, i.Rd, base, atOld)
	}
	c.ops = eval.Operands{
		PC: p.PC(), Rs1: operand(i.Rs1, vals[:]), Rs2: operand(i.Rs2, vals[:]), Rs3: operand(i.Rs3, vals[:]),
		Mem: vals[atMem/8], Mode: uint8(vals[atMode/8] >> 5),
	}
	if i.Compares() && i.Rd != rs1 {
		c.ops.Rs3 = vals[atOld/8]
	}
	p.Emit(i)
	p.Store(rv.OpSD, i.Rd, base, atX)
	p.Store(rv.OpFSD, i.Rd, base, atF)
	return c, true
}

// operand returns the content of register r of either file. In the integer file, r is never
// rd, and x0 is left to eval.
func operand(r uint8, vals []uint64) uint64 {
	switch r {
	case rs1:
		return vals[0]
	case rs2:
		return vals[1]
	case rs3:
		return vals[2]
	}
	return vals[1] // f0; for x0 it must not matter
}

// TestAgainstMachine executes instructions of every operation that computes, loads or
// stores, with random operands, on the machine and here.
func TestAgainstMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2004))
	p := &asm.Program{}
	p.Func("_start")
	var tests []one
	for op := rv.OpLUI; op < rv.NumOps; op++ {
		if (rv.Inst{Op: op}).End() != event.EndFall && !(rv.Inst{Op: op}).Atomic() || op >= rv.OpCSRRW && op <= rv.OpCSRRCI {
			continue
		}
		for range 300 {
			if c, ok := emit(p, rng, op, asm.DataBase+recSize*uint64(len(tests))); ok {
				tests = append(tests, c)
			}
		}
	}
	for _, part := range [][4]uint64{{10, 1}, {11, asm.DataBase}, {12, recSize * uint64(len(tests))}, {17, 64}, {10, 0}, {17, 94}} {
		p.Li(uint8(part[0]), part[1])
		if part[0] == 17 {
			p.Op(rv.OpECALL, 0, 0, 0)
		}
	}
	got := execute(t, p)
	if len(got) != recSize*len(tests) {
		t.Fatalf("%d bytes, want %d", len(got), recSize*len(tests))
	}
	compared := map[rv.Op]int{}
	for n, c := range tests {
		rec := got[recSize*n:]
		check(t, c, rec, compared)
	}
	for op := rv.OpLUI; op < rv.NumOps; op++ {
		if (rv.Inst{Op: op, Rd: 1}).Defs().Regs != 0 && compared[op] < 100 && decides(op) {
			t.Errorf("%v compared %d times only", op, compared[op])
		}
	}
	t.Logf("%d instructions", len(tests))
}

// decides reports whether Result supports an operation, of those that do not jump
// elsewhere.
func decides(op rv.Op) bool {
	return op != rv.OpSCW && op != rv.OpSCD && op != rv.OpJAL && op != rv.OpJALR && (op < rv.OpCSRRW || op > rv.OpCSRRCI)
}

func check(t *testing.T, c one, rec []byte, compared map[rv.Op]int) {
	t.Helper()
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(rec[at:]) }
	defs := c.inst.Defs().Regs
	v, ok := eval.Result(c.inst, c.ops)
	if want := defs != 0 && decides(c.inst.Op); ok != want {
		t.Fatalf("%v %+v: ok is %v", c.inst.Op, c.inst, ok)
	}
	if ok {
		want := word(atX)
		if defs >= 1<<rv.RegF {
			want = word(atF)
		}
		if v != want {
			t.Errorf("%v %+v of %#x: %#x, the machine %#x", c.inst.Op, c.inst, c.ops, v, want)
		}
		compared[c.inst.Op]++
	}
	if a, ok := asm.Address(c.inst, c.ops.Rs1); ok && a != c.addr+atMem {
		t.Errorf("%v %+v: address %#x, want %#x", c.inst.Op, c.inst, a, c.addr+atMem)
	}
	mem := c.ops.Mem
	if v, size := asm.Stored(c.inst, c.ops); size > 0 {
		failed := (c.inst.Op == rv.OpSCW || c.inst.Op == rv.OpSCD) // no reservation
		if low := uint64(math.MaxUint64) >> (64 - 8*uint(size)); !failed {
			mem = mem&^low | v
		}
	}
	if mem != word(atMem) {
		t.Errorf("%v %+v of %#x: memory %#x, the machine %#x", c.inst.Op, c.inst, c.ops, mem, word(atMem))
	}
}

// execute runs the program and returns its output.
func execute(t *testing.T, p *asm.Program) []byte {
	t.Helper()
	data, err := p.ELF()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	m, err := mpsim.New(mpsim.Config{Image: img, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil || res.Status != 0 {
		t.Fatalf("%v, %+v", err, res)
	}
	return out.Bytes()
}
