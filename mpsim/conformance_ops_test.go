package mpsim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"hindsight/mpsim/rv"
)

// Templates of the generated code. A placeholder is % and a letter, see [generator.fill];
// lines are separated by semicolons. Some registers have a purpose: x2 and x9 point into
// the memory block, x3 points to the chunk's record, and x4 counts loops. x15 is clobbered
// as an address or value.

// simpleTemplates returns straight-line code.
func simpleTemplates() []string {
	list := []string{
		"lui %d,%u", "auipc %d,%u",
		"fence iorw,iorw", "fence rw,w", "fence r,rw", "fence.tso", "fence.i",
		"fmv.x.w %d,%S", "fmv.w.x %D,%s", "fmv.x.d %d,%S", "fmv.d.x %D,%s",
		"fclass.s %d,%S", "fclass.d %d,%S",
		"fcvt.d.w %D,%s", "fcvt.d.wu %D,%s", "fcvt.d.s %D,%S",
		"fcvt.s.d %D,%S,%r",
		"flw %D,%m", "fld %D,%m", "fsw %S,%m", "fsd %S,%m",
		// What gcc emits for acquire loads and release stores.
		"lw %d,%m;fence r,rw", "ld %d,%m;fence iorw,iorw", "lbu %d,%m;fence r,rw",
		"fence rw,w;sw %s,%m", "fence iorw,ow;sd %s,%m", "fence rw,w;sb %s,%m",
		"andi x15,x9,-8;fence iorw,ow;amoswap.w.aq %d,%s,(x15)",
		"andi x15,x9,-8;amoswap.w.rl x0,%s,(x15)",
	}
	each := func(template, names string) {
		for name := range strings.FieldsSeq(names) {
			list = append(list, strings.ReplaceAll(template, "@", name))
		}
	}
	each("@ %d,%s,%s", `add sub sll slt sltu xor srl sra or and addw subw sllw srlw sraw
		mul mulh mulhsu mulhu div divu rem remu mulw divw divuw remw remuw`)
	each("@ %d,%s,%i", "addi slti sltiu xori ori andi addiw")
	each("@ %d,%s,%h", "slli srli srai")
	each("@ %d,%s,%w", "slliw srliw sraiw")
	each("@ %d,%m", "lb lh lw ld lbu lhu lwu")
	each("@ %s,%m", "sb sh sw sd")
	each("@ %D,%S,%S,%r", "fadd.s fsub.s fmul.s fdiv.s fadd.d fsub.d fmul.d fdiv.d")
	// Twice as often, because exec has a fast path for these when the mode is
	// round-to-nearest and the inexact flag is set.
	each("@ %D,%S,%S,%E", "fadd.d fsub.d fmul.d fdiv.d fmul.s")
	each("@ %D,%S,%S,%S,%E", "fmadd.d fnmsub.d")
	each("@ %D,%S,%r", "fsqrt.s fsqrt.d")
	each("@ %D,%S,%S,%S,%r", "fmadd.s fmsub.s fnmsub.s fnmadd.s fmadd.d fmsub.d fnmsub.d fnmadd.d")
	each("@ %D,%S,%S", `fsgnj.s fsgnjn.s fsgnjx.s fmin.s fmax.s fsgnj.d fsgnjn.d fsgnjx.d fmin.d fmax.d`)
	each("@ %d,%S,%S", "feq.s flt.s fle.s feq.d flt.d fle.d")
	each("@ %d,%S,%r", "fcvt.w.s fcvt.wu.s fcvt.l.s fcvt.lu.s fcvt.w.d fcvt.wu.d fcvt.l.d fcvt.lu.d")
	each("@ %D,%s,%r", "fcvt.s.w fcvt.s.wu fcvt.s.l fcvt.s.lu fcvt.d.l fcvt.d.lu")
	for _, amo := range strings.Fields("swap add xor and or min max minu maxu") {
		list = append(list,
			"andi x15,x9,-8;amo"+amo+".d%q %d,%s,(x15)",
			"andi x15,x9,-8;addi x15,x15,%4;amo"+amo+".w%q %d,%s,(x15)")
	}
	each("@ %d,%s,%s", `add.uw sh1add sh2add sh3add sh1add.uw sh2add.uw sh3add.uw andn orn xnor max maxu min minu
		rol ror rolw rorw clmul clmulh clmulr bclr bext binv bset`)
	each("@ %d,%s,%h", "slli.uw rori bclri bexti binvi bseti")
	each("@ %d,%s,%w", "roriw")
	each("@ %d,%s", "clz ctz cpop clzw cpopw sext.b sext.h zext.h orc.b rev8")
	// Versions of qemu before 8 look at all 64 bits for ctzw when the low 32 are zero.
	list = append(list, "li x15,1;slli x15,x15,31;or x15,x15,%s;ctzw %d,x15")
	list = append(list, "pause", "flh %D,%m", "fsh %S,%m", "fmv.x.h %d,%S", "fmv.h.x %D,%s",
		"flh f1,%m;fcvt.s.h %D,f1", "flh f1,%m;fcvt.d.h %D,f1", "fcvt.s.h %D,%S", "fcvt.d.h %D,%S")
	each("@ %D,%S,%r", "fcvt.h.s fcvt.h.d fcvt.h.s fcvt.h.d")
	return append(list, csrTemplates()...)
}

