package annotate

import (
	"strings"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Registers that calls and frames use.
const (
	regRA = 1
	regSP = 2
	regFP = 8
)

// brace reports whether a line only contains the end of a block.
func (t *textWriter) brace(r *row) bool {
	text, ok := t.rep.Sources.line(r.key.file, r.key.line)
	return ok && strings.Trim(text, " \t{};") == "" && text != ""
}

// ending reports whether a line only contains the end of a block, where a function puts its
// result into place and releases what it has. Optimizing compilers also give the last
// computation before the end, as the load of a function that only returns a field, the line
// of the brace. Such a line counts as any other.
func (t *textWriter) ending(v *view, r *row) bool {
	if !t.brace(r) {
		return false
	}
	stmts := v.Statements()
	for _, n := range r.stmts {
		frames := v.img.Frames(stmts[n].PC)
		if computes(stmts[n].Inst) && len(frames) > 0 && frames[0].Line == r.key.line {
			return false
		}
	}
	return true
}

// computes reports whether an instruction computes a value or loads one from outside the
// frame, and does not just move it or transfer control.
func computes(i rv.Inst) bool {
	if access, _, ok := i.Mem(); ok {
		return access == event.Read && i.Rs1 != regSP && i.Rs1 != regFP
	}
	rd, ok := i.Dest()
	if !ok || rd == regRA || rd == regSP || rd == regFP || i.End() != event.EndFall {
		return false
	}
	switch i.Op {
	case rv.OpADDI, rv.OpADDIW:
		return i.Rs1 == 0 || i.Imm != 0
	case rv.OpADD:
		return i.Rs1 != 0 && i.Rs2 != 0
	case rv.OpFSGNJS, rv.OpFSGNJD:
		return i.Rs1 != i.Rs2
	}
	return true
}
