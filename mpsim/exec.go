package mpsim

import (
	"math"
	"math/bits"

	"hindsight/mpsim/rv"
)

// stop is why exec returned.
type stop uint8

const (
	stopNext    stop = iota // the block at PC has to be looked up: it is hooked, or cannot be fetched
	stopQuantum             // Hart.left is used up
	stopWatch               // a jump reached Hart.watch
	stopCall                // a call that may lead from hidden code to the program's; PC is its target
	stopSyscall             // an ecall was executed; PC is after it
	stopFault               // Hart.fault says which access failed; PC is at the instruction
	stopAlign               // an atomic access at Hart.fault.Addr is not aligned
	stopIllegal             // PC is at an invalid instruction
	stopBreak               // PC is at an ebreak
	stopZero                // PC is at a cbo.zero
	stopWatched             // PC is at an access to watched memory, see watch.go
)

// exec runs the hart from block b on until something needs attention. It is the inner loop
// of the simulator: it does not allocate, makes no interface calls, and does no work per
// instruction other than the instruction itself.
//
// The last operation of a block finds the next block through the pointer that the first
// execution left there, and `continue`s the outer loop. Operations that can fault leave by
// `goto failed`, with the state that all earlier operations of the block produced.
//
// The window receives the address of each plain access, in the order of the block's sites.
// It lies in the batch if the block is recorded, and otherwise in memory that nobody reads.
// That one store is cheaper than a test or a second copy of this function.
func (h *Hart) exec(b *block) stop {
	x, f := &h.X, &h.F
	recording := h.recording || h.m.values
	window := &h.scrap
	var i int
	var o *op
	var next *block
	var target uint64
blocks:
	for {
		if h.left <= 0 {
			h.PC = b.pc
			return stopQuantum
		}
		if recording {
			window = h.m.rec.block(h, b)
		}
		h.left -= int64(b.insts)
		h.last = b
		ops := b.ops
		for i = range ops {
			o = &ops[i]
			switch o.code {
			case opZero:
				x[0] = 0
			case opLI:
				x[o.rd&31] = uint64(o.imm)
			case opMV:
				x[o.rd&31] = x[o.rs1&31]
			case rv.OpADDI:
				x[o.rd&31] = x[o.rs1&31] + uint64(o.imm)
			case rv.OpSLTI:
				x[o.rd&31] = less(int64(x[o.rs1&31]) < o.imm)
			case rv.OpSLTIU:
				x[o.rd&31] = less(x[o.rs1&31] < uint64(o.imm))
			case rv.OpXORI:
				x[o.rd&31] = x[o.rs1&31] ^ uint64(o.imm)
			case rv.OpORI:
				x[o.rd&31] = x[o.rs1&31] | uint64(o.imm)
			case rv.OpANDI:
				x[o.rd&31] = x[o.rs1&31] & uint64(o.imm)
			case rv.OpSLLI:
				x[o.rd&31] = x[o.rs1&31] << (uint64(o.imm) & 63)
			case rv.OpSRLI:
				x[o.rd&31] = x[o.rs1&31] >> (uint64(o.imm) & 63)
			case rv.OpSRAI:
				x[o.rd&31] = uint64(int64(x[o.rs1&31]) >> (uint64(o.imm) & 63))
			case rv.OpADD:
				x[o.rd&31] = x[o.rs1&31] + x[o.rs2&31]
			case rv.OpSUB:
				x[o.rd&31] = x[o.rs1&31] - x[o.rs2&31]
			case rv.OpSLL:
				x[o.rd&31] = x[o.rs1&31] << (x[o.rs2&31] & 63)
			case rv.OpSLT:
				x[o.rd&31] = less(int64(x[o.rs1&31]) < int64(x[o.rs2&31]))
			case rv.OpSLTU:
				x[o.rd&31] = less(x[o.rs1&31] < x[o.rs2&31])
			case rv.OpXOR:
				x[o.rd&31] = x[o.rs1&31] ^ x[o.rs2&31]
			case rv.OpSRL:
				x[o.rd&31] = x[o.rs1&31] >> (x[o.rs2&31] & 63)
			case rv.OpSRA:
				x[o.rd&31] = uint64(int64(x[o.rs1&31]) >> (x[o.rs2&31] & 63))
			case rv.OpOR:
				x[o.rd&31] = x[o.rs1&31] | x[o.rs2&31]
			case rv.OpAND:
				x[o.rd&31] = x[o.rs1&31] & x[o.rs2&31]
			case rv.OpADDIW:
				x[o.rd&31] = uint64(int64(int32(x[o.rs1&31]) + int32(o.imm)))
			case rv.OpSLLIW:
				x[o.rd&31] = uint64(int64(int32(uint32(x[o.rs1&31]) << (uint64(o.imm) & 31))))
			case rv.OpSRLIW:
				x[o.rd&31] = uint64(int64(int32(uint32(x[o.rs1&31]) >> (uint64(o.imm) & 31))))
			case rv.OpSRAIW:
				x[o.rd&31] = uint64(int64(int32(x[o.rs1&31]) >> (uint64(o.imm) & 31)))
			case rv.OpADDW:
				x[o.rd&31] = uint64(int64(int32(x[o.rs1&31]) + int32(x[o.rs2&31])))
			case rv.OpSUBW:
				x[o.rd&31] = uint64(int64(int32(x[o.rs1&31]) - int32(x[o.rs2&31])))
			case rv.OpSLLW:
				x[o.rd&31] = uint64(int64(int32(uint32(x[o.rs1&31]) << (x[o.rs2&31] & 31))))
			case rv.OpSRLW:
				x[o.rd&31] = uint64(int64(int32(uint32(x[o.rs1&31]) >> (x[o.rs2&31] & 31))))
			case rv.OpSRAW:
				x[o.rd&31] = uint64(int64(int32(x[o.rs1&31]) >> (x[o.rs2&31] & 31)))

			case rv.OpMUL:
				x[o.rd&31] = x[o.rs1&31] * x[o.rs2&31]
			case rv.OpMULW:
				x[o.rd&31] = uint64(int64(int32(x[o.rs1&31]) * int32(x[o.rs2&31])))
			case rv.OpMULHU:
				x[o.rd&31], _ = bits.Mul64(x[o.rs1&31], x[o.rs2&31])
			case rv.OpMULH, rv.OpMULHSU, rv.OpDIV, rv.OpDIVU, rv.OpREM, rv.OpREMU,
				rv.OpDIVW, rv.OpDIVUW, rv.OpREMW, rv.OpREMUW:
				x[o.rd&31] = divide(o.code, x[o.rs1&31], x[o.rs2&31])

			case rv.OpADDUW:
				x[o.rd&31] = x[o.rs1&31]&0xffffffff + x[o.rs2&31]
			case rv.OpSH1ADD:
				x[o.rd&31] = x[o.rs1&31]<<1 + x[o.rs2&31]
			case rv.OpSH2ADD:
				x[o.rd&31] = x[o.rs1&31]<<2 + x[o.rs2&31]
			case rv.OpSH3ADD:
				x[o.rd&31] = x[o.rs1&31]<<3 + x[o.rs2&31]
			case rv.OpANDN:
				x[o.rd&31] = x[o.rs1&31] &^ x[o.rs2&31]
			case rv.OpSH1ADDUW, rv.OpSH2ADDUW, rv.OpSH3ADDUW, rv.OpORN, rv.OpXNOR, rv.OpMAX, rv.OpMAXU, rv.OpMIN, rv.OpMINU,
				rv.OpROL, rv.OpROR, rv.OpROLW, rv.OpRORW, rv.OpCLMUL, rv.OpCLMULH, rv.OpCLMULR, rv.OpBCLR, rv.OpBEXT,
				rv.OpBINV, rv.OpBSET, rv.OpCZEROEQZ, rv.OpCZERONEZ, rv.OpCLZ, rv.OpCTZ, rv.OpCPOP, rv.OpCLZW, rv.OpCTZW,
				rv.OpCPOPW, rv.OpSEXTB, rv.OpSEXTH, rv.OpZEXTH, rv.OpORCB, rv.OpREV8, rv.OpMOPR, rv.OpMOPRR:
				x[o.rd&31] = bitmanip(o.code, x[o.rs1&31], x[o.rs2&31])
			case rv.OpSLLIUW, rv.OpRORI, rv.OpRORIW, rv.OpBCLRI, rv.OpBEXTI, rv.OpBINVI, rv.OpBSETI:
				x[o.rd&31] = bitmanip(o.code, x[o.rs1&31], uint64(o.imm))

			case rv.OpLB:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page1 {
					x[o.rd&31] = uint64(int64(int8(e.page[a&offset])))
				} else {
					v, ok := h.load(a, 1)
					if !ok {
						goto failed
					}
					x[o.rd&31] = uint64(int64(int8(v)))
				}
			case rv.OpLBU:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page1 {
					x[o.rd&31] = uint64(e.page[a&offset])
				} else {
					v, ok := h.load(a, 1)
					if !ok {
						goto failed
					}
					x[o.rd&31] = v
				}
			case rv.OpLH:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page2 {
					x[o.rd&31] = uint64(int64(int16(load16(e.page, a))))
				} else {
					v, ok := h.load(a, 2)
					if !ok {
						goto failed
					}
					x[o.rd&31] = uint64(int64(int16(v)))
				}
			case rv.OpLHU:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page2 {
					x[o.rd&31] = uint64(load16(e.page, a))
				} else {
					v, ok := h.load(a, 2)
					if !ok {
						goto failed
					}
					x[o.rd&31] = v
				}
			case rv.OpLW:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page4 {
					x[o.rd&31] = uint64(int64(int32(load32(e.page, a))))
				} else {
					v, ok := h.load(a, 4)
					if !ok {
						goto failed
					}
					x[o.rd&31] = uint64(int64(int32(v)))
				}
			case rv.OpLWU:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page4 {
					x[o.rd&31] = uint64(load32(e.page, a))
				} else {
					v, ok := h.load(a, 4)
					if !ok {
						goto failed
					}
					x[o.rd&31] = v
				}
			case rv.OpLD:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page8 {
					x[o.rd&31] = load64(e.page, a)
				} else {
					v, ok := h.load(a, 8)
					if !ok {
						goto failed
					}
					x[o.rd&31] = v
				}
			case rv.OpFLW:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page4 {
					f[o.rd&31] = boxed | uint64(load32(e.page, a))
				} else {
					v, ok := h.load(a, 4)
					if !ok {
						goto failed
					}
					f[o.rd&31] = boxed | v
				}
			case rv.OpFLH:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				v, ok := h.load(a, 2)
				if !ok {
					goto failed
				}
				f[o.rd&31] = boxedHalf | v
			case rv.OpFSH:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if !h.store(a, 2, f[o.rs2&31]) {
					goto failed
				}
			case rv.OpFLD:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.reads[a>>12&tlbMask]; e.tag == a&page8 {
					f[o.rd&31] = load64(e.page, a)
				} else {
					v, ok := h.load(a, 8)
					if !ok {
						goto failed
					}
					f[o.rd&31] = v
				}
			case rv.OpSB:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.writes[a>>12&tlbMask]; e.tag == a&page1 {
					e.page[a&offset] = uint8(x[o.rs2&31])
				} else if !h.store(a, 1, x[o.rs2&31]) {
					goto failed
				}
			case rv.OpSH:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.writes[a>>12&tlbMask]; e.tag == a&page2 {
					store16(e.page, a, uint16(x[o.rs2&31]))
				} else if !h.store(a, 2, x[o.rs2&31]) {
					goto failed
				}
			case rv.OpSW:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.writes[a>>12&tlbMask]; e.tag == a&page4 {
					store32(e.page, a, uint32(x[o.rs2&31]))
				} else if !h.store(a, 4, x[o.rs2&31]) {
					goto failed
				}
			case rv.OpSD:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.writes[a>>12&tlbMask]; e.tag == a&page8 {
					store64(e.page, a, x[o.rs2&31])
				} else if !h.store(a, 8, x[o.rs2&31]) {
					goto failed
				}
			case rv.OpFSW:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.writes[a>>12&tlbMask]; e.tag == a&page4 {
					store32(e.page, a, uint32(f[o.rs2&31]))
				} else if !h.store(a, 4, f[o.rs2&31]) {
					goto failed
				}
			case rv.OpFSD:
				a := x[o.rs1&31] + uint64(o.imm)
				window[o.site&63] = a
				if e := &h.writes[a>>12&tlbMask]; e.tag == a&page8 {
					store64(e.page, a, f[o.rs2&31])
				} else if !h.store(a, 8, f[o.rs2&31]) {
					goto failed
				}

			// Floating-point: the common cases, for which the host computes the same result
			// (see Hart.exact). Hart.float does everything else.
			case rv.OpFADDD:
				if h.exact(o.rm) {
					v := math.Float64bits(math.Float64frombits(f[o.rs1&31]) + math.Float64frombits(f[o.rs2&31]))
					if ordinary(v) {
						f[o.rd&31] = v
						continue
					}
				}
				if !h.float(o) {
					goto failed
				}
			case rv.OpFSUBD:
				if h.exact(o.rm) {
					v := math.Float64bits(math.Float64frombits(f[o.rs1&31]) - math.Float64frombits(f[o.rs2&31]))
					if ordinary(v) {
						f[o.rd&31] = v
						continue
					}
				}
				if !h.float(o) {
					goto failed
				}
			case rv.OpFMULD:
				if h.exact(o.rm) {
					v := math.Float64bits(math.Float64frombits(f[o.rs1&31]) * math.Float64frombits(f[o.rs2&31]))
					if ordinary(v) {
						f[o.rd&31] = v
						continue
					}
				}
				if !h.float(o) {
					goto failed
				}
			case rv.OpFMADDD:
				if h.exact(o.rm) {
					v := math.Float64bits(math.FMA(math.Float64frombits(f[o.rs1&31]), math.Float64frombits(f[o.rs2&31]), math.Float64frombits(f[o.rs3&31])))
					if ordinary(v) {
						f[o.rd&31] = v
						continue
					}
				}
				if !h.float(o) {
					goto failed
				}
			case rv.OpFNMSUBD:
				if h.exact(o.rm) {
					v := math.Float64bits(math.FMA(-math.Float64frombits(f[o.rs1&31]), math.Float64frombits(f[o.rs2&31]), math.Float64frombits(f[o.rs3&31])))
					if ordinary(v) {
						f[o.rd&31] = v
						continue
					}
				}
				if !h.float(o) {
					goto failed
				}
			case rv.OpFSGNJD:
				f[o.rd&31] = f[o.rs1&31]&^signBit | f[o.rs2&31]&signBit
			case rv.OpFSGNJND:
				f[o.rd&31] = f[o.rs1&31]&^signBit | ^f[o.rs2&31]&signBit
			case rv.OpFSGNJXD:
				f[o.rd&31] = f[o.rs1&31] ^ f[o.rs2&31]&signBit
			case rv.OpFMVXD:
				x[o.rd&31] = f[o.rs1&31]
			case rv.OpFMVDX:
				f[o.rd&31] = x[o.rs1&31]
			case rv.OpFMVXW:
				x[o.rd&31] = uint64(int64(int32(f[o.rs1&31])))
			case rv.OpFMVWX:
				f[o.rd&31] = boxed | x[o.rs1&31]&0xffffffff
			case opFloat:
				if !h.float(o) {
					goto failed
				}
			case opCSR:
				if !h.csr(b, i) {
					goto failed
				}
			case opAtomic:
				if !h.atomic(b) {
					goto failed
				}

			case rv.OpBEQ:
				if x[o.rs1&31] == x[o.rs2&31] {
					goto taken
				}
				goto fall
			case rv.OpBNE:
				if x[o.rs1&31] != x[o.rs2&31] {
					goto taken
				}
				goto fall
			case rv.OpBLT:
				if int64(x[o.rs1&31]) < int64(x[o.rs2&31]) {
					goto taken
				}
				goto fall
			case rv.OpBGE:
				if int64(x[o.rs1&31]) >= int64(x[o.rs2&31]) {
					goto taken
				}
				goto fall
			case rv.OpBLTU:
				if x[o.rs1&31] < x[o.rs2&31] {
					goto taken
				}
				goto fall
			case rv.OpBGEU:
				if x[o.rs1&31] >= x[o.rs2&31] {
					goto taken
				}
				goto fall
			case opJump:
				goto taken
			case opJumpLink:
				x[o.rd&31] = b.next
				goto taken
			case opCall:
				x[o.rd&31] = b.next
				h.frames = append(h.frames, frame{b.next, x[regSP]})
				goto taken
			case opCallReg:
				target = (x[o.rs1&31] + uint64(o.imm)) &^ 1
				x[o.rd&31] = b.next
				h.frames = append(h.frames, frame{b.next, x[regSP]})
				if h.hiding {
					h.PC = target
					return stopCall
				}
				goto indirect
			case opCallOut:
				target = (x[o.rs1&31] + uint64(o.imm)) &^ 1
				x[o.rd&31] = b.next
				h.frames = append(h.frames, frame{b.next, x[regSP]})
				h.PC = target
				return stopCall
			case opLead:
				target = (x[o.rs1&31] + uint64(o.imm)) &^ 1
				if o.rd != 0 {
					x[o.rd&31] = b.next
				}
				if h.hiding {
					h.PC = target
					return stopCall
				}
				goto indirect
			case opCallBack:
				x[o.rd&31] = b.next
				h.frames = append(h.frames, frame{b.next, x[regSP]})
				h.PC = b.target
				return stopCall
			case opReturn:
				target = (x[o.rs1&31] + uint64(o.imm)) &^ 1
				if n := len(h.frames) - 1; n >= 0 && h.frames[n].ret == target && h.frames[n].sp == x[regSP] {
					h.frames = h.frames[:n]
				} else {
					h.leave(target, true)
				}
				if x[regSP] > h.object {
					h.leaveObjects()
				}
				if x[regSP]-h.unwound.low < h.unwound.span {
					h.PC = target
					return stopWatch
				}
				goto indirect
			case opJumpReg:
				target = (x[o.rs1&31] + uint64(o.imm)) &^ 1
				if o.rd != 0 {
					x[o.rd&31] = b.next
				}
				if n := len(h.frames) - 1; n >= 0 && h.frames[n].sp-x[regSP] > maxFrame {
					h.leave(target, false)
				}
				goto indirect
			case opSwitch:
				target = (x[o.rs1&31] + uint64(o.imm)) &^ 1
				h.leave(target, false)
				goto indirect
			case opFall:
				goto fall
			case opValueX:
				h.values[o.site&127] = x[o.rd&31]
			case opValueF:
				h.values[o.site&127] = f[o.rd&31]
			case opValueAddr:
				h.values[o.site&127] = x[o.rs1&31] + uint64(o.imm)
			case opFence:
				h.fence(b)
			case opFenceI:
				h.m.flushCode()
				h.PC = b.next
				return stopNext
			case rv.OpECALL:
				h.PC = b.next
				return stopSyscall
			case rv.OpCBOZERO:
				h.PC = b.address(i)
				return stopZero
			case rv.OpEBREAK:
				h.PC = b.address(i)
				return stopBreak
			default:
				h.PC = b.address(i)
				return stopIllegal
			}
		}
	fall:
		if next = b.fall; next == nil {
			next = h.m.chained(b.next)
			if next == nil {
				h.PC = b.next
				return stopNext
			}
			b.fall = next
		}
		b = next
		continue blocks
	taken:
		if next = b.taken; next == nil {
			next = h.m.chained(b.target)
			if next == nil {
				h.PC = b.target
				return stopNext
			}
			b.taken = next
		}
		b = next
		continue blocks
	indirect:
		if target == h.watch {
			h.PC = target
			return stopWatch
		}
		next = h.jumps[target>>1&jumpMask]
		if next.pc != target {
			next = h.m.chained(target)
			if next == nil {
				h.PC = target
				return stopNext
			}
			h.jumps[target>>1&jumpMask] = next
		}
		b = next
		continue blocks
	}
failed:
	return h.cutShort(b, i)
}

// less returns 1 for true.
func less(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
