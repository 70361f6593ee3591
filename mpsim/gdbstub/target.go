package gdbstub

import (
	"fmt"
	"strings"

	"hindsight/mpsim"
)

// Numbers of registers in packets: x0–x31, pc, f0–f31, then the CSRs.
const (
	numPC         = 32
	numFloat      = 33
	numFlags      = 65
	numFRM        = 66
	numFCSR       = 67
	numCycle      = 68
	numTime       = 69
	numInst       = 70
	registerCount = 71
)

var integerNames = strings.Fields("zero ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6")

var floatNames = strings.Fields("ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11")

// targetXML describes the registers, as the manual of gdb, appendix G, wants it.
func targetXML() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">` +
		`<architecture>riscv:rv64</architecture><osabi>GNU/Linux</osabi><feature name="org.gnu.gdb.riscv.cpu">`)
	for n, name := range integerNames {
		kind := "int"
		switch name {
		case "ra":
			kind = "code_ptr"
		case "sp", "gp", "tp", "fp":
			kind = "data_ptr"
		}
		fmt.Fprintf(&b, `<reg name="%s" bitsize="64" type="%s" regnum="%d"/>`, name, kind, n)
	}
	fmt.Fprintf(&b, `<reg name="pc" bitsize="64" type="code_ptr" regnum="%d"/></feature><feature name="org.gnu.gdb.riscv.fpu">`, numPC)
	b.WriteString(`<union id="riscv_double"><field name="float" type="ieee_single"/><field name="double" type="ieee_double"/></union>`)
	for n, name := range floatNames {
		fmt.Fprintf(&b, `<reg name="%s" bitsize="64" type="riscv_double" regnum="%d"/>`, name, numFloat+n)
	}
	for n, name := range []string{"fflags", "frm", "fcsr"} {
		fmt.Fprintf(&b, `<reg name="%s" bitsize="32" type="int" regnum="%d"/>`, name, numFlags+n)
	}
	b.WriteString(`</feature><feature name="org.gnu.gdb.riscv.csr">`)
	for n, name := range []string{"cycle", "time", "instret"} {
		fmt.Fprintf(&b, `<reg name="%s" bitsize="64" type="int" regnum="%d"/>`, name, numCycle+n)
	}
	b.WriteString(`</feature></target>`)
	return b.String()
}

// register is the value of a register and its size in bytes; size 0: there is none of
// that number.
func register(h *mpsim.Hart, clock uint64, n uint64) (v uint64, size int) {
	const single = 4
	switch {
	case n < numPC:
		return h.X[n], 8
	case n == numPC:
		return h.PC, 8
	case n < numFlags:
		return h.F[n-numFloat], 8
	case n == numFlags:
		return uint64(h.Float() & 0x1f), single
	case n == numFRM:
		return uint64(h.Float() >> 5 & 7), single
	case n == numFCSR:
		return uint64(h.Float()), single
	case n == numCycle, n == numInst:
		return h.Insts(), 8
	case n == numTime:
		return clock, 8
	}
	return 0, 0
}
