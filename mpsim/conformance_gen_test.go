package mpsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// A conformance program is a sequence of chunks. Each chunk loads all registers and fcsr
// from its record, executes a few instructions, stores all registers and fcsr into the
// record, and moves on to the next record. At the end the program writes all records and
// the memory block to standard output.
const (
	recordBytes = 1024
	recordOut   = 512 // the state after the chunk; the state before it comes first
	recordF     = 256 // f0–f31; fcsr and x1–x31 come before
	blockBytes  = 8192
	perChunk    = 24
)

// chunk is one piece of a conformance program.
type chunk struct {
	lines  []string
	record [64]uint64 // fcsr, x1–x31, f0–f31
}

// conformanceProgram makes the chunks for a seed. Every template is used once before
// further ones are chosen at random.
func conformanceProgram(seed uint64, chunks int) []chunk {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), simple: simpleTemplates()}
	type group struct {
		option    string
		templates []string
	}
	groups := []group{
		{".option norvc", g.simple}, {".option norvc", pairTemplates()}, {".option norvc", jumpTemplates()},
		{".option rvc", compressedTemplates()}, {".option rvc", compressedJumps()},
	}
	var first []func() []string
	for _, gr := range groups {
		for _, t := range gr.templates {
			first = append(first, func() []string {
				return append([]string{gr.option}, strings.Split(g.fill(t), ";")...)
			})
		}
	}
	g.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
	program := make([]chunk, chunks)
	next := 0
	for n := range program {
		c := &program[n]
		c.record = g.record()
		for range perChunk {
			emit := first[g.IntN(len(first))]
			if next < len(first) {
				emit, next = first[next], next+1
			}
			c.lines = append(c.lines, emit()...)
		}
		c.lines = append(c.lines, g.borderLines(&c.record)...)
	}
	return program
}

// record chooses the state before a chunk. Some registers repeat the value of another, so
// that equal operands occur.
func (g *generator) record() (r [64]uint64) {
	if g.IntN(2) == 0 {
		r[0] = flagNX
	} else {
		r[0] = uint64(g.IntN(5)<<5 | g.IntN(32)&g.IntN(32))
	}
	for n := 1; n < 32; n++ {
		r[n] = g.integerValue()
	}
	for n := 32; n < 64; n++ {
		r[n] = g.floatValue()
	}
	for range 6 {
		n := 1 + g.IntN(31)
		r[1+g.IntN(31)] = r[n]
		n = 32 + g.IntN(32)
		r[32+g.IntN(32)] = r[n]
	}
	return r
}

// borderLines ends a chunk with an operation whose result is close to the smallest normal
// number, where it may or may not be tiny, with only the inexact flag set. The operands are
// in the record, as f28–f31.
func (g *generator) borderLines(r *[64]uint64) []string {
	m := []float64{1, 1 - 0x1p-53, 1 - 0x1p-52, 1 + 0x1p-52, 0.5 + g.Float64()}[g.IntN(5)]
	x := 1 + g.Float64()
	r[32+28] = math.Float64bits(math.Ldexp(x, -500))
	r[32+29] = math.Float64bits(math.Ldexp(m/x, -522))
	r[32+30] = math.Float64bits(math.Ldexp(x/m, 522))
	r[32+31] = 0
	lines := []string{".option norvc", "fld f28,480(x3)", "fld f29,488(x3)", "fld f30,496(x3)", "fld f31,504(x3)", "fsflagsi 1"}
	if g.IntN(4) != 0 {
		lines = append(lines, "fsrmi 0")
	}
	return append(lines, g.pick("fmul.d f0,f28,f29", "fmadd.d f0,f28,f29,f31", "fnmsub.d f0,f28,f29,f31",
		"fdiv.d f0,f28,f30", "fmul.d f0,f28,f29,rne", "fmsub.d f0,f28,f29,f31"))
}

func (g *generator) integerValue() uint64 {
	switch g.IntN(6) {
	case 0:
		edges := []uint64{0, 1, 2, 1<<64 - 1, 1 << 63, 1<<63 - 1, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1<<64 - 1<<31, 1 << 32, 0xffffffff00000001}
		return edges[g.IntN(len(edges))]
	case 1:
		return uint64(int64(g.IntN(129)) - 64)
	case 2:
		return 1<<g.IntN(64) + uint64(g.IntN(3)) - 1
	case 3:
		return uint64(int64(g.Uint64()) >> g.IntN(64))
	case 4:
		return g.floatValue()
	}
	return g.Uint64()
}

