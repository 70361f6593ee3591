package intent

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// An OpenMP reduction ends with an atomic update of the variable, by one instruction or by
// a loop around a compare-and-swap that is preceded by a plain load. The source contains no
// atomic access: the variable is an ordinary one.

// combinations are the instructions of an outlined function that store the result of a
// reduction in a global variable.
type combinations struct {
	globals []image.Range   // those of which the construct has its own copy
	updates map[uint64]bool // the atomic instructions
	looks   map[uint64]bool // the plain loads before a compare-and-swap
	others  map[uint64]bool // such loads that do not belong to a reduction
}

// nearby is the maximum number of instructions between a compare-and-swap and the load
// before it.
const nearby = 24

// Combines reports whether the atomic access to addr by the instruction at pc stores the
// result of a reduction in a variable. Then it is on the line of a directive with a
// reduction, or the construct has its own copy of that global variable and so accesses the
// variable only for the result. Such an access does not make the variable atomic.
func (c *Code) Combines(pc, addr uint64) bool {
	f := c.combinations(pc)
	if !f.updates[pc] {
		return false
	}
	if c.place(pc).noted(image.NoteReduction) {
		return true
	}
	for _, r := range f.globals {
		if r.Low <= addr && addr < r.High {
			return true
		}
	}
	return false
}

// Looks reports whether the plain load at pc is the first part of such an update.
func (c *Code) Looks(pc uint64) bool { return c.combinations(pc).looks[pc] }

// swapped reports whether the plain load at pc is the first part of a loop around a
// compare-and-swap. The compiler may have assigned it to a wrong line.
func (c *Code) swapped(pc uint64) bool { return c.combinations(pc).others[pc] }

func (c *Code) combinations(pc uint64) *combinations {
	f, ok := c.img.Func(pc)
	if !ok {
		return &combinations{}
	}
	return remember(c, c.combos, f.Addr, func(uint64) *combinations { return c.findCombinations(f, pc) })
}

func (c *Code) findCombinations(f image.Symbol, pc uint64) *combinations {
	found := &combinations{globals: c.img.Privatized(pc), updates: map[uint64]bool{}, looks: map[uint64]bool{}, others: map[uint64]bool{}}
	if len(found.globals) == 0 && c.img.Notes == nil {
		return found
	}
	var code []located
	for at := f.Addr; at < c.img.FuncEnd(pc) && len(code) < maxFunction; {
		i, ok := c.at(at)
		if !ok {
			break
		}
		code = append(code, located{Inst: i, pc: at})
		at += uint64(i.Len)
	}
	locate(code)
	for n, i := range code {
		ours := len(found.globals) > 0 || c.place(i.pc).noted(image.NoteReduction)
		switch {
		case !i.Atomic():
		case !ours && i.Op != rv.OpLRW && i.Op != rv.OpLRD && !i.Compares(): // needs no load before it
		case !ours:
			if look, ok := lookBefore(code[max(0, n-nearby):n], i.address); ok {
				found.others[look] = true
			}
		case i.Op == rv.OpLRW || i.Op == rv.OpLRD:
			if look, ok := lookBefore(code[max(0, n-nearby):n], i.address); ok {
				found.looks[look] = true
				for m := n; m < len(code) && m < n+nearby; m++ { // including its SC
					if code[m].Atomic() && code[m].address == i.address {
						found.updates[code[m].pc] = true
					}
				}
			}
		case i.Op != rv.OpSCW && i.Op != rv.OpSCD:
			found.updates[i.pc] = true
		}
	}
	return found
}

// located is an instruction with its address and, if it accesses memory, the location.
type located struct {
	rv.Inst
	pc      uint64
	address sum
}

// sum is an unknown value plus a constant.
type sum struct {
	root   int // number of the instruction that computed the value; negative for the initial value of a register
	offset int64
}

// locate computes the addresses of accesses, in order of the code. A word of the frame in
// which the compiler saves a register has the register's value.
func locate(code []located) {
	const regSP = 2
	var regs [64]sum
	frame := map[sum]sum{} // by address
	for r := range regs {
		regs[r].root = -1 - r
	}
	for n := range code {
		i := &code[n]
		i.address = regs[i.Rs1&31]
		if !i.Atomic() {
			i.address.offset += int64(i.Imm)
		}
		r, ok := i.Dest()
		inFrame := i.address.root == -1-regSP
		kept, known := frame[i.address]
		switch value, static := i.Static(i.pc); {
		case inFrame && i.Op == rv.OpSD:
			frame[i.address] = regs[i.Rs2&31]
		case !ok:
		case inFrame && i.Op == rv.OpLD:
			if !known {
				kept = sum{root: n}
				frame[i.address] = kept
			}
			regs[r&63] = kept
		case static:
			regs[r&63] = sum{-1, int64(value)} // from x0
		case i.Op == rv.OpADDI:
			regs[r&63] = i.address
		default:
			regs[r&63] = sum{root: n}
		}
	}
}

// lookBefore returns the last plain load from an address.
func lookBefore(code []located, address sum) (pc uint64, ok bool) {
	for n := len(code) - 1; n >= 0; n-- {
		if access, _, plain := code[n].Mem(); plain && access == event.Read && code[n].address == address {
			return code[n].pc, true
		}
	}
	return 0, false
}
