package rv

import "hindsight/tracefmt/event"

// MaxBlock is the maximum number of instructions in a block.
const MaxBlock = 64

// usualBlock is the capacity needed for most blocks.
const usualBlock = 8

// Code reads 16 bits of executable memory, little-endian, at an even address. It reports
// false if there are none.
type Code func(addr uint64) (uint16, bool)

// Block is straight-line code, cut by [Scan].
type Block struct {
	PC     uint64
	Bytes  uint32
	Insts  []Inst
	End    event.End
	Target uint64     // of EndBranch, EndJump, EndCall; otherwise 0
	Mode   event.Mode // of EndAtomic: the ordering that the code requests for the access of the last instruction
	Fence  event.Mode // ordering of a separate fence that ends the block as EndFall; otherwise 0
}

// Sites returns the plain accesses of the block in execution order. They do not include the
// load or store that ends a block as EndAtomic.
func (b *Block) Sites() []event.Site {
	var sites []event.Site
	pc := b.PC
	for n, i := range b.Insts {
		if a, size, ok := i.Mem(); ok && (b.End != event.EndAtomic || n != len(b.Insts)-1) {
			sites = append(sites, event.Site{PC: pc, Size: size, Access: a})
		}
		pc += uint64(i.Len)
	}
	return sites
}

// Scan decodes straight-line code from pc up to the instruction that ends the block, at
// most limit instructions (0: [MaxBlock]). Before an instruction that cannot be fetched, the
// block ends as EndFall. A block without instructions means that pc itself cannot be
// fetched. An illegal instruction is included in the block, as [OpInvalid], and ends it as
// EndTrap.
//
// In addition to the instructions that [Inst.End] names, these end a block:
//
//   - fence.i (EndFall);
//   - a FENCE that belongs to no atomic access, before or after it (EndFall; Fence says
//     what it orders): gcc's code for atomic_thread_fence;
//   - a plain integer load directly followed by a FENCE with R among its
//     predecessors and R and W among its successors: gcc's code for an acquire
//     load (EndAtomic, after the load);
//   - a plain integer store preceded in memory by a FENCE with R and W among its
//     predecessors and W among its successors, with at most a few instructions
//     between them that access only registers or load from the frame: a release
//     store (EndAtomic; but see releases). The bytes decide, not how the store was
//     reached, so that it is the same in every block that contains it. A FENCE
//     that follows such a store belongs to it (a sequentially consistent store)
//     and does not make a release store of what comes next.
//
// An AMO or LR preceded by such a FENCE has Release ordering in addition to its own bits.
// For an LR, the release belongs to the SC that succeeds.
func Scan(pc uint64, code Code, limit int) Block {
	room := limit // often their exact number
	if limit <= 0 {
		limit, room = MaxBlock, usualBlock
	}
	b := Block{PC: pc, Insts: make([]Inst, 0, min(room, MaxBlock))}
	for len(b.Insts) < limit {
		i, ok := fetch(code, pc)
		if !ok {
			return b
		}
		b.Insts = append(b.Insts, i)
		b.Bytes += uint32(i.Len)
		b.End = i.End()
		if b.End == event.EndFall {
			if access, _, plain := i.Mem(); plain && !i.float() && fenced(code, pc, i, access) {
				b.End = event.EndAtomic
			}
		}
		if i.Op == OpFENCE {
			b.Fence = alone(code, pc, i, len(b.Insts) == 1)
		}
		if b.End != event.EndFall || i.Op == OpFENCEI || b.Fence != 0 {
			break
		}
		pc += uint64(i.Len)
	}
	if len(b.Insts) == 0 {
		return b
	}
	last := b.Insts[len(b.Insts)-1]
	switch b.End {
	case event.EndBranch, event.EndJump, event.EndCall:
		b.Target, _ = last.Target(pc)
	case event.EndAtomic:
		b.Mode = mode(code, pc, last)
	}
	return b
}

// fetch decodes the instruction at pc. It reports false if it cannot be read completely.
func fetch(code Code, pc uint64) (Inst, bool) {
	low, ok := code(pc)
	if !ok {
		return Inst{}, false
	}
	word := uint32(low)
	if Len(low) == 4 {
		high, ok := code(pc + 2)
		if !ok {
			return Inst{}, false
		}
		word |= uint32(high) << 16
	}
	i, _ := Decode(word)
	return i, true
}

// fenced reports whether the plain access i at pc is an acquire load or a release store.
func fenced(code Code, pc uint64, i Inst, access event.Access) bool {
	if access == event.Write {
		_, size, _ := i.Mem()
		return releases(code, pc, size)
	}
	next, ok := fetch(code, pc+uint64(i.Len))
	if !ok {
		return false
	}
	pred, succ, ok := next.Fence()
	return ok && pred&FenceR != 0 && succ&(FenceR|FenceW) == FenceR|FenceW
}

// maxBetween bounds the number of instructions that a compiler's scheduler may have moved
// between a fence and its store.
const maxBetween = 3

// releases reports whether a store of size bytes at pc follows a FENCE that makes it a
// release store. Such a FENCE orders all earlier accesses before later writes. A full fence
// counts only for stores of one or two bytes (gcc before version 14 uses amoswap for wider
// ones), and not if it is itself the second half of a sequentially consistent store.
func releases(code Code, pc uint64, size uint8) bool {
	// Usually there is no FENCE nearby, which its first half shows.
	for at := pc - 4*(maxBetween+1); at != pc-2; at += 2 {
		if low, ok := code(at); ok && low&fenceMask == fenceLow {
			return fenceBehind(code, pc, size, maxBetween)
		}
	}
	return false
}

