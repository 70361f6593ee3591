package written

import (
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// block is what matters here about a block of the simulator.
type block struct {
	sites, values int // number of entries of the batch that it takes
	defs          []def
	stores        []store
	known         bool // its code is in the program

	pc, last uint64 // addresses of the first and last instruction
	end      event.End
	loads    []int32 // watched sites
}

// source says where a value comes from.
type source struct {
	kind  sourceKind
	reg   uint8  // of fromRegister: 0–31 integer, 32–63 floating-point
	at    int    // of fromValue: index among the block's values
	value uint64 // of constant
}

type sourceKind uint8

const (
	constant     sourceKind = iota
	fromRegister            // its value when the block began
	fromValue
	unknown
)

// def is what a block leaves in a register.
type def struct {
	reg  uint8
	from source
}

// store is a write by the block.
type store struct {
	site int32 // in the order of the block's sites; -1: an atomic access, whose address is value addr
	addr int
	size uint8
	from source
	id   int32 // of the watched site; -1 for others
}

// code decodes the executed blocks.
type code interface {
	Code(pc uint64, n int) []byte
}

// sigreturn reports whether b may be the code to which Linux lets signal handlers return,
// which is in no file: li a7, 139; ecall.
func sigreturn(b *event.Block) bool {
	return b.End == event.EndSyscall && b.Bytes == 8 && b.Insts == 2 && len(b.Sites) == 0
}

// scan finds out what a block does.
func scan(c code, b *event.Block) block {
	scanned := rv.Scan(b.PC, func(addr uint64) (uint16, bool) {
		p := c.Code(addr, 2)
		if len(p) < 2 {
			return 0, false
		}
		return uint16(p[0]) | uint16(p[1])<<8, true
	}, int(b.Insts))
	out := block{sites: len(b.Sites), known: len(scanned.Insts) == int(b.Insts), pc: b.PC, last: b.PC, end: b.End}
	if sigreturn(b) && !out.known {
		const regA7, call = 17, 139
		out.known, out.defs = true, []def{{regA7, source{value: call}}}
		return out
	}
	var regs [2 * rv.RegF]*source
	read := func(reg uint8) source {
		switch {
		case reg == 0:
			return source{}
		case regs[reg] != nil:
			return *regs[reg]
		}
		return source{kind: fromRegister, reg: reg}
	}
	pc, site := b.PC, 0
	for n, i := range scanned.Insts {
		atomic := n == len(scanned.Insts)-1 && b.End == event.EndAtomic
		access, size, plain := i.Mem()
		out.last = pc
		data := i.Rs2
		if i.StoresFloat() {
			data += rv.RegF
		}
		switch {
		case atomic && plain && access == event.Write:
			out.stores = append(out.stores, store{site: -1, addr: out.values, size: size, from: read(data), id: -1})
		case atomic && !plain && i.Op != rv.OpLRW && i.Op != rv.OpLRD:
			out.stores = append(out.stores, store{site: -1, addr: out.values, size: i.AtomicSize(), from: source{kind: unknown}, id: -1})
		case plain && !atomic:
			if access == event.Write {
				out.stores = append(out.stores, store{site: int32(site), size: size, from: read(data), id: -1})
			}
			site++
		}
		addr, told := i.Told(atomic)
		if addr {
			out.values++
		}
		reg := i.Rd
		if i.Defs().Regs >= 1<<rv.RegF {
			reg += rv.RegF
		}
		if told {
			if i.Valued() {
				regs[reg] = &source{kind: fromValue, at: out.values}
			}
			out.values++
		} else if v, ok := i.Static(pc); ok {
			regs[reg] = &source{value: v}
		}
		pc += uint64(i.Len)
	}
	for reg, from := range regs {
		if from != nil {
			out.defs = append(out.defs, def{uint8(reg), *from})
		}
	}
	return out
}
