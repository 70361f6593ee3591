package rv

// decodeCompressed decodes an instruction of quadrant 0, 1 or 2 (manual, chapter 16) to the
// base operation that it stands for.
func decodeCompressed(w uint16) (Inst, bool) {
	var i Inst
	switch w & 3 {
	case 0:
		i = quadrant0(uint32(w))
	case 1:
		i = quadrant1(uint32(w))
	case 2:
		i = quadrant2(uint32(w))
	}
	i.Len = 2
	return i, i.Op != OpInvalid
}

const regSP = 2

// bits returns bits hi…lo of w.
func bits(w uint32, hi, lo uint) uint32 { return w >> lo & (1<<(hi-lo+1) - 1) }

// short returns the register that a 3-bit field at bit lo names: x8–x15 or f8–f15.
func short(w uint32, lo uint) uint8 { return uint8(8 + w>>lo&7) }

// imm6 returns the signed immediate of c.addi and similar instructions.
func imm6(w uint32) int32 { return int32(bits(w, 12, 12)<<31)>>26 | int32(bits(w, 6, 2)) }

func quadrant0(w uint32) Inst {
	rd, rs1 := short(w, 2), short(w, 7)
	word := int32(bits(w, 12, 10)<<3 | bits(w, 6, 6)<<2 | bits(w, 5, 5)<<6)
	double := int32(bits(w, 12, 10)<<3 | bits(w, 6, 5)<<6)
	switch bits(w, 15, 13) {
	case 0: // c.addi4spn
		imm := int32(bits(w, 12, 11)<<4 | bits(w, 10, 7)<<6 | bits(w, 6, 6)<<2 | bits(w, 5, 5)<<3)
		if imm == 0 {
			return Inst{}
		}
		return Inst{Op: OpADDI, Rd: rd, Rs1: regSP, Imm: imm}
	case 1:
		return Inst{Op: OpFLD, Rd: rd, Rs1: rs1, Imm: double}
	case 2:
		return Inst{Op: OpLW, Rd: rd, Rs1: rs1, Imm: word}
	case 3:
		return Inst{Op: OpLD, Rd: rd, Rs1: rs1, Imm: double}
	case 4:
		return byteAccess(w, rd, rs1)
	case 5:
		return Inst{Op: OpFSD, Rs1: rs1, Rs2: rd, Imm: double}
	case 6:
		return Inst{Op: OpSW, Rs1: rs1, Rs2: rd, Imm: word}
	case 7:
		return Inst{Op: OpSD, Rs1: rs1, Rs2: rd, Imm: double}
	}
	return Inst{}
}

func quadrant1(w uint32) Inst {
	rd, imm := uint8(bits(w, 11, 7)), imm6(w)
	switch bits(w, 15, 13) {
	case 0:
		return Inst{Op: OpADDI, Rd: rd, Rs1: rd, Imm: imm}
	case 1:
		if rd == 0 {
			return Inst{}
		}
		return Inst{Op: OpADDIW, Rd: rd, Rs1: rd, Imm: imm}
	case 2:
		return Inst{Op: OpADDI, Rd: rd, Imm: imm}
	case 3:
		if rd == regSP { // c.addi16sp
			imm = int32(bits(w, 12, 12)<<31)>>22 | int32(bits(w, 6, 6)<<4|bits(w, 5, 5)<<6|bits(w, 4, 3)<<7|bits(w, 2, 2)<<5)
			if imm == 0 {
				return Inst{}
			}
			return Inst{Op: OpADDI, Rd: regSP, Rs1: regSP, Imm: imm}
		}
		if imm == 0 && rd&1 != 0 && rd < 16 { // c.mop.n, which has no effect
			return Inst{Op: OpADDI}
		}
		if imm == 0 {
			return Inst{}
		}
		return Inst{Op: OpLUI, Rd: rd, Imm: imm << 12}
	case 4:
		return quadrant1ALU(w)
	case 5: // c.j
		off := int32(bits(w, 12, 12)<<31)>>20 | int32(bits(w, 11, 11)<<4|bits(w, 10, 9)<<8|bits(w, 8, 8)<<10|
			bits(w, 7, 7)<<6|bits(w, 6, 6)<<7|bits(w, 5, 3)<<1|bits(w, 2, 2)<<5)
		return Inst{Op: OpJAL, Imm: off}
	}
	off := int32(bits(w, 12, 12)<<31)>>23 | int32(bits(w, 11, 10)<<3|bits(w, 6, 5)<<6|bits(w, 4, 3)<<1|bits(w, 2, 2)<<5)
	if bits(w, 15, 13) == 6 {
		return Inst{Op: OpBEQ, Rs1: short(w, 7), Imm: off}
	}
	return Inst{Op: OpBNE, Rs1: short(w, 7), Imm: off}
}

