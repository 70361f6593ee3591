package cfg

import (
	"encoding/binary"
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Limits of the search for jump tables.
const (
	maxTable = 4096 // entries
	maxAway  = 32   // instructions between the check of the index and the jump
)

// shape is what is known of the contents of a register. The comments say what the value
// is.
type shape uint8

const (
	unknown  shape = iota // unknown, identified by its id
	constant              // c
	high                  // value id << 32
	scaled                // c + value id << shift
	loaded                // the table entry at c + value id << shift
	moved                 // that entry plus add
)

// value is the contents of a register, as far as jump tables go.
type value struct {
	shape shape
	shift uint8
	wide  bool // of loaded and moved: entries of 8 bytes
	id    int
	c     uint64
	add   uint64
}

type registers [32]value

// tracker follows constants, table addresses and table indices through a function's code,
// in order of address.
//
// It recognises the code that compilers for RISC-V generate for a switch, and for
// computed gotos through a table. The index is checked against a constant, shifted, and
// added to the table's address (auipc or lui with addi, or gp with addi). The entry is
// loaded. If it is an offset, a constant is added. Then the code jumps to the result.
//
// The tracker does not merge states at joins. The state is that of the preceding code or,
// if control does not come from there, of the first earlier jump to this place. If a
// table is a false match, it has entries that are not instructions of this program, and
// is discarded.
type tracker struct {
	prog   *Program
	regs   registers
	ahead  map[uint64]*registers // the registers at targets of jumps further on
	bound  map[int]uint64        // by value id: the greatest value
	ids    int
	check  int    // the last instruction that checked an index; -1: none
	atMost uint64 // the greatest index that the check lets pass
}

// jumpTables finds the targets of the function's indirect jumps, by the index of the
// jump. Each target occurs once, in order of address.
func (p *Program) jumpTables(s *sweep) map[int][]uint64 {
	if !slices.ContainsFunc(s.insts, func(i inst) bool { return i.end == event.EndIndirect }) {
		return nil
	}
	t := &tracker{prog: p, ahead: map[uint64]*registers{}, bound: map[int]uint64{}, check: -1}
	for r := range t.regs {
		t.regs[r] = t.fresh()
	}
	t.regs[0] = value{shape: constant}
	if p.img.Main.GP != 0 {
		t.regs[3] = value{shape: constant, c: p.img.Main.GP}
	}
	tables := map[int][]uint64{}
	falls := true
	for i := range s.insts {
		in := &s.insts[i]
		if saved := t.ahead[in.pc]; saved != nil {
			if !falls {
				t.regs = *saved
			}
			delete(t.ahead, in.pc)
		}
		t.step(i, in)
		falls = true
		switch in.end {
		case event.EndBranch:
			target, _ := in.Target(in.pc)
			t.leads(in.pc, target)
		case event.EndJump:
			target, _ := in.Target(in.pc)
			t.leads(in.pc, target)
			falls = false
		case event.EndIndirect:
			if in.Imm == 0 {
				if targets := t.targets(i, t.regs[in.Rs1], s); targets != nil {
					tables[i] = targets
					for _, target := range targets {
						t.leads(in.pc, target)
					}
				}
			}
			falls = false
		case event.EndReturn, event.EndTrap:
			falls = false
		}
	}
	return tables
}

// leads saves the registers for the code at target, if that is after pc.
func (t *tracker) leads(pc, target uint64) {
	if target > pc && t.ahead[target] == nil {
		regs := t.regs
		t.ahead[target] = &regs
	}
}

// fresh returns a value of which nothing is known.
func (t *tracker) fresh() value {
	t.ids++
	return value{shape: unknown, id: t.ids}
}

// step applies an instruction to the registers.
func (t *tracker) step(i int, in *inst) {
	switch in.end {
	case event.EndCall, event.EndCallInd:
		for r := range t.regs { // ra, t0–t6, a0–a7
			if r == 1 || r >= 5 && r <= 7 || r >= 10 && r <= 17 || r >= 28 {
				t.regs[r] = t.fresh()
			}
		}
		return
	case event.EndBranch:
		t.branch(i, in)
		return
	}
	defs := in.Defs()
	v := t.result(in)
	for r := 1; r < len(t.regs); r++ {
		if defs.Has(r) {
			t.regs[r] = v
		}
	}
}

// branch notes the comparison of an index with a constant.
func (t *tracker) branch(i int, in *inst) {
	a, b := t.regs[in.Rs1], t.regs[in.Rs2]
	switch {
	case in.Op == rv.OpBLTU && a.shape == constant && b.shape == unknown: // falls through when b ≤ a
		t.check, t.atMost = i, a.c
		t.bound[b.id] = a.c
	case in.Op == rv.OpBGEU && b.shape == constant && a.shape == unknown && b.c > 0: // falls through when a < b
		t.check, t.atMost = i, b.c-1
		t.bound[a.id] = b.c - 1
	}
}

// result returns the value that an instruction computes.
func (t *tracker) result(in *inst) value {
	a, b := t.regs[in.Rs1], t.regs[in.Rs2]
	imm := uint64(int64(in.Imm))
	switch in.Op {
	case rv.OpLUI:
		return value{shape: constant, c: imm}
	case rv.OpAUIPC:
		return value{shape: constant, c: in.pc + imm}
	case rv.OpADDI:
		return t.sum(a, value{shape: constant, c: imm})
	case rv.OpADDIW:
		if a.shape == constant {
			return value{shape: constant, c: uint64(int64(int32(a.c + imm)))}
		}
		if imm == 0 && (a.shape == unknown || a.shape == loaded) {
			return a // the sign extension of an index or an entry
		}
	case rv.OpADD:
		return t.sum(a, b)
	case rv.OpSLLI:
		return t.shifted(a, uint8(imm))
	case rv.OpSRLI:
		if a.shape == high && imm >= 29 && imm <= 32 {
			if imm == 32 {
				return value{shape: unknown, id: a.id}
			}
			return value{shape: scaled, shift: uint8(32 - imm), id: a.id}
		}
	case rv.OpANDI:
		v := t.fresh()
		if in.Imm >= 0 {
			t.bound[v.id] = imm
		}
		return v
	case rv.OpLBU:
		v := t.fresh()
		t.bound[v.id] = 255
		return v
	case rv.OpLW, rv.OpLWU, rv.OpLD:
		wide := in.Op == rv.OpLD
		if a.shape == scaled && (a.shift == 3) == wide && a.shift >= 2 {
			return value{shape: loaded, shift: a.shift, wide: wide, id: a.id, c: a.c + imm}
		}
	}
	return t.fresh()
}

// sum adds two values.
func (t *tracker) sum(a, b value) value {
	if b.shape != constant {
		a, b = b, a
	}
	if b.shape != constant {
		return t.fresh()
	}
	switch a.shape {
	case constant, scaled:
		a.c += b.c
		return a
	case loaded, moved:
		a.shape, a.add = moved, a.add+b.c
		return a
	case unknown, high:
		if b.c == 0 {
			return a
		}
	}
	return t.fresh()
}

// shifted shifts a value left.
func (t *tracker) shifted(a value, by uint8) value {
	switch {
	case a.shape == constant:
		return value{shape: constant, c: a.c << by}
	case a.shape == unknown && by == 32:
		return value{shape: high, id: a.id}
	case a.shape == unknown && (by == 2 || by == 3):
		return value{shape: scaled, shift: by, id: a.id}
	}
	return t.fresh()
}

// targets reads the table that instruction i jumps through. It returns nil if there is
// none, or if the entries are not targets.
func (t *tracker) targets(i int, v value, s *sweep) []uint64 {
	if v.shape != loaded && v.shape != moved {
		return nil
	}
	n, ok := t.entries(i, v)
	if !ok || n > maxTable {
		return nil
	}
	size := uint64(4)
	if v.wide {
		size = 8
	}
	var targets []uint64
	inside := 0
	for k := range n {
		raw := t.prog.img.Bytes(v.c+k*size, int(size))
		if uint64(len(raw)) < size {
			return nil
		}
		target := v.add
		if v.wide {
			target += binary.LittleEndian.Uint64(raw)
		} else {
			target += uint64(int64(int32(binary.LittleEndian.Uint32(raw))))
		}
		if target%2 != 0 || !t.prog.img.Exec(target) {
			return nil
		}
		if s.at(target) >= 0 {
			inside++
		}
		targets = append(targets, target)
	}
	if 2*inside < len(targets) {
		return nil
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// entries returns the number of entries of the table that instruction i jumps through. It
// takes it from what is known of the index, from the symbol of the table, or from the
// nearest check of an index.
func (t *tracker) entries(i int, v value) (uint64, bool) {
	if last, ok := t.bound[v.id]; ok && last < maxTable {
		return last + 1, true
	}
	if o, off, ok := t.prog.img.Object(v.c); ok && off == 0 && o.Size > 0 {
		return o.Size >> v.shift, true
	}
	if t.check >= 0 && i-t.check <= maxAway && t.atMost < maxTable {
		return t.atMost + 1, true
	}
	return 0, false
}
