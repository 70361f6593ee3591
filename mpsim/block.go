package mpsim

import (
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// op is an instruction in the form that exec needs: operands are unpacked, and immediates
// are absolute where the address of the instruction matters.
type op struct {
	code     rv.Op
	rd, rs1  uint8
	rs2, rs3 uint8
	rm       uint8 // rounding mode field of floating-point operations
	site     uint8 // of a plain access: its index in the block's sites; of opFloat: see floatOperands
	imm      int64
}

// Operations of exec that are not instructions themselves, or that stand for several
// instructions that are told apart elsewhere.
const (
	opZero      = rv.NumOps + iota // x0 = 0, after an instruction that wrote x0
	opLI                           // rd = imm
	opMV                           // rd = rs1
	opFloat                        // see Hart.float, which finds the instruction by its index
	opCSR                          //
	opAtomic                       // AMO, LR, SC, acquire load, release store
	opJump                         // to block.target
	opJumpLink                     // the same, rd = block.next
	opCall                         // the same for a call
	opCallReg                      //
	opReturn                       //
	opJumpReg                      //
	opSwitch                       // the same, where stacks are switched
	opFall                         // to block.next
	opFenceI                       //
	opValueX                       // reports the value of rd as entry site of the block's values
	opValueF                       // the same for a floating-point register
	opValueAddr                    // the same for rs1 + imm
	opDrop                         // an instruction without effect
	opFence                        // a fence that is a statement of its own; it ends the block
	opCallBack                     // a direct call from library code to the program's code, such as a replaced malloc
	opCallOut                      // an indirect call by code of the C library that has no symbol
	opLead                         // the jump into another image at the end of a block
)

// noID is the id of a block that has not been recorded yet.
const noID = ^event.BlockID(0)

// Hook numbers of blocks that do not start a hooked function.
const (
	noHook   = -1
	stubHook = -2 // leads from one image into another
	mainHook = -3 // the first block of the executable
)

// block is a decoded block. It is linked directly to the blocks that followed it, except to
// those that start hooked functions.
type block struct {
	pc     uint64
	next   uint64 // address after the block
	target uint64 // of its direct jump
	ops    []op
	taken  *block // at target, once executed
	fall   *block // at next, once executed
	insts  uint32
	sites  uint32
	values uint32 // number of entries in event.Batch.Values; 0 when values are not asked for
	id     event.BlockID
	hook   int32
	stops  bool     // the run stops before it; see steer.go
	loop   []*block // the loop that starts here and may wait for memory; nil: not yet determined. See park.go
	quiet  bool     // its atomic accesses cause no events, because hooks report them
	// leads says that a jump at its end leads to a function that another image called.
	leads bool
	// inLibrary says that the code is in a system library, and that hooks know which of its
	// accesses are internal.
	inLibrary bool
	kept      Recording // what is recorded of it; see fiber.go
	ord       []uint8   // for each op, the index of its instruction in code.Insts
	code      rv.Block
	// About the atomic access at its end. Set when that has been executed.
	word  *rv.Part
	order *sourceOrder
}

// address returns the address of the instruction that ops[i] was made from.
func (b *block) address(i int) uint64 {
	pc := b.pc
	for n := range b.ord[i] {
		pc += uint64(b.code.Insts[n].Len)
	}
	return pc
}

// lastPC returns the address of the block's last instruction.
func (b *block) lastPC() uint64 {
	return b.next - uint64(b.code.Insts[len(b.code.Insts)-1].Len)
}

// codePage holds the blocks that start in one page, by half-word.
type codePage [mem.PageSize / 2]*block

// codeCache holds all decoded blocks.
type codeCache struct {
	pages map[uint64]*codePage // by page number; includes pages into which a block only extends
	// known holds the blocks recorded at an address, so that a block that is decoded again
	// unchanged keeps its number.
	known      map[uint64][]*block
	generation uint64 // the mem.Space.CodeGeneration for which the cache is valid
	hooks      map[uint64]int
	stores     uint64 // counts the guest's stores into pages that hold decoded code
}

// fetch reads 16 bits of executable memory.
func (m *Machine) fetch(addr uint64) (uint16, bool) {
	if addr&1 != 0 {
		return 0, false
	}
	page, fault := m.space.Page(addr>>mem.PageShift, mem.Exec)
	if fault != nil {
		return 0, false
	}
	return load16(page, addr), true
}

// instruction decodes the instruction at pc. It reports false if there is none.
func (m *Machine) instruction(pc uint64) (rv.Inst, bool) {
	code := rv.Scan(pc, m.fetch, 1)
	if len(code.Insts) == 0 {
		return rv.Inst{}, false
	}
	return code.Insts[0], true
}

// chained returns the block at pc for a direct link to it. It returns nil if the block
// needs attention before it runs.
func (m *Machine) chained(pc uint64) *block {
	b := m.lookup(pc)
	if b == nil || b.hook != noHook || b.stops {
		return nil
	}
	return b
}

// lookup returns the block at pc and decodes it if necessary. It returns nil if the first
// instruction cannot be fetched.
func (m *Machine) lookup(pc uint64) *block {
	if page := m.code.pages[pc>>mem.PageShift]; page != nil && pc&1 == 0 {
		if b := page[pc%mem.PageSize>>1]; b != nil {
			return b
		}
	}
	b := m.decode(pc, 0)
	if b == nil {
		return nil
	}
	m.covered.add(b)
	m.holdCode(pc >> mem.PageShift)[pc%mem.PageSize>>1] = b
	m.holdCode((b.next - 1) >> mem.PageShift)
	return b
}

// decode makes the block at pc, of at most limit instructions (0: the usual maximum). It
// returns nil if the first instruction cannot be fetched.
func (m *Machine) decode(pc uint64, limit int) *block {
	if limit == 0 {
		if b := m.decodedBefore(pc); b != nil {
			m.numbered(b)
			return b
		}
	}
	scanned, read := m.scan(pc, limit)
	if len(scanned.Insts) == 0 {
		return nil
	}
	if limit := m.breaks.cut(scanned); limit > 0 {
		scanned = rv.Scan(pc, m.fetch, limit)
	}
	b := translate(scanned, m.values, m.switches(scanned.PC))
	if last := &b.ops[len(b.ops)-1]; last.code == opCall && m.cfg.Hooks != nil && m.fiberHooks == nil && m.cfg.Image.User(b.target) && !m.cfg.Image.User(pc) {
		last.code = opCallBack
	}
	b.hook, b.stops = noHook, m.breaks[pc] > 0
	b.quiet = m.rec != nil && m.fiberHooks == nil && m.cfg.Image.Runtime(pc)
	b.inLibrary = m.rec != nil && m.fiberHooks == nil && m.cfg.Hooks != nil && m.cfg.Image.Library(pc)
	if m.rec != nil && m.fiberHooks != nil {
		b.kept = m.fiberHooks.Code(pc)
	}
	if fn, hooked := m.code.hooks[pc]; hooked {
		b.hook = int32(fn)
	} else if m.cfg.Hooks != nil {
		m.lead(b)
	}
	if limit == 0 {
		m.keepDecoded(b, read)
	}
	m.numbered(b)
	return b
}

// numbered restores the number that the block was recorded with before.
func (m *Machine) numbered(b *block) {
	for _, old := range m.code.known[b.pc] {
		if sameCode(&old.code, &b.code) {
			b.id = old.id
		}
	}
}

// lead determines whether a block stands between a call and the called function in another
// image: the caller's stub, or the dynamic linker at the point where it has found the
// function.
func (m *Machine) lead(b *block) {
	img := m.cfg.Image.At(b.pc)
	switch {
	case img == nil:
	case b.pc == m.cfg.Image.Main.Entry:
		b.hook = mainHook
	case img.Stub(b.pc):
		b.hook, b.leads = stubHook, true
	case img.Linker() && b.code.End == event.EndIndirect:
		b.leads = true
	case m.starter == 0 && b.code.End == event.EndCallInd && img.System():
		if _, named := img.Func(b.pc); !named {
			b.ops[len(b.ops)-1].code = opCallOut
		}
	}
	if last := &b.ops[len(b.ops)-1]; b.leads && last.code == opJumpReg {
		last.code = opLead
	}
}

// holdCode notes that a page holds decoded code. From now on stores into the page are
// watched.
func (m *Machine) holdCode(vpn uint64) *codePage {
	page := m.code.pages[vpn]
	if page == nil {
		page = new(codePage)
		m.code.pages[vpn] = page
		for _, h := range m.harts {
			h.forgetWrites(vpn)
		}
	}
	return page
}

// flushCode discards all decoded code. A block that is being executed still runs to its
// end.
func (m *Machine) flushCode() {
	for _, page := range m.code.pages {
		for _, b := range page {
			if b != nil {
				b.taken, b.fall = nil, nil
				if b.id != noID {
					m.remember(b)
				}
			}
		}
	}
	clear(m.code.pages)
	for _, h := range m.harts {
		h.forgetJumps()
	}
}

func (m *Machine) remember(b *block) {
	for _, old := range m.code.known[b.pc] {
		if old.id == b.id {
			return
		}
	}
	m.code.known[b.pc] = append(m.code.known[b.pc], b)
}

func sameCode(a, b *rv.Block) bool {
	if a.PC != b.PC || a.Bytes != b.Bytes || a.End != b.End || a.Mode != b.Mode || len(a.Insts) != len(b.Insts) {
		return false
	}
	for n := range a.Insts {
		if a.Insts[n] != b.Insts[n] {
			return false
		}
	}
	return true
}

// translate makes the operations of a block. With values, a separate operation reports each
// result, so that runs without values pay nothing for them in exec.
func translate(code rv.Block, values, switches bool) *block {
	b := &block{
		pc: code.PC, next: code.PC + uint64(code.Bytes), target: code.Target,
		insts: uint32(len(code.Insts)), id: noID, code: code,
	}
	pc := code.PC
	for n, i := range code.Insts {
		last := n == len(code.Insts)-1
		o := op{code: i.Op, rd: i.Rd, rs1: i.Rs1, rs2: i.Rs2, rs3: i.Rs3, rm: i.RM, imm: int64(i.Imm)}
		_, _, access := i.Mem()
		switch {
		case last && code.End == event.EndAtomic:
			o.code = opAtomic
		case last && code.End != event.EndFall:
			o.code = ending(code.End, i)
			if o.code == opJumpReg && switches {
				o.code = opSwitch
			}
		case last && code.Fence != 0:
			o.code = opFence
		case access:
			o.site = uint8(b.sites)
			b.sites++
		default:
			translateALU(&o, i, pc)
		}
		if values && o.code == opAtomic {
			b.emit(op{code: opValueAddr, rs1: i.Rs1, imm: int64(i.Imm), site: b.value()}, n)
		}
		if o.code != opDrop {
			b.emit(o, n)
		}
		if values {
			b.tellValue(i, o.code, n)
		}
		if defs := i.Rd == 0 && o.code != opDrop; defs && writesX0(i) {
			b.emit(op{code: opZero}, n)
		}
		pc += uint64(i.Len)
	}
	if code.End == event.EndFall || code.End == event.EndAtomic {
		if b.ops == nil || b.ops[len(b.ops)-1].code != opFenceI {
			b.emit(op{code: opFall}, len(code.Insts)-1)
		}
	}
	return b
}

// part returns the first done instructions of a block.
func (b *block) part(done int) rv.Block {
	p := rv.Block{PC: b.pc, Insts: b.code.Insts[:done], End: event.EndTrap}
	for _, i := range p.Insts {
		p.Bytes += uint32(i.Len)
	}
	return p
}

// tellValue emits the operation that reports the result of instruction n, if there is one
// to report.
func (b *block) tellValue(i rv.Inst, code rv.Op, n int) {
	o := op{code: opValueX, rd: i.Rd}
	switch defs := i.Defs().Regs; {
	case code == opAtomic && (i.Op == rv.OpSCW || i.Op == rv.OpSCD):
	case !i.Valued():
		return
	case defs >= 1<<rv.RegF:
		o.code = opValueF
	}
	o.site = b.value()
	b.emit(o, n)
}

// value numbers the next of the block's values.
func (b *block) value() uint8 {
	b.values++
	return uint8(b.values - 1)
}

func (b *block) emit(o op, n int) {
	b.ops = append(b.ops, o)
	b.ord = append(b.ord, uint8(n))
}

// writesX0 reports whether executing i would leave a value in x0, which must then be zeroed
// again.
func writesX0(i rv.Inst) bool {
	if i.Atomic() {
		return true
	}
	switch i.Op {
	case rv.OpLB, rv.OpLBU, rv.OpLH, rv.OpLHU, rv.OpLW, rv.OpLWU, rv.OpLD,
		rv.OpFCVTWS, rv.OpFCVTWUS, rv.OpFCVTLS, rv.OpFCVTLUS, rv.OpFCVTWD, rv.OpFCVTWUD, rv.OpFCVTLD, rv.OpFCVTLUD,
		rv.OpFEQS, rv.OpFLTS, rv.OpFLES, rv.OpFEQD, rv.OpFLTD, rv.OpFLED, rv.OpFCLASSS, rv.OpFCLASSD,
		rv.OpFLEQS, rv.OpFLTQS, rv.OpFLEQD, rv.OpFLTQD, rv.OpFCVTMODWD, rv.OpFMVXH,
		rv.OpFMVXW, rv.OpFMVXD, rv.OpCSRRW, rv.OpCSRRS, rv.OpCSRRC, rv.OpCSRRWI, rv.OpCSRRSI, rv.OpCSRRCI:
		return true
	}
	return false
}

// ending returns the operation for the instruction that ends a block.
func ending(end event.End, i rv.Inst) rv.Op {
	switch end {
	case event.EndJump:
		if i.Rd != 0 {
			return opJumpLink
		}
		return opJump
	case event.EndCall:
		return opCall
	case event.EndCallInd:
		return opCallReg
	case event.EndReturn:
		return opReturn
	case event.EndIndirect:
		return opJumpReg
	}
	return i.Op
}

// translateALU completes the operation of an instruction in the middle of a block.
func translateALU(o *op, i rv.Inst, pc uint64) {
	switch {
	case i.Op == rv.OpFENCEI:
		o.code = opFenceI
	case i.Op >= rv.OpCSRRW && i.Op <= rv.OpCSRRCI:
		o.code = opCSR
	case i.Op >= rv.OpFLW:
		if !inExec(i.Op) {
			o.code, o.imm, o.site = opFloat, int64(i.Op), floatOperands(i)
		}
		if i.Op == rv.OpFLIS || i.Op == rv.OpFLID {
			o.rs1 = uint8(i.Imm) // index of the constant
		}
		switch i.Op {
		case rv.OpFADDD, rv.OpFSUBD, rv.OpFMULD, rv.OpFMADDD, rv.OpFNMSUBD:
			o.imm = int64(i.Op)
		}
	case i.Op == rv.OpFENCE || i.Rd == 0:
		o.code = opDrop
	case i.Op == rv.OpLUI:
		o.code = opLI
	case i.Op == rv.OpAUIPC:
		o.code, o.imm = opLI, int64(pc+uint64(int64(i.Imm)))
	case i.Op == rv.OpADDI && i.Rs1 == 0:
		o.code = opLI
	case i.Op == rv.OpADDI && i.Imm == 0:
		o.code = opMV
	case i.Op == rv.OpADD && i.Rs1 == 0:
		o.code, o.rs1 = opMV, i.Rs2
	}
}

// inExec reports whether exec computes a floating-point operation itself.
func inExec(code rv.Op) bool {
	switch code {
	case rv.OpFADDD, rv.OpFSUBD, rv.OpFMULD, rv.OpFMADDD, rv.OpFNMSUBD, rv.OpFSGNJD, rv.OpFSGNJND, rv.OpFSGNJXD,
		rv.OpFMVXD, rv.OpFMVDX, rv.OpFMVXW, rv.OpFMVWX:
		return true
	}
	return false
}