// The first half of a FENCE: its opcode and the function that distinguishes it from
// FENCE.I.
const (
	fenceMask = 0x707f
	fenceLow  = 0x000f
)

func fenceBehind(code Code, pc uint64, size uint8, between int) bool {
	if f, ok := fenceAt(code, pc-4); ok {
		pred, succ, _ := f.Fence()
		return pred&(FenceR|FenceW) == FenceR|FenceW && succ&FenceW != 0 &&
			(succ&FenceR == 0 || size <= 2) && !storeEnds(code, pc-4)
	}
	if between == 0 {
		return false
	}
	for _, n := range []uint8{2, 4} {
		low, ok := code(pc - uint64(n))
		if !ok || Len(low) != n {
			continue
		}
		if i, ok := fetch(code, pc-uint64(n)); ok && i.prepares() && fenceBehind(code, pc-uint64(n), size, between-1) {
			return true
		}
	}
	return false
}

// prepares reports whether an instruction may be between the fence of a release store and
// the store: those that compute what it stores, or where, or that load it from the
// function's own frame in unoptimised code.
func (i Inst) prepares() bool {
	if a, _, ok := i.Mem(); ok && a == event.Read {
		return i.Rs1 == regSP || i.Rs1 == regS0
	}
	return i.computes()
}

// regS0 is the frame pointer, where there is one.
const regS0 = 8

// computes reports whether the instruction only changes registers.
func (i Inst) computes() bool {
	_, _, access := i.Mem()
	return i.Op != OpInvalid && i.End() == event.EndFall && !access && !i.Atomic() &&
		i.Op != OpFENCE && i.Op != OpFENCEI && (i.Op < OpCSRRW || i.Op > OpCSRRCI)
}

// precedes reports whether a FENCE immediately before pc orders all earlier accesses before
// later writes, and so belongs to the AMO or LR at pc.
func precedes(code Code, pc uint64) bool {
	f, ok := fenceAt(code, pc-4)
	if !ok {
		return false
	}
	pred, succ, _ := f.Fence()
	return pred&(FenceR|FenceW) == FenceR|FenceW && succ&FenceW != 0
}

// fenceAt decodes the FENCE at pc.
func fenceAt(code Code, pc uint64) (Inst, bool) {
	low, ok := code(pc)
	if !ok || Len(low) != 4 {
		return Inst{}, false
	}
	i, ok := fetch(code, pc)
	return i, ok && i.Op == OpFENCE
}

// storeEnds reports whether the bytes before pc are a fence and an integer store.
func storeEnds(code Code, pc uint64) bool {
	i, at, ok := before(code, pc, event.Write)
	if !ok || i.float() {
		return false
	}
	_, ok = fenceAt(code, at-4)
	return ok
}

// before decodes the load or store whose bytes end at pc, as far as the bytes show it.
func before(code Code, pc uint64, access event.Access) (i Inst, at uint64, ok bool) {
	for _, size := range []uint8{2, 4} {
		at = pc - uint64(size)
		low, readable := code(at)
		if !readable || Len(low) != size {
			continue
		}
		i, ok = fetch(code, at)
		if ok {
			if a, _, plain := i.Mem(); plain && a == access {
				return i, at, true
			}
		}
	}
	return Inst{}, 0, false
}

// alone returns the ordering of the FENCE i at pc if it is not part of an atomic access,
// and otherwise 0. first says that it is the first instruction of a block: only then may it
// belong to a preceding load, which would have ended the block. What precedes a block is
// guessed from its bytes.
func alone(code Code, pc uint64, i Inst, first bool) event.Mode {
	pred, succ, _ := i.Fence()
	var m event.Mode
	if pred&FenceR != 0 && succ&(FenceR|FenceW) == FenceR|FenceW {
		m |= event.Acquire
	}
	if pred&(FenceR|FenceW) == FenceR|FenceW && succ&FenceW != 0 {
		m |= event.Release
	}
	if m == 0 {
		return 0
	}
	if load, at, ok := before(code, pc, event.Read); first && ok && fenced(code, at, load, event.Read) && !load.float() {
		return 0 // an acquire load
	}
	at := pc + 4
	next, ok := fetch(code, at)
	if ok && next.Atomic() {
		return 0
	}
	if access, _, plain := next.Mem(); ok && plain && access == event.Read && !next.float() && fenced(code, at, next, access) {
		return 0 // a sequentially consistent load
	}
	for range maxBetween {
		if !ok || !next.prepares() {
			break
		}
		at += uint64(next.Len)
		next, ok = fetch(code, at)
	}
	if access, _, plain := next.Mem(); ok && plain && access == event.Write && !next.float() && fenced(code, at, next, access) {
		return 0 // a release store
	}
	return m
}

func mode(code Code, pc uint64, i Inst) (m event.Mode) {
	access, _, plain := i.Mem()
	switch {
	case plain && access == event.Read:
		return event.Acquire
	case plain:
		return event.Release
	}
	if i.Aq {
		m |= event.Acquire
	}
	if i.Rl || precedes(code, pc) {
		m |= event.Release
	}
	return m
}

// float reports whether the instruction loads or stores a floating-point register.
func (i Inst) float() bool {
	return i.Op == OpFLW || i.Op == OpFLD || i.Op == OpFLH || i.StoresFloat()
}
