package artifact

import (
	"slices"

	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
	"hindsight/wpp/cfg"
)

// code is the program, decoded as far as needed.
type code struct {
	trace  *cdr.Trace
	read   rv.Code
	flow   *cfg.Program
	blocks map[codeKey]*block
	// hooked are the instructions from which a hooked function was called.
	hooked map[uint64]bool
	decide map[cfg.Ref][]decider
	// precise says that of the indirect jumps only those have the tailMark that may leave
	// their function. Until one that does not is found, all of them have it, because
	// distinguishing them takes the control flow of every function that has one.
	precise bool
}

type codeKey struct {
	pc    uint64
	insts uint32
}

// block is a block of the trace, decoded.
type block struct {
	insts []rv.Inst
	pcs   []uint64
	sites []int // for each instruction its index among the block's sites, or -1
	bad   bool  // the image has other code than the trace says
	// marks are the marks of the block, for all threads, once marked is set.
	marks  wpp.Marks
	marked bool
}

func newCode(t *cdr.Trace, img *image.Space) *code {
	return &code{trace: t, read: img.Reader(), flow: cfg.New(img), blocks: map[codeKey]*block{}, hooked: map[uint64]bool{}, decide: map[cfg.Ref][]decider{}}
}

// block decodes a block of the trace.
func (c *code) block(b *cdr.CodeBlock) *block {
	key := codeKey{b.PC, b.Insts}
	if d := c.blocks[key]; d != nil {
		return d
	}
	d := &block{pcs: make([]uint64, 0, b.Insts), sites: make([]int, 0, b.Insts)}
	pc, left := b.PC, b.Sites
	// What the simulator ran as one block is one block here, except for limits of length.
	s := rv.Scan(pc, c.read, int(b.Insts))
	d.insts = s.Insts
	for _, i := range s.Insts {
		site := -1
		if len(left) > 0 && c.trace.Site(left[0]).PC == pc {
			site = len(b.Sites) - len(left)
			left = left[1:]
		}
		d.pcs, d.sites = append(d.pcs, pc), append(d.sites, site)
		pc += uint64(i.Len)
	}
	d.bad = len(d.insts) != int(b.Insts) || len(left) > 0
	c.blocks[key] = d
	return d
}

// Registers of the calling convention.
const (
	regSP = 2
	regA0 = 10
	regA7 = 17
)

// clobbered are the registers that a function need not preserve.
const clobbered uint64 = 1<<1 | 0x7<<5 | 0xff<<10 | 0xf<<28 | 0xff<<rv.RegF | 0xff<<(rv.RegF+10) | 0xf<<(rv.RegF+28)

// defs returns the set of registers that an instruction sets. Moving the stack pointer by
// a constant does not count, because a function moves it back, and what it points to is
// not a matter of values.
func defs(i rv.Inst) uint64 {
	if i.Op == rv.OpADDI && i.Rd == regSP && i.Rs1 == regSP {
		return 0
	}
	if i.Op == rv.OpECALL {
		return 1 << regA0
	}
	return i.Defs().Regs
}

// marks returns the registers that a block defines, and the branch that ends it, as
// marks.
func (c *code) marks(b cdr.CodeBlock) wpp.Marks {
	d := c.block(&b)
	if d.marked {
		return d.marks
	}
	d.marked = true
	m := &d.marks
	*m = wpp.Marks{}
	for _, i := range d.insts {
		m[0] |= defs(i)
	}
	if n := len(d.pcs); n > 0 {
		last := d.pcs[n-1]
		if c.hooked[last] {
			m[0] |= clobbered
		}
		if b.End == event.EndBranch || b.End == event.EndIndirect {
			m[1] = branchMark(last)
		}
		if b.End == event.EndSyscall && d.mayStore() {
			m[0] |= syscallMark
		}
		if b.End == event.EndIndirect && !c.precise || c.mayLeave(&b, last) {
			m[1] |= tailMark
		}
	}
	return *m
}

// imprecise reports whether a block has the tailMark and should not have it. From then
// on, marks are precise.
func (c *code) imprecise(b *cdr.CodeBlock) bool {
	d := c.block(b)
	if c.precise || b.End != event.EndIndirect || c.mayLeave(b, d.pcs[len(d.pcs)-1]) {
		return false
	}
	c.precise = true
	for _, d := range c.blocks {
		d.marked = false
	}
	return true
}

// syscallMark is the mark of blocks that end with a system call which may store data from
// outside. It takes the place of x0 among the registers.
const syscallMark = 1

// inputCalls are the system calls that store data from outside in memory, by
// their numbers: read, readv, pread64, preadv, recvfrom, recvmsg, recvmmsg,
// getrandom, readlinkat, getcwd.
var inputCalls = [...]int32{63, 65, 67, 69, 207, 212, 243, 278, 78, 17}

// mayStore reports whether the system call that ends the block may be one of
// inputCalls.
func (d *block) mayStore() bool {
	i := d.lastDef(len(d.insts)-1, regA7)
	if i < 0 || d.insts[i].Op != rv.OpADDI || d.insts[i].Rs1 != 0 {
		return true
	}
	return slices.Contains(inputCalls[:], d.insts[i].Imm)
}

// branchMark returns one of 63 marks for a branch.
func branchMark(pc uint64) uint64 { return 1 << (pc * 0x9e3779b97f4a7c15 >> 32 % 63) }

// tailMark is the mark of blocks that may jump to another function (see [code.precise]).
const tailMark = 1 << 63

// mayLeave reports whether the jump or branch at the end of a block may go to
// another function.
func (c *code) mayLeave(b *cdr.CodeBlock, last uint64) bool {
	switch b.End {
	case event.EndIndirect:
		ref, ok := c.flow.Find(last)
		return !ok || c.flow.Block(ref).Leaves
	case event.EndJump, event.EndBranch:
		d := c.block(b)
		to, ok := d.insts[len(d.insts)-1].Target(last)
		return !ok || c.flow.FuncAt(to) != c.flow.FuncAt(last)
	}
	return false
}

// decider is a branch that code is control dependent on.
type decider struct {
	pc uint64 // of the branch
	to uint64 // where it goes in that case
}

// deciders returns the branches on which the instruction at pc is directly control
// dependent, within its function.
func (c *code) deciders(pc uint64) (list []decider) {
	ref, ok := c.flow.Find(pc)
	if !ok {
		return nil
	}
	list, ok = c.decide[ref]
	if ok {
		return list
	}
	f := c.flow.Func(ref.Func)
	blocks := f.Blocks()
	for _, d := range f.ControlDependence(ref.Block) {
		b := &blocks[d.Node]
		insts := c.flow.Insts(cfg.Ref{Func: ref.Func, Block: uint32(d.Node)})
		if len(insts) == 0 || d.Edge >= len(b.Succs) {
			continue
		}
		list = append(list, decider{pc: b.Next() - uint64(insts[len(insts)-1].Len), to: b.Succs[d.Edge].PC})
	}
	c.decide[ref] = list
	return list
}