// floatValue returns a double, a boxed single, or an incorrectly boxed single.
func (g *generator) floatValue() uint64 {
	switch g.IntN(16) {
	case 0:
		return g.Uint64()
	case 1, 2, 3, 4, 5, 6, 7:
		return boxed | g.floatBits(23, 255)
	}
	return g.floatBits(52, 2047)
}

// floatBits returns a pattern with frac bits of significand and an exponent of at most top.
func (g *generator) floatBits(frac uint, top int) uint64 {
	e := []int{0, 1, top, top - 1, g.IntN(top + 1), top/2 + g.IntN(72) - 4, top/2 + g.IntN(8) - 4, top/2 + g.IntN(3),
		// Products of two of these, or of one and a bound of the range, come close to the
		// bounds.
		top/4 + g.IntN(8) - 4, top/4 + g.IntN(8) - 4, 3*top/4 + g.IntN(8) - 4, 1 + g.IntN(int(frac)+4)}[g.IntN(12)]
	full := uint64(1)<<frac - 1
	m := []uint64{0, 1, full, 1 << (frac - 1), g.Uint64() & full, g.Uint64() & full, full << g.IntN(int(frac)) & full, uint64(g.IntN(4))}[g.IntN(8)]
	return uint64(g.IntN(2))<<(frac+uint(len(fmt.Sprintf("%b", top)))) | uint64(e)<<frac | m
}

// source is the program in assembly language.
func source(program []chunk, seed uint64) string {
	var b strings.Builder
	b.WriteString("\t.option norelax\n\t.option norvc\n\t.text\n\t.globl _start\n_start:\n\tlla x3,records\n")
	for n, c := range program {
		fmt.Fprintf(&b, "\t.option norvc\n\tjal x1,enter\n\tld x1,8(x3)\nchunk%d:\n", n)
		for _, line := range c.lines {
			b.WriteString("\t" + line + "\n")
		}
		fmt.Fprintf(&b, "\t.option norvc\n\tsd x1,%d(x3)\n\tjal x1,leave\n", recordOut+8)
	}
	records := recordBytes * len(program)
	fmt.Fprintf(&b, "\tli a0,1\n\tlla a1,records\n\tli a2,%d\n\tli a7,64\n\tecall\n", records+blockBytes)
	b.WriteString("\tli a0,0\n\tli a7,93\n\tecall\n")

	b.WriteString("enter:\n\tld x4,0(x3)\n\tfscsr x4\n")
	for r := 2; r < 32; r++ {
		if r != 3 {
			fmt.Fprintf(&b, "\tld x%d,%d(x3)\n", r, 8*r)
		}
	}
	for r := range 32 {
		fmt.Fprintf(&b, "\tfld f%d,%d(x3)\n", r, recordF+8*r)
	}
	b.WriteString("\tret\nleave:\n")
	for r := 2; r < 32; r++ {
		fmt.Fprintf(&b, "\tsd x%d,%d(x3)\n", r, recordOut+8*r)
	}
	fmt.Fprintf(&b, "\tfrcsr x4\n\tsd x4,%d(x3)\n", recordOut)
	for r := range 32 {
		fmt.Fprintf(&b, "\tfsd f%d,%d(x3)\n", r, recordOut+recordF+8*r)
	}
	fmt.Fprintf(&b, "\taddi x3,x3,%d\n\tret\n", recordBytes)

	g := &generator{Rand: rand.New(rand.NewPCG(seed, 8))}
	b.WriteString("\t.data\n\t.balign 4096\nrecords:\n")
	for _, c := range program {
		for n, v := range c.record {
			if n == 2 || n == 9 {
				fmt.Fprintf(&b, "\t.quad block+%d\n", 2048+g.IntN(blockBytes-4096-520))
				continue
			}
			fmt.Fprintf(&b, "\t.quad %#x\n", v)
		}
		fmt.Fprintf(&b, "\t.zero %d\n", recordBytes-recordOut)
	}
	b.WriteString("block:\n")
	for range blockBytes / 8 {
		fmt.Fprintf(&b, "\t.quad %#x\n", g.integerValue())
	}
	return b.String()
}
