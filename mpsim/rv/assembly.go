package rv

import (
	"fmt"
	"strings"
)

var integerNames = strings.Fields("zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6")

var floatNames = strings.Fields("ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 " +
	"fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11")

var roundingNames = [8]string{0: "rne", 1: "rtz", 2: "rdn", 3: "rup", 4: "rmm"}

// loadable are the constants of fli in assembler notation.
var loadable = strings.Fields("-1.0 min 0x1p-16 0x1p-15 0x1p-8 0x1p-7 0.0625 0.125 0.25 0.3125 0.375 0.4375 0.5 0.625 0.75 0.875 " +
	"1.0 1.25 1.5 1.75 2.0 2.5 3.0 4.0 8.0 16.0 128.0 256.0 0x1p15 0x1p16 inf nan")

// Assembly returns the instruction in assembler notation: operation, registers by the names
// of the calling convention, immediate. A compressed instruction is written as the
// operation that it stands for, and the target of a jump as its distance.
func (i Inst) Assembly() string {
	if i.Op >= NumOps {
		i.Op = OpInvalid
	}
	r := &table[i.Op]
	name := r.name
	for _, bit := range []struct {
		set  bool
		text string
	}{{i.Aq && i.Rl, ".aqrl"}, {i.Aq && !i.Rl, ".aq"}, {i.Rl && !i.Aq, ".rl"}} {
		if bit.set {
			name += bit.text
		}
	}
	address := r.load != 0 || r.store != 0 || i.Op >= OpCBOCLEAN && i.Op <= OpCBOZERO
	var list []string
	for n, reg := range [4]uint8{i.Rd, i.Rs1, i.Rs2, i.Rs3} {
		if n >= len(r.regs) || r.regs[n] == '-' || n == 1 && address || n == 3 && i.Compares() {
			continue
		}
		names := integerNames
		if r.regs[n] == 'f' {
			names = floatNames
		}
		list = append(list, names[reg&31])
	}
	switch {
	case address && r.imm == immNone:
		list = append(list, "("+integerNames[i.Rs1&31]+")")
	case address:
		list = append(list, fmt.Sprintf("%d(%s)", i.Imm, integerNames[i.Rs1&31]))
	case r.imm == immIndex:
		list = append(list, loadable[i.Imm&31])
	case r.imm == immU:
		list = append(list, fmt.Sprintf("%#x", uint32(i.Imm)>>12))
	case r.imm == immCSR:
		list = []string{list[0], fmt.Sprintf("%#x", i.CSR), list[1]}
	case r.imm == immCSRI:
		list = []string{list[0], fmt.Sprintf("%#x", i.CSR), fmt.Sprint(i.Imm)}
	case r.imm != immNone:
		list = append(list, fmt.Sprint(i.Imm))
	}
	if mode := roundingNames[i.RM&7]; r.rm && mode != "" {
		list = append(list, mode)
	}
	return strings.TrimRight(name+" "+strings.Join(list, ","), " ")
}
