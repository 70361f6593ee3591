package asm

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
)

// TestEncode checks, for every operation, that what the decoder reads from any 32-bit word
// is encoded to a word that it reads in the same way.
func TestEncode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for op := rv.OpInvalid + 1; op < rv.NumOps; op++ {
		match, mask := op.Encoding()
		for range 200 {
			i, ok := rv.Decode(match | rng.Uint32()&^mask)
			if !ok {
				t.Fatalf("%v: no instruction", op)
			}
			if back, _ := rv.Decode(Encode(i)); back != i {
				t.Fatalf("%+v is encoded as %+v", i, back)
			}
		}
	}
}

// TestRun checks that an assembled program runs on the machine, with its symbols.
func TestRun(t *testing.T) {
	constants := []uint64{0, 1, math.MaxUint64, 2047, 2048, 1 << 31, 1<<31 - 1, 1 << 63, 0x123456789abcdef0, 0xfffffffffffff800, 0xffffffff80000000, 0x7ffff800, 0x7fffffff}
	p := &Program{}
	p.Func("_start")
	out := p.Data("out", make([]byte, 8*len(constants)))
	p.Li(8, out)
	for n, c := range constants {
		p.Li(5, c)
		p.Store(rv.OpSD, 5, 8, int32(8*n))
	}
	sub := p.NewLabel()
	p.To(rv.Inst{Op: rv.OpJAL, Rd: 1}, sub)
	p.Li(10, 7)
	p.Li(17, 94)
	p.Op(rv.OpECALL, 0, 0, 0)
	p.Func("put")
	p.Bind(sub)
	p.Li(10, 1)
	p.Li(11, out)
	p.Li(12, uint64(8*len(constants)))
	p.Li(17, 64)
	p.Op(rv.OpECALL, 0, 0, 0)
	p.Imm(rv.OpJALR, 0, 1, 0)
	data, err := p.ELF()
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Lookup("put"); !ok || s.Size == 0 || s.Kind != image.FuncSymbol {
		t.Errorf("put is %+v", s)
	}
	if s, off, ok := img.Object(out + 9); !ok || s.Name != "out" || off != 9 {
		t.Errorf("out+9 is %+v + %d", s, off)
	}
	var got bytes.Buffer
	m, err := mpsim.New(mpsim.Config{Image: img, Stdout: &got})
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil || res.Status != 7 {
		t.Fatalf("%v, %+v", err, res)
	}
	for n, c := range constants {
		if v := le64(got.Bytes()[8*n:]); v != c {
			t.Errorf("%#x came out as %#x", c, v)
		}
	}
}

func le64(b []byte) (v uint64) {
	for n := range 8 {
		v |= uint64(b[n]) << (8 * n)
	}
	return v
}

// TestRandom checks that random programs end by themselves, soon but not at once, and do
// the same each time.
func TestRandom(t *testing.T) {
	var total uint64
	for seed := range uint64(60) {
		o := RandomOptions{Threads: int(seed % 4), Functions: 1 + int(seed%5), Straight: seed%7 == 0}
		data, err := Random(seed, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Random(seed, o)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("seed %d makes different programs", seed)
		}
		img, err := image.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mpsim.New(mpsim.Config{Image: img, Quantum: 20, Policy: mpsim.Random, Seed: seed, MaxInsts: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(context.Background())
		if err != nil || res.Signal != 0 || res.Fault != nil || res.Message != "" {
			t.Fatalf("seed %d: %v, %+v", seed, err, res)
		}
		total += res.Insts
	}
	if total < 60*100 {
		t.Errorf("%d instructions only", total)
	}
	t.Logf("%d instructions", total)
}
