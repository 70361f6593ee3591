package rv

import (
	mathbits "math/bits"
	"slices"
)

// byOpcode lists the operations of each major opcode (bits 2–6). Those that more bits
// determine come first, since pause, for example, is also a fence.
var byOpcode = func() (index [32][]Op) {
	for op := OpInvalid + 1; op < NumOps; op++ {
		major := table[op].match >> 2 & 31
		index[major] = append(index[major], op)
	}
	for _, ops := range index {
		slices.SortStableFunc(ops, func(a, b Op) int {
			return mathbits.OnesCount32(table[b].mask) - mathbits.OnesCount32(table[a].mask)
		})
	}
	return index
}()

// Len returns the length in bytes of the instruction whose first 16 bits are parcel.
// Encodings longer than 32 bits, none of which is supported, count as 4.
func Len(parcel uint16) uint8 {
	if parcel&3 != 3 {
		return 2
	}
	return 4
}

// Decode decodes the instruction in word. If it is compressed, only the low 16 bits count.
// Decode reports false for an unknown instruction: Op is then [OpInvalid], and Len is still
// set.
func Decode(word uint32) (Inst, bool) {
	if word&3 != 3 {
		return decodeCompressed(uint16(word))
	}
	for _, op := range byOpcode[word>>2&31] {
		r := &table[op]
		if word&r.mask == r.match {
			return r.decode(op, word), true
		}
	}
	return Inst{Len: 4}, false
}

func (r *row) decode(op Op, w uint32) Inst {
	i := Inst{Op: op, Len: 4}
	for n := range len(r.regs) {
		if r.regs[n] == '-' {
			continue
		}
		switch n {
		case 0:
			i.Rd = uint8(w >> 7 & 31)
		case 1:
			i.Rs1 = uint8(w >> 15 & 31)
		case 2:
			i.Rs2 = uint8(w >> 20 & 31)
		case 3:
			i.Rs3 = uint8(w >> 27)
		}
	}
	if r.rm {
		i.RM = uint8(w >> 12 & 7)
	}
	if i.Atomic() {
		i.Aq, i.Rl = w>>26&1 != 0, w>>25&1 != 0
		i.Rs3 = 0
		if i.Compares() {
			i.Rs3 = i.Rd
		}
	}
	s := int32(w)
	switch r.imm {
	case immI:
		i.Imm = s >> 20
	case immS:
		i.Imm = s>>25<<5 | int32(w>>7&31)
	case immB:
		i.Imm = s>>31<<12 | int32(w>>7&1<<11|w>>25&63<<5|w>>8&15<<1)
	case immU:
		i.Imm = int32(w &^ 0xfff)
	case immJ:
		i.Imm = s>>31<<20 | int32(w>>12&255<<12|w>>20&1<<11|w>>21&1023<<1)
	case immShift:
		i.Imm = int32(w >> 20 & 63)
	case immFence:
		i.Imm = int32(w >> 20)
	case immIndex:
		i.Imm = int32(w >> 15 & 31)
	case immCSR:
		i.CSR = uint16(w >> 20)
	case immCSRI:
		i.CSR = uint16(w >> 20)
		i.Imm = int32(w >> 15 & 31)
	}
	return i
}
