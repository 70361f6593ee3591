package slice

import (
	"slices"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// variable keeps, of the target's instructions (those of a line), the ones that access a
// variable: a local one in a register or on the stack, or else a global one.
func (r *Resolver) variable(g Graph, t *Target, name string) error {
	var kept []uint64
	var seen []string
	local := false
	for _, pc := range t.PCs {
		inst, ok := instruction(g, pc)
		if !ok {
			continue
		}
		hit, known, names := r.touchesLocal(pc, inst, name)
		local = local || known
		seen = append(seen, names...)
		if hit {
			kept = append(kept, pc)
		}
	}
	if !local {
		for _, pc := range t.PCs {
			hit, names, err := r.touchesGlobal(g, pc, name)
			if err != nil {
				return err
			}
			seen = append(seen, names...)
			if hit {
				kept = append(kept, pc)
			}
		}
	}
	if len(kept) == 0 {
		slices.Sort(seen)
		return &SpecError{t.Text, "no instruction of the line accesses a variable of that name", clip(slices.Compact(seen))}
	}
	t.PCs, t.Name = kept, name
	return nil
}

// instruction returns the one at pc.
func instruction(g Graph, pc uint64) (rv.Inst, bool) {
	for _, s := range g.Sites(pc) {
		if n := g.Node(s.Node); n.Kind == wet.NodePath {
			return n.Stmts[s.Stmt].Inst, true
		}
	}
	return rv.Inst{}, false
}

// touchesLocal reports whether the instruction at pc uses or writes a local
// variable, whether there is one of that name, and which others it touches. A
// register that it writes is the variable's from the next instruction on.
func (r *Resolver) touchesLocal(pc uint64, inst rv.Inst, name string) (hit, known bool, touched []string) {
	tell := func(l image.Local, is bool) {
		if is {
			touched = append(touched, l.Name)
			hit = hit || l.Name == name
		}
	}
	behind := pc + uint64(inst.Len)
	if inst.End() != event.EndFall || inst.Defs().Regs == 0 {
		behind = 0
	}
	shadowed := map[string]bool{}
	for _, l := range r.img.Locals(pc) {
		known = known || l.Name == name
		if shadowed[l.Name] {
			continue
		}
		shadowed[l.Name] = true
		tell(l, l.Memory && overlaps(inst, l) || !l.Memory && inst.Uses().Has(int(l.Reg)))
	}
	if behind == 0 {
		return hit, known, touched
	}
	clear(shadowed)
	for _, l := range r.img.Locals(behind) {
		if shadowed[l.Name] {
			continue
		}
		shadowed[l.Name] = true
		is := !l.Memory && inst.Defs().Has(int(l.Reg))
		known = known || is && l.Name == name
		tell(l, is)
	}
	return hit, known, touched
}

// overlaps reports whether an access goes to a variable on the stack.
func overlaps(inst rv.Inst, l image.Local) bool {
	_, size, ok := inst.Mem()
	at := int64(inst.Imm)
	return ok && inst.Rs1 == l.Reg && at < l.Offset+int64(l.Size) && l.Offset < at+int64(size)
}

// touchesGlobal reports whether the instruction at pc accessed a global variable, or a
// part of one, in its first or last execution by some thread, and which one.
func (r *Resolver) touchesGlobal(g Graph, pc uint64, name string) (hit bool, names []string, err error) {
	for _, p := range placesOf(g, []uint64{pc}, AllThreads) {
		for _, k := range []uint64{0, g.Executions(p.thread, p.node) - 1} {
			addr, size, ok, err := g.Addr(p.instance(k))
			if err != nil {
				return false, nil, err
			}
			if !ok {
				continue
			}
			whole, part := r.named(addr, uint64(size))
			hit = hit || whole == name || part == name
			if whole != "" {
				names = append(names, whole)
			}
		}
	}
	return hit, names, nil
}

// named returns the names of a global variable that is at addr, and of its part.
func (r *Resolver) named(addr, size uint64) (whole, part string) {
	s, _, ok := r.img.Object(addr)
	if !ok {
		return "", ""
	}
	return s.Demangled(), r.img.ObjectPathSize(addr, size)
}
