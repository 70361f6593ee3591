package asm

import (
	"math/rand/v2"

	"hindsight/mpsim/rv"
)

// Random generates a random program: threads that compute, load and store in memory that
// they share (at any alignment, so that accesses overlap partly), branch, loop, call each
// other's functions directly, through registers and recursively, jump out of order, access
// memory atomically and make system calls. It ends by itself after some thousands of
// instructions.
//
// Its symbols include f0, f1 …, shared (the memory), malloc and free (which a simulator
// with hooks hides). The same seed and options produce the same program.
func Random(seed uint64, o RandomOptions) ([]byte, error) {
	if o.Functions <= 0 {
		o.Functions = 4
	}
	if o.Statements <= 0 {
		o.Statements = 8
	}
	g := &generator{Program: &Program{}, rng: rand.New(rand.NewPCG(seed, 3)), o: o}
	g.program()
	return g.ELF()
}

// RandomOptions describes a random program. The zero value is a small program with one
// thread.
type RandomOptions struct {
	Threads    int  // besides the first one
	Functions  int  // 0 means 4
	Statements int  // in the body of each function; 0 means 8
	Straight   bool // only computation and loops: no threads, calls, system calls or atomic accesses
}

// Registers with a fixed purpose.
const (
	regRA    = 1
	regSP    = 2
	regBase  = 8 // address of the shared memory
	regSelf  = 9 // number of the thread
	regTemp  = 31
	regCount = 18 // counter of the outer loop; that of the inner loop is the next register
	regA0    = 10
	regA7    = 17
)

const (
	sharedBytes = 512
	sharedMask  = 0xff
	stackBytes  = 4096
	frameBytes  = 48
)

type generator struct {
	*Program
	rng    *rand.Rand
	o      RandomOptions
	funcs  []Label
	heap   [2]Label // malloc, free
	recur  Label
	shared uint64
	done   uint64
	index  int // of the present function
	loops  int // number of loops around the present statement
}

// work returns a register for computing.
func (g *generator) work() uint8 {
	list := []uint8{5, 6, 7, 10, 11, 12, 13, 14, 15, 28, 29}
	return list[g.rng.IntN(len(list))]
}

func (g *generator) source() uint8 {
	if g.rng.IntN(12) == 0 {
		return []uint8{0, regSelf, regCount}[g.rng.IntN(3)]
	}
	return g.work()
}

func (g *generator) program() {
	content := make([]byte, sharedBytes)
	for i := range content {
		content[i] = byte(g.rng.Uint32())
	}
	g.shared = g.Data("shared", content)
	g.done = g.Data("done", make([]byte, 8))
	bump := g.Data("bump", make([]byte, 8))
	heap := g.Data("heap", make([]byte, 2048))
	stacks := g.Data("stacks", make([]byte, stackBytes*(g.o.Threads+1)))
	for range g.o.Functions {
		g.funcs = append(g.funcs, g.NewLabel())
	}
	g.heap, g.recur = [2]Label{g.NewLabel(), g.NewLabel()}, g.NewLabel()
	g.start(stacks)
	for i, l := range g.funcs {
		g.Func("f" + string(rune('0'+i)))
		g.Bind(l)
		g.index = i
		g.function()
	}
	g.recursive()
	g.allocator(bump, heap)
}

// start is the first function: it creates the threads and ends the program.
func (g *generator) start(stacks uint64) {
	g.Func("_start")
	g.Li(regBase, g.shared)
	g.Li(regSelf, 0)
	g.Li(regSP, stacks+stackBytes-16)
	child := g.NewLabel()
	for n := range g.o.Threads {
		g.Li(regSelf, uint64(n+1))
		g.Li(regA0, 0x50f00)
		g.Li(regA0+1, stacks+stackBytes*uint64(n+2)-16)
		for r := uint8(regA0 + 2); r < regA0+6; r++ {
			g.Li(r, 0)
		}
		g.Li(regA7, 220)
		g.Op(rv.OpECALL, 0, 0, 0)
		g.To(rv.Inst{Op: rv.OpBEQ, Rs1: regA0}, child)
	}
	g.Li(regSelf, 0)
	g.call(g.funcs[0])
	if g.o.Threads > 0 { // wait for them
		wait := g.NewLabel()
		g.Li(5, g.done)
		g.Bind(wait)
		g.Emit(rv.Inst{Op: rv.OpAMOADDD, Rd: 6, Rs1: 5, Aq: true})
		g.Li(7, uint64(g.o.Threads))
		g.To(rv.Inst{Op: rv.OpBNE, Rs1: 6, Rs2: 7}, wait)
	}
	g.put(0, 64)
	g.Imm(rv.OpLBU, regA0, regBase, 3)
	g.Li(regA7, 94)
	g.Op(rv.OpECALL, 0, 0, 0)
	g.Bind(child)
	g.call(g.funcs[g.rng.IntN(len(g.funcs))])
	g.Li(5, g.done)
	g.Li(6, 1)
	g.Emit(rv.Inst{Op: rv.OpAMOADDD, Rs1: 5, Rs2: 6, Rl: true})
	g.Li(regA0, 0)
	g.Li(regA7, 93)
	g.Op(rv.OpECALL, 0, 0, 0)
}

