package gdbstub

import (
	"fmt"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/debug"
)

// Register numbers in packets: x0–x31, pc, f0–f31, then the CSRs.
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

// targetXML describes the registers, as the manual of gdb, appendix G, wants it.
func targetXML() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">` +
		`<architecture>riscv:rv64</architecture><osabi>GNU/Linux</osabi><feature name="org.gnu.gdb.riscv.cpu">`)
	for n, name := range debug.IntegerNames {
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
	for n, name := range debug.FloatNames {
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