// beyondQemu reports operations that the qemu of current distributions does not know.
// TestAgainstMachine of package eval compares them with the manual's pseudocode, and the
// tests of package fpu with numbers of arbitrary precision.
func beyondQemu(op rv.Op) bool {
	switch op {
	case rv.OpCZEROEQZ, rv.OpCZERONEZ, rv.OpMOPR, rv.OpMOPRR, rv.OpWRSNTO, rv.OpWRSSTO,
		rv.OpCBOCLEAN, rv.OpCBOFLUSH, rv.OpCBOZERO, rv.OpAMOCASW, rv.OpAMOCASD,
		rv.OpFLIS, rv.OpFMINMS, rv.OpFMAXMS, rv.OpFROUNDS, rv.OpFROUNDNXS, rv.OpFLEQS, rv.OpFLTQS,
		rv.OpFLID, rv.OpFMINMD, rv.OpFMAXMD, rv.OpFROUNDD, rv.OpFROUNDNXD, rv.OpFLEQD, rv.OpFLTQD, rv.OpFCVTMODWD:
		return true
	}
	return false
}

// csrTemplates leave a valid rounding mode behind.
func csrTemplates() []string {
	return []string{
		"csrrw %d,fflags,%s", "csrrs %d,fflags,%s", "csrrc %d,fflags,%s",
		"csrrwi %d,fflags,%5", "csrrsi %d,fflags,%5", "csrrci %d,fflags,%5",
		"li x15,%f;csrrw %d,fcsr,x15", "csrrs %d,fcsr,x0",
		"csrrs %d,fcsr,%s;fsrmi %M", "csrrc %d,fcsr,%s;fsrmi %M",
		"csrrwi %d,fcsr,%5", "csrrsi %d,fcsr,%5;fsrmi %M", "csrrci %d,fcsr,%5",
		"csrrwi %d,frm,%M", "csrrs %d,frm,x0", "csrrw %d,frm,%s;fsrmi %d,%M",
		"csrrsi %d,frm,%5;csrrci %d,frm,7", "csrrc %d,frm,%s;fsrmi %M",
	}
}

