package slice

import (
	"cmp"
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// What a brief slice omits. Nothing depends on the stack, global and thread pointers,
// because the place of a function's frame is not part of what it computes. A register
// that a function saves for its caller and restores passes through as one step. Both
// instructions are visited, so that the value is followed, but they are not statements of
// the slice, and its arrows skip them.

// Registers of the calling convention.
const (
	regRA = 1
	regSP = 2
	regGP = 3
	regFP = 8
)

// pointers returns the stack, global and thread pointers.
func pointers(reg uint8) bool { return reg >= regSP && reg <= 4 }

// follows reports whether a slice follows dependences of a kind. Of what it passes
// through it follows only the value: a register was saved because the function ran.
func (o *Options) follows(kind wet.DepKind, reg uint8) bool {
	return o.Kinds.follows(kind) && (!o.Brief || kind != wet.DepRegister || !pointers(reg))
}

// passed reports whether the slice passes through a statement.
func (o *Options) passed(n *wet.Node, stmt uint32) bool { return o.Brief && housekeeping(n, stmt) }

func (o *Options) followsFrom(n *wet.Node, stmt uint32, kind wet.DepKind, reg uint8) bool {
	return o.follows(kind, reg) && (kind <= wet.DepMemory || !o.passed(n, stmt))
}

// saved reports whether a register is one that functions leave unchanged.
func saved(reg uint8) bool {
	if reg >= rv.RegF {
		f := reg - rv.RegF
		return f == 8 || f == 9 || f >= 18 && f <= 27
	}
	return reg == regRA || reg == regFP || reg == 9 || reg >= 18 && reg <= 27
}

// housekeeping reports whether a statement saves or restores a register of the caller, or
// sets the frame pointer: it is in the same path, after the instruction that allocates
// the frame or before the one that releases it.
func housekeeping(n *wet.Node, stmt uint32) bool {
	if n.Kind != wet.NodePath {
		return false
	}
	i := n.Stmts[stmt].Inst
	access, _, mem := i.Mem()
	switch {
	case i.Rs1 != regSP:
		return false
	case mem && access == event.Write:
		return saved(source(i)) && opens(n, stmt) && !definedBefore(n, stmt, source(i))
	case mem:
		rd, ok := i.Dest()
		return ok && saved(rd) && closes(n, stmt)
	}
	return i.Op == rv.OpADDI && i.Rd == regFP && opens(n, stmt)
}

// opens reports whether a frame is made before a statement of the path.
func opens(n *wet.Node, stmt uint32) bool {
	return slices.ContainsFunc(n.Stmts[:stmt], func(s wet.Stmt) bool { return adjusts(s.Inst) && s.Inst.Imm < 0 })
}

// closes reports whether a frame is given up after a statement of the path.
func closes(n *wet.Node, stmt uint32) bool {
	return slices.ContainsFunc(n.Stmts[stmt+1:], func(s wet.Stmt) bool { return adjusts(s.Inst) && s.Inst.Imm > 0 })
}

func adjusts(i rv.Inst) bool { return i.Op == rv.OpADDI && i.Rd == regSP && i.Rs1 == regSP }

// definedBefore reports whether the path defines a register before a statement.
func definedBefore(n *wet.Node, stmt uint32, reg uint8) bool {
	return slices.ContainsFunc(n.Stmts[:stmt], func(s wet.Stmt) bool { return s.Inst.Defs().Has(int(reg)) })
}

// hide removes the statements that are nothing but housekeeping, except for those of the
// criterion.
func (s *Slice) hide() {
	begun := map[place]bool{}
	for _, i := range s.criterion {
		begun[placeOf(i)] = true
	}
	kept := s.places[:0]
	s.hidden = map[place]bool{}
	for _, p := range s.places {
		if !begun[p] && housekeeping(s.g.Node(p.node), p.stmt) {
			s.hidden[p] = true
			s.count -= s.set(p).len(p.stmt)
			continue
		}
		kept = append(kept, p)
	}
	s.places = kept
}

// past replaces the links that lead to or from hidden statements by links that skip them,
// from each producer to each user. Such a link has the count of the link that it ends
// with.
func (s *Slice) past(links tally) tally {
	if len(s.hidden) == 0 {
		return links
	}
	into := map[place][]link{} // of hidden statements
	for l := range links {
		if s.hidden[l.to] {
			into[l.to] = append(into[l.to], l)
		}
	}
	out := make(tally, len(links))
	for l, count := range links {
		switch {
		case s.hidden[l.to]:
		case !s.hidden[l.from]:
			out[l] += count
		default:
			s.origins(l.from, into, map[place]bool{}, l.kind, func(from place, kind wet.DepKind) {
				if l.kind != wet.DepControl {
					out[link{from, l.to, kind, l.reg}] += count
				}
			})
		}
	}
	return out
}

// origins returns the producers of what passes through a hidden statement, and whether a
// path leads through memory of another thread.
func (s *Slice) origins(p place, into map[place][]link, seen map[place]bool, kind wet.DepKind, tell func(place, wet.DepKind)) {
	if seen[p] {
		return
	}
	seen[p] = true
	list := slices.Clone(into[p])
	slices.SortFunc(list, func(a, b link) int {
		return cmp.Or(a.from.compare(b.from), cmp.Compare(a.kind, b.kind), cmp.Compare(a.reg, b.reg))
	})
	for _, l := range list {
		switch {
		case l.kind == wet.DepControl || l.kind == wet.DepExit: // why it was saved is why the function ran
		case s.hidden[l.from]:
			s.origins(l.from, into, seen, kind, tell)
		default:
			tell(l.from, kind)
		}
	}
}