func quadrant1ALU(w uint32) Inst {
	rd, rs2 := short(w, 7), short(w, 2)
	shift := int32(bits(w, 12, 12)<<5 | bits(w, 6, 2))
	switch bits(w, 11, 10) {
	case 0:
		return Inst{Op: OpSRLI, Rd: rd, Rs1: rd, Imm: shift}
	case 1:
		return Inst{Op: OpSRAI, Rd: rd, Rs1: rd, Imm: shift}
	case 2:
		return Inst{Op: OpANDI, Rd: rd, Rs1: rd, Imm: imm6(w)}
	}
	if bits(w, 12, 12) == 1 && bits(w, 6, 5) == 3 {
		return zcbUnary(rd, bits(w, 4, 2))
	}
	ops := [8]Op{OpSUB, OpXOR, OpOR, OpAND, OpSUBW, OpADDW, OpMUL}
	op := ops[bits(w, 12, 12)<<2|bits(w, 6, 5)]
	if op == OpInvalid {
		return Inst{}
	}
	return Inst{Op: op, Rd: rd, Rs1: rd, Rs2: rs2}
}

// byteAccess decodes a load or store of Zcb, of one or two bytes.
func byteAccess(w uint32, reg, rs1 uint8) Inst {
	half := int32(bits(w, 5, 5) << 1)
	one := half | int32(bits(w, 6, 6))
	switch bits(w, 12, 10) {
	case 0:
		return Inst{Op: OpLBU, Rd: reg, Rs1: rs1, Imm: one}
	case 1:
		if bits(w, 6, 6) == 0 {
			return Inst{Op: OpLHU, Rd: reg, Rs1: rs1, Imm: half}
		}
		return Inst{Op: OpLH, Rd: reg, Rs1: rs1, Imm: half}
	case 2:
		return Inst{Op: OpSB, Rs1: rs1, Rs2: reg, Imm: one}
	case 3:
		if bits(w, 6, 6) == 0 {
			return Inst{Op: OpSH, Rs1: rs1, Rs2: reg, Imm: half}
		}
	}
	return Inst{}
}

// zcbUnary decodes an operation of Zcb on one register.
func zcbUnary(rd uint8, what uint32) Inst {
	i := Inst{Rd: rd, Rs1: rd}
	switch what {
	case 0:
		i.Op, i.Imm = OpANDI, 0xff
	case 1:
		i.Op = OpSEXTB
	case 2:
		i.Op = OpZEXTH
	case 3:
		i.Op = OpSEXTH
	case 4:
		i.Op = OpADDUW
	case 5:
		i.Op, i.Imm = OpXORI, -1
	default:
		return Inst{}
	}
	return i
}

func quadrant2(w uint32) Inst {
	rd, rs2 := uint8(bits(w, 11, 7)), uint8(bits(w, 6, 2))
	loadWord := int32(bits(w, 12, 12)<<5 | bits(w, 6, 4)<<2 | bits(w, 3, 2)<<6)
	loadDouble := int32(bits(w, 12, 12)<<5 | bits(w, 6, 5)<<3 | bits(w, 4, 2)<<6)
	storeDouble := int32(bits(w, 12, 10)<<3 | bits(w, 9, 7)<<6)
	switch bits(w, 15, 13) {
	case 0:
		return Inst{Op: OpSLLI, Rd: rd, Rs1: rd, Imm: int32(bits(w, 12, 12)<<5 | bits(w, 6, 2))}
	case 1:
		return Inst{Op: OpFLD, Rd: rd, Rs1: regSP, Imm: loadDouble}
	case 2:
		if rd == 0 {
			return Inst{}
		}
		return Inst{Op: OpLW, Rd: rd, Rs1: regSP, Imm: loadWord}
	case 3:
		if rd == 0 {
			return Inst{}
		}
		return Inst{Op: OpLD, Rd: rd, Rs1: regSP, Imm: loadDouble}
	case 4:
		return quadrant2Jump(rd, rs2, bits(w, 12, 12) != 0)
	case 5:
		return Inst{Op: OpFSD, Rs1: regSP, Rs2: rs2, Imm: storeDouble}
	case 6:
		return Inst{Op: OpSW, Rs1: regSP, Rs2: rs2, Imm: int32(bits(w, 12, 9)<<2 | bits(w, 8, 7)<<6)}
	}
	return Inst{Op: OpSD, Rs1: regSP, Rs2: rs2, Imm: storeDouble}
}

// quadrant2Jump decodes c.jr, c.mv, c.ebreak, c.jalr and c.add.
func quadrant2Jump(rd, rs2 uint8, high bool) Inst {
	switch {
	case !high && rs2 != 0:
		return Inst{Op: OpADD, Rd: rd, Rs2: rs2}
	case !high && rd != 0:
		return Inst{Op: OpJALR, Rs1: rd}
	case !high:
		return Inst{}
	case rs2 != 0:
		return Inst{Op: OpADD, Rd: rd, Rs1: rd, Rs2: rs2}
	case rd != 0:
		return Inst{Op: OpJALR, Rd: regRA, Rs1: rd}
	}
	return Inst{Op: OpEBREAK}
}