// pairTemplates are pairs of LR and SC that do and do not match.
func pairTemplates() []string {
	return []string{
		"andi x15,x9,-8;lr.d%q %e,(x15);sc.d%q %d,%s,(x15)",
		"andi x15,x9,-8;addi x15,x15,%4;lr.w%q %e,(x15);sc.w%q %d,%s,(x15)",
		"andi x15,x9,-8;lr.w%q %e,(x15);add %e,%s,%s;sc.w%q %d,%s,(x15)",
		"andi x15,x9,-8;lr.d%q %e,(x15);addi x15,x15,8;sc.d%q %d,%s,(x15)",                       // another address: fails
		"andi x15,x9,-8;sd x0,0(x15);sd x0,8(x15);lr.d %e,(x15);addi x15,x15,8;sc.d %d,%s,(x15)", // same value
		"andi x15,x9,-8;sc.d%q %d,%s,(x15)",                                                      // without an LR: fails
		"andi x15,x9,-8;sc.w%q %d,%s,(x15)",
		"andi x15,x9,-8;lr.d%q %e,(x15);sc.d %e,%s,(x15);sc.d %d,%s,(x15)", // twice: fails
		"andi x15,x9,-8;fence iorw,ow;lr.d.aq %e,(x15);sc.d %d,%s,(x15)",
	}
}

// jumpTemplates have %I where a simple instruction belongs.
func jumpTemplates() []string {
	list := []string{
		"jal %d,1f;%I;1:", "jal x1,1f;%I;%I;1:", "j 1f;2:;%I;j 3f;1:;%I;j 2b;3:",
		"lla x5,1f;jalr %d,0(x5);%I;1:", "lla x5,1f;jalr x5,0(x5);%I;1:",
		"lla x6,1f-40;jalr x1,40(x6);%I;1:", "lla x6,1f+1;jalr x1,0(x6);%I;1:",
		"li x4,%3;1:;%I;addi x4,x4,-1;bne x4,x0,1b",
		"li x4,%3;1:;%I;%I;addi x4,x4,-1;bge x4,x0,1b",
		"jal x1,1f;j 2f;1:;mv x4,x1;%I;mv x1,x4;jalr x0,0(x1);2:",
		"jal x5,1f;j 2f;1:;jalr x0,0(x5);2:",
	}
	for name := range strings.FieldsSeq("beq bne blt bge bltu bgeu") {
		list = append(list, name+" %s,%s,1f;%I;%I;1:", name+" %s,x0,1f;%I;1:")
	}
	return list
}

// compressedTemplates has every form of the C extension.
func compressedTemplates() []string {
	list := []string{
		"c.nop", "c.addi %n,%6", "c.addiw %n,%k", "c.li %n,%k", "c.lui %n,%U",
		"c.addi16sp sp,%x;c.addi16sp sp,-%x", "c.addi4spn %c,sp,%z",
		"c.slli %n,%H", "c.srli %c,%H", "c.srai %c,%H", "c.andi %c,%k",
		"c.mv %n,%N", "c.add %n,%N",
		"c.lw %c,%o(x9)", "c.ld %c,%p(x9)", "c.fld %C,%p(x9)",
		"c.sw %b,%o(x9)", "c.sd %b,%p(x9)", "c.fsd %C,%p(x9)",
		"c.lwsp %n,%O(sp)", "c.ldsp %n,%P(sp)", "c.fldsp %D,%P(sp)",
		"c.swsp %s,%O(sp)", "c.sdsp %s,%P(sp)", "c.fsdsp %S,%P(sp)",
	}
	for name := range strings.FieldsSeq("sub xor or and subw addw") {
		list = append(list, "c."+name+" %c,%b")
	}
	return list
}

// compressedJumps are separate because the nested instruction is not compressed.
func compressedJumps() []string {
	return []string{
		"c.j 1f;%I;1:", "c.beqz %b,1f;%I;1:", "c.bnez %b,1f;%I;1:",
		"lla x5,1f;c.jr x5;%I;1:", "lla x5,1f;c.jalr x5;%I;1:",
		"jal x1,1f;c.j 2f;1:;c.mv x4,x1;%I;c.mv x1,x4;c.jr x1;2:",
		"lla x6,1f;c.jalr x6;c.j 2f;1:;c.mv x4,x1;%I;c.mv x1,x4;c.jr x1;2:",
	}
}