func (g *generator) call(l Label) { g.To(rv.Inst{Op: rv.OpJAL, Rd: regRA}, l) }

// put writes part of the shared memory to standard output.
func (g *generator) put(at, n int) {
	g.Li(regA0, 1)
	g.Imm(rv.OpADDI, regA0+1, regBase, int32(at))
	g.Li(regA0+2, uint64(n))
	g.Li(regA7, 64)
	g.Op(rv.OpECALL, 0, 0, 0)
}

// function emits a body between the code that opens and closes a frame.
func (g *generator) function() {
	saved := []uint8{regRA, regCount, regCount + 1}
	g.Imm(rv.OpADDI, regSP, regSP, -frameBytes)
	for n, r := range saved {
		g.Store(rv.OpSD, r, regSP, int32(8*n))
	}
	g.Store(rv.OpSD, 0, regSP, 32)
	g.statements(g.o.Statements)
	for n, r := range saved {
		g.Imm(rv.OpLD, r, regSP, int32(8*n))
	}
	g.Imm(rv.OpADDI, regSP, regSP, frameBytes)
	g.Imm(rv.OpJALR, 0, regRA, 0)
}

func (g *generator) statements(n int) {
	for range n {
		g.statement()
	}
}

func (g *generator) statement() {
	kinds := 14
	if g.o.Straight {
		kinds = 9
	}
	switch g.rng.IntN(kinds) {
	case 0, 1:
		g.compute()
	case 2:
		g.float()
	case 3, 4:
		g.load()
	case 5, 6:
		g.store()
	case 7:
		g.branch()
	case 8:
		g.loop()
	case 9:
		g.callOther()
	case 10:
		g.atomic()
	case 11:
		g.jump()
	case 12:
		g.kernel()
	case 13:
		g.allocate()
	}
}

func (g *generator) compute() {
	ops := []rv.Op{
		rv.OpADD, rv.OpSUB, rv.OpXOR, rv.OpOR, rv.OpAND, rv.OpSLL, rv.OpSRL, rv.OpSRA, rv.OpSLT, rv.OpSLTU,
		rv.OpADDW, rv.OpSUBW, rv.OpMUL, rv.OpMULHU, rv.OpDIV, rv.OpREMU, rv.OpDIVW,
	}
	for range 1 + g.rng.IntN(3) {
		switch g.rng.IntN(5) {
		case 0:
			imm := []rv.Op{rv.OpADDI, rv.OpXORI, rv.OpANDI, rv.OpSLTI, rv.OpADDIW}
			g.Imm(imm[g.rng.IntN(len(imm))], g.work(), g.source(), int32(g.rng.IntN(4096)-2048))
		case 1:
			g.Li(g.work(), g.rng.Uint64()>>g.rng.IntN(64))
		default:
			g.Op(ops[g.rng.IntN(len(ops))], g.work(), g.source(), g.source())
		}
	}
}

func (g *generator) float() {
	f := func() uint8 { return uint8(g.rng.IntN(8)) }
	switch g.rng.IntN(4) {
	case 0:
		g.Emit(rv.Inst{Op: rv.OpFCVTDL, Rd: f(), Rs1: g.source(), RM: 7})
	case 1:
		g.Emit(rv.Inst{Op: rv.OpFMADDD, Rd: f(), Rs1: f(), Rs2: f(), Rs3: f(), RM: 7})
	case 2:
		g.Emit(rv.Inst{Op: rv.OpFMVXD, Rd: g.work(), Rs1: f()})
	case 3:
		g.Emit(rv.Inst{Op: []rv.Op{rv.OpFADDD, rv.OpFMULD, rv.OpFADDS}[g.rng.IntN(3)], Rd: f(), Rs1: f(), Rs2: f()})
	}
}

// address leaves an address in the shared memory in regTemp.
func (g *generator) address() {
	g.Imm(rv.OpANDI, regTemp, g.source(), sharedMask)
	g.Op(rv.OpADD, regTemp, regTemp, regBase)
}

// where returns a base register and an offset of something nearby.
func (g *generator) where() (uint8, int32) {
	switch g.rng.IntN(4) {
	case 0:
		return regBase, int32(g.rng.IntN(32))
	case 1:
		return regSP, 32 + int32(g.rng.IntN(8))
	}
	g.address()
	return regTemp, int32(g.rng.IntN(24))
}

