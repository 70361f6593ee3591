package slice

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/wet"
)

// locals tells whether the instruction at pc reads or sets a local variable of
// that name: in a register, or at a fixed place of the frame. others are the
// names of those that it does.
func (r *Resolver) locals(g Graph, pc uint64, name string) (hit bool, others []string) {
	sites := g.Sites(pc)
	if len(sites) == 0 {
		return false, nil
	}
	node := g.Node(sites[0].Node)
	if node.Kind != wet.NodePath {
		return false, nil
	}
	inst := node.Stmts[sites[0].Stmt].Inst
	note := func(v image.Local, touched bool) {
		if touched {
			hit = hit || v.Name == name
			others = append(others, v.Name)
		}
	}
	for _, v := range innermost(r.img.Locals(pc)) {
		if v.Memory {
			note(v, accesses(inst, v))
		} else {
			note(v, inst.Uses().Has(int(v.Reg)))
		}
	}
	// What an instruction sets is there behind it.
	for _, v := range innermost(r.img.Locals(pc + uint64(inst.Len))) {
		note(v, !v.Memory && inst.Defs().Has(int(v.Reg)))
	}
	return hit, others
}

// innermost drops variables that others of the same name hide.
func innermost(vars []image.Local) []image.Local {
	seen := map[string]bool{}
	kept := vars[:0]
	for _, v := range vars {
		if !seen[v.Name] {
			seen[v.Name] = true
			kept = append(kept, v)
		}
	}
	return kept
}

// accesses tells whether a load or store is within a variable of the frame.
func accesses(inst rv.Inst, v image.Local) bool {
	_, size, ok := inst.Mem()
	d := int64(inst.Imm) - v.Offset
	return ok && inst.Rs1 == v.Reg && d < int64(v.Size) && d+int64(size) > 0
}