type generator struct {
	*rand.Rand
	simple []string
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

// integer chooses one of x0–x31, except those in without.
func (g *generator) integer(without ...int) string {
next:
	for {
		r := g.IntN(32)
		for _, w := range without {
			if r == w {
				continue next
			}
		}
		return fmt.Sprintf("x%d", r)
	}
}

// fill replaces the placeholders of a template. %x has the same value everywhere in the
// template.
func (g *generator) fill(template string) string {
	var b strings.Builder
	same := 16 * (1 + g.IntN(31))
	for n := 0; n < len(template); n++ {
		if template[n] != '%' {
			b.WriteByte(template[n])
			continue
		}
		n++
		if template[n] == 'x' {
			fmt.Fprint(&b, same)
			continue
		}
		b.WriteString(g.placeholder(template[n]))
	}
	return b.String()
}

func (g *generator) placeholder(letter byte) string {
	num := func(n int) string { return fmt.Sprint(n) }
	switch letter {
	case 'I':
		return g.fill(g.pick(g.simple...))
	case 'd': // destination
		return g.integer(2, 3, 4, 9)
	case 'e': // nor the address of an atomic access
		return g.integer(2, 3, 4, 9, 15)
	case 'n':
		return g.integer(0, 2, 3, 4, 9)
	case 's':
		return g.integer()
	case 'N':
		return g.integer(0)
	case 'c': // register of a compressed instruction
		return g.pick("x8", "x10", "x11", "x12", "x13", "x14", "x15")
	case 'b':
		return fmt.Sprintf("x%d", 8+g.IntN(8))
	case 'C':
		return fmt.Sprintf("f%d", 8+g.IntN(8))
	case 'D', 'S':
		return fmt.Sprintf("f%d", g.IntN(32))
	case 'r':
		return g.pick("rne", "rtz", "rdn", "rup", "rmm", "dyn", "dyn")
	case 'E':
		return g.pick("rne", "dyn")
	case 'q':
		return g.pick("", ".aq", ".rl", ".aqrl")
	case 'm':
		return num(g.IntN(4096)-2048) + g.pick("(x2)", "(x9)")
	case 'f':
		return num(g.IntN(1<<20)<<8 | g.IntN(5)<<5 | g.IntN(32))
	}
	return num(g.immediate(letter))
}

func (g *generator) immediate(letter byte) int {
	nonzero := func(n int) int {
		if n == 0 {
			return 1
		}
		return n
	}
	switch letter {
	case 'i':
		return []int{g.IntN(4096) - 2048, g.IntN(8) - 4, 2047, -2048}[g.IntN(4)]
	case 'h':
		return g.IntN(64)
	case 'w':
		return g.IntN(32)
	case 'u':
		return []int{g.IntN(1 << 20), 0, 1<<20 - 1, 1 << 19}[g.IntN(4)]
	case 'U':
		return []int{1 + g.IntN(31), 0xfffe0 + g.IntN(32)}[g.IntN(2)]
	case 'M':
		return g.IntN(5)
	case '3':
		return 1 + g.IntN(3)
	case '4':
		return 4 * g.IntN(2)
	case '5':
		return g.IntN(32)
	case '6':
		return nonzero(g.IntN(64) - 32)
	case 'k':
		return g.IntN(64) - 32
	case 'H':
		return 1 + g.IntN(63)
	case 'z':
		return 4 * (1 + g.IntN(255))
	case 'o':
		return 4 * g.IntN(32)
	case 'p':
		return 8 * g.IntN(32)
	case 'O':
		return 4 * g.IntN(64)
	case 'P':
		return 8 * g.IntN(64)
	}
	panic("placeholder %" + string(letter))
}