func (g *generator) load() {
	base, off := g.where()
	if g.rng.IntN(6) == 0 {
		g.Imm([]rv.Op{rv.OpFLD, rv.OpFLW}[g.rng.IntN(2)], uint8(g.rng.IntN(8)), base, off)
		return
	}
	ops := []rv.Op{rv.OpLB, rv.OpLBU, rv.OpLH, rv.OpLHU, rv.OpLW, rv.OpLWU, rv.OpLD, rv.OpLD}
	g.Imm(ops[g.rng.IntN(len(ops))], g.work(), base, off)
}

func (g *generator) store() {
	base, off := g.where()
	if g.rng.IntN(6) == 0 {
		g.Store([]rv.Op{rv.OpFSD, rv.OpFSW}[g.rng.IntN(2)], uint8(g.rng.IntN(8)), base, off)
		return
	}
	ops := []rv.Op{rv.OpSB, rv.OpSH, rv.OpSW, rv.OpSD, rv.OpSD}
	g.Store(ops[g.rng.IntN(len(ops))], g.source(), base, off)
}

// branch emits an if, with or without an else.
func (g *generator) branch() {
	other, end := g.NewLabel(), g.NewLabel()
	ops := []rv.Op{rv.OpBEQ, rv.OpBNE, rv.OpBLT, rv.OpBGE, rv.OpBLTU, rv.OpBGEU}
	g.To(rv.Inst{Op: ops[g.rng.IntN(len(ops))], Rs1: g.source(), Rs2: g.source()}, other)
	g.flat(1 + g.rng.IntN(3))
	if g.rng.IntN(2) == 0 {
		g.To(rv.Inst{Op: rv.OpJAL}, end)
		g.Bind(other)
		g.flat(1 + g.rng.IntN(3))
		g.Bind(end)
		return
	}
	g.Bind(other)
}

// flat emits statements without loops.
func (g *generator) flat(n int) {
	g.loops += 2
	g.statements(n)
	g.loops -= 2
}

func (g *generator) loop() {
	if g.loops >= 2 {
		g.compute()
		return
	}
	again, out := g.NewLabel(), g.NewLabel()
	count := regCount + uint8(g.loops)
	g.Li(count, uint64(2+g.rng.IntN(5)))
	g.Bind(again)
	g.loops++
	g.statements(1 + g.rng.IntN(3))
	g.loops--
	if g.rng.IntN(3) == 0 { // an exit from the middle
		g.To(rv.Inst{Op: rv.OpBEQ, Rs1: g.work(), Rs2: g.work()}, out)
		g.compute()
	}
	g.Imm(rv.OpADDI, count, count, -1)
	g.To(rv.Inst{Op: rv.OpBNE, Rs1: count}, again)
	g.Bind(out)
}

// callOther calls a later function. From a loop it calls only the last one, so that the
// program ends soon.
func (g *generator) callOther() {
	next := g.index + 1
	if next >= len(g.funcs) || g.rng.IntN(6) == 0 {
		g.Li(regA0, uint64(g.rng.IntN(4)))
		g.call(g.recur)
		return
	}
	to := next + g.rng.IntN(len(g.funcs)-next)
	if g.loops > 0 {
		to = len(g.funcs) - 1
	}
	switch g.rng.IntN(6) {
	case 0, 1: // through a register
		g.La(5, g.funcs[to])
		g.Emit(rv.Inst{Op: rv.OpJALR, Rd: regRA, Rs1: 5})
		return
	case 2: // from a frame to which nothing returns
		here := g.NewLabel()
		g.To(rv.Inst{Op: rv.OpJAL, Rd: 5}, here)
		g.Bind(here)
	}
	g.call(g.funcs[to])
}

// jump skips unreachable code, or jumps through a register.
func (g *generator) jump() {
	end := g.NewLabel()
	if g.rng.IntN(2) == 0 {
		g.Emit(rv.Inst{Op: rv.OpAUIPC, Rd: regTemp}, rv.Inst{Op: rv.OpJALR, Rs1: regTemp, Imm: 16})
	} else {
		g.To(rv.Inst{Op: rv.OpJAL}, end)
	}
	g.Op(rv.OpADD, 5, 5, 5)
	g.Op(rv.OpADD, 6, 6, 6)
	g.Bind(end)
}

