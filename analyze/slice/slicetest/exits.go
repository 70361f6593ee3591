package slicetest

import (
	"slices"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// Exits returns a statement's dependences on decisions that ended loops, from the
// definition. For each value that it uses of a statement in a loop that does not contain
// it, that is the statement after which the frame of the definition was next outside the
// loop. A constant does not count, and memory only counts if the loop has one place for
// it.
func (l *Log) Exits(to int) (deps []Dep) {
	for _, d := range l.stmts[to].Deps {
		if d.Kind != wet.DepRegister && d.Kind != wet.DepMemory {
			continue
		}
		for _, e := range l.ends(d, to) {
			if x := (Dep{Kind: wet.DepExit, From: e}); !slices.Contains(deps, x) {
				deps = append(deps, x)
			}
		}
	}
	return deps
}

// ends returns the decisions for one dependence, from inner loops to outer ones, up to
// one that the use is in or that had not ended when the use ran.
func (l *Log) ends(d Dep, to int) (ends []int) {
	from, use := &l.stmts[d.From], &l.stmts[to]
	if from.Kind != wet.NodePath || !from.Known {
		return nil
	}
	if _, constant := from.Inst.Static(from.PC); constant && d.Kind == wet.DepRegister {
		return nil
	}
	loops := slices.Clone(l.prog.Func(from.Block.Func).Loops())
	slices.SortStableFunc(loops, func(a, b *cfg.Loop) int { return len(a.Blocks) - len(b.Blocks) })
	for _, loop := range loops {
		if !loop.Has(int(from.Block.Block)) || d.Kind == wet.DepMemory && !l.onePlace(from, loop) {
			continue
		}
		if use.Kind == wet.NodePath && use.Known && use.Block.Func == from.Block.Func && loop.Has(int(use.Block.Block)) {
			return ends
		}
		end := l.end(d.From, loop)
		if end < 0 || end >= to {
			return ends
		}
		ends = append(ends, end)
	}
	return ends
}

// end returns the last statement of the frame of statement n before it is outside a loop,
// or -1 if it never is.
func (l *Log) end(n int, loop *cfg.Loop) int {
	from, last := l.stmts[n], n
	for ; n < len(l.stmts); n++ {
		s := &l.stmts[n]
		switch {
		case s.Thread == from.Thread && s.Kind != wet.NodePath && s.Kind != wet.NodeCall:
			return -1
		case s.Frame != from.Frame || s.Kind != wet.NodePath:
		case !s.Known || s.Block.Func != from.Block.Func:
			return -1
		case !loop.Has(int(s.Block.Block)):
			return last
		default:
			last = n
		}
	}
	return -1
}

// onePlace reports whether a store goes to the same place in each turn of a loop:
// nothing in the loop changes its base register, or its block makes that from
// nothing.
func (l *Log) onePlace(s *Statement, loop *cfg.Loop) bool {
	base := int(s.Inst.Rs1)
	constant := map[int]bool{}
	pc := l.prog.Block(s.Block).PC
	for _, i := range l.prog.Insts(s.Block) {
		if pc == s.PC {
			break
		}
		if rd, ok := i.Dest(); ok {
			_, static := i.Static(pc)
			constant[int(rd)] = static || i.Op == rv.OpADDI && constant[int(i.Rs1)]
		}
		pc += uint64(i.Len)
	}
	if constant[base] {
		return true
	}
	kept := base >= 2 && base <= 4 || base == 8 || base == 9 || base >= 18 && base <= 27
	for _, b := range loop.Blocks {
		ref := cfg.Ref{Func: s.Block.Func, Block: uint32(b)}
		if end := l.prog.Block(ref).End; !kept && (end == event.EndCall || end == event.EndCallInd) {
			return false
		}
		for _, i := range l.prog.Insts(ref) {
			if i.Defs().Has(base) {
				return false
			}
		}
	}
	return true
}