func (g *generator) atomic() {
	g.Imm(rv.OpANDI, regTemp, g.source(), sharedMask&^7)
	g.Op(rv.OpADD, regTemp, regTemp, regBase)
	switch g.rng.IntN(5) {
	case 0:
		ops := []rv.Op{rv.OpAMOADDD, rv.OpAMOSWAPD, rv.OpAMOXORW, rv.OpAMOMAXD, rv.OpAMOADDW}
		rd := g.work()
		if g.rng.IntN(3) == 0 {
			rd = 0
		}
		g.Emit(rv.Inst{Op: ops[g.rng.IntN(len(ops))], Rd: rd, Rs1: regTemp, Rs2: g.work(), Aq: g.rng.IntN(2) == 0, Rl: g.rng.IntN(2) == 0})
	case 1: // a loop over LR and SC
		again := g.NewLabel()
		g.Bind(again)
		g.Emit(rv.Inst{Op: rv.OpLRD, Rd: 5, Rs1: regTemp, Aq: true})
		g.Op(rv.OpADD, 5, 5, g.work())
		g.Emit(rv.Inst{Op: rv.OpSCD, Rd: 6, Rs1: regTemp, Rs2: 5})
		g.To(rv.Inst{Op: rv.OpBNE, Rs1: 6}, again)
	case 2: // fails
		g.Emit(rv.Inst{Op: rv.OpSCW, Rd: []uint8{0, 7}[g.rng.IntN(2)], Rs1: regTemp, Rs2: g.work()})
	case 3:
		g.Imm(rv.OpLW, g.work(), regTemp, 4)
		g.Emit(rv.Inst{Op: rv.OpFENCE, Imm: 0x23}) // r, rw
	case 4:
		g.Emit(rv.Inst{Op: rv.OpFENCE, Imm: 0x31}) // rw, w
		g.Store(rv.OpSW, g.work(), regTemp, 0)
	}
}

// kernel emits a system call.
func (g *generator) kernel() {
	switch g.rng.IntN(4) {
	case 0:
		g.put(g.rng.IntN(64), 1+g.rng.IntN(16))
		return
	case 1: // getrandom
		g.Imm(rv.OpADDI, regA0, regBase, int32(g.rng.IntN(64)))
		g.Li(regA0+1, uint64(1+g.rng.IntN(12)))
		g.Li(regA0+2, 0)
		g.Li(regA7, 278)
	case 2: // getpid, or sched_yield
		g.Li(regA7, []uint64{172, 124}[g.rng.IntN(2)])
	case 3: // read from the standard input
		g.Li(regA0, 0)
		g.Imm(rv.OpADDI, regA0+1, regBase, int32(g.rng.IntN(64)))
		g.Li(regA0+2, uint64(1+g.rng.IntN(12)))
		g.Li(regA7, 63)
	}
	g.Op(rv.OpECALL, 0, 0, 0)
}

// allocate calls malloc, uses the result, and may free it.
func (g *generator) allocate() {
	g.Li(regA0, uint64(8+8*g.rng.IntN(3)))
	g.call(g.heap[0])
	g.Store(rv.OpSD, 5+uint8(g.rng.IntN(3)), regA0, 0)
	g.Imm(rv.OpLW, 6, regA0, int32(g.rng.IntN(5)))
	if g.rng.IntN(2) == 0 {
		g.call(g.heap[1])
	}
}

// recursive emits a function that calls itself a0 times.
func (g *generator) recursive() {
	g.Func("recur")
	g.Bind(g.recur)
	out := g.NewLabel()
	g.To(rv.Inst{Op: rv.OpBEQ, Rs1: regA0}, out)
	g.Imm(rv.OpADDI, regSP, regSP, -16)
	g.Store(rv.OpSD, regRA, regSP, 0)
	g.Store(rv.OpSD, regA0, regSP, 8)
	g.Imm(rv.OpADDI, regA0, regA0, -1)
	g.call(g.recur)
	g.Imm(rv.OpLD, 5, regSP, 8)
	g.Op(rv.OpADD, regA0, regA0, 5)
	g.Imm(rv.OpLD, regRA, regSP, 0)
	g.Imm(rv.OpADDI, regSP, regSP, 16)
	g.Bind(out)
	g.Imm(rv.OpADDI, 7, regA0, 1)
	g.Imm(rv.OpJALR, 0, regRA, 0)
}

// allocator emits the simplest malloc and free, which cycle through the heap.
func (g *generator) allocator(bump, heap uint64) {
	g.Func("__libc_malloc")
	g.Bind(g.heap[0])
	g.Li(28, bump)
	g.Li(29, heap)
	g.Emit(rv.Inst{Op: rv.OpAMOADDD, Rd: 30, Rs1: 28, Rs2: regA0})
	g.Imm(rv.OpANDI, 30, 30, 0x3f8)
	g.Op(rv.OpADD, 30, 30, 29)
	g.Store(rv.OpSD, regA0, 30, 0)
	g.Imm(rv.OpADDI, regA0, 30, 8)
	g.Imm(rv.OpJALR, 0, regRA, 0)
	g.Func("__libc_free")
	g.Bind(g.heap[1])
	g.Store(rv.OpSD, 0, regA0, -8)
	g.Imm(rv.OpJALR, 0, regRA, 0)
}
