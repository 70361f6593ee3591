package slice

import (
	"cmp"
	"context"
	"slices"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// Potential dependences (T. Gyimóthy, Á. Beszédes and I. Forgács, "An Efficient
// Relevant Slicing Method for Debugging", ESEC/FSE 1999): a value may be wrong
// because something was not executed. A load depends potentially on a decision
// that was taken after what it reads was written, if the decision could have led
// to a store to the same variable. Which stores that are the code says, executed
// or not, in the function of the decision or in functions that it calls under it:
// for a global variable those whose address is computed from its address; of a variable
// in a frame those of its function at the same place of the frame, and those of
// its size through a pointer; of other memory those through a pointer with the
// same offset and size, as a field of a structure has.

// potential finds them in a program.
type potential struct {
	g        Graph
	prog     *cfg.Program
	img      *image.Space
	gp       uint64
	deciders map[target][]cfg.Ref
}

// target is where a store goes, as far as the code shows: to a global variable, to a
// place in the frame of a function, or where a pointer leads.
type target struct {
	object uint64 // address of the variable; 0: none
	frame  uint32 // number of the function + 1; 0: not in a frame
	reg    uint8  // in a frame: the stack or frame pointer
	size   uint8
	offset int32
}

// throughPointer is where a pointer leads.
func throughPointer(offset int32, size uint8) target { return target{size: size, offset: offset} }

// inFrame returns a place of a frame that an instruction of a function accesses; ok is
// false when its base is neither the stack nor the frame pointer.
func inFrame(fn uint32, i rv.Inst, size uint8) (t target, ok bool) {
	return target{frame: fn + 1, reg: i.Rs1, size: size, offset: i.Imm}, i.Rs1 == regSP || i.Rs1 == regFP
}

// storeSite is a block that may store to a target, or that calls a function that may.
type storeSite struct {
	block cfg.Ref
	to    target
}

func newPotential(g Graph, prog *cfg.Program, img *image.Space) *potential {
	p := &potential{g: g, prog: prog, img: img, deciders: map[target][]cfg.Ref{}, gp: globalPointer(prog, img)}
	calls := map[uint64][]cfg.Ref{} // blocks of the program's own functions that call a function
	var sites []storeSite
	for f := range uint32(prog.NumFuncs()) {
		blocks := prog.Func(f).Blocks()
		if len(blocks) == 0 || !img.User(blocks[0].PC) {
			continue
		}
		for b := range blocks {
			ref := cfg.Ref{Func: f, Block: uint32(b)}
			if blocks[b].End == event.EndCall {
				calls[blocks[b].Target] = append(calls[blocks[b].Target], ref)
			}
			for _, o := range p.storesOf(ref) {
				sites = append(sites, storeSite{ref, o})
			}
		}
	}
	seen := map[storeSite]bool{}
	for len(sites) > 0 {
		s := sites[len(sites)-1]
		sites = sites[:len(sites)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		p.decide(s, map[cfg.Ref]bool{})
		if s.to.frame != 0 {
			continue
		}
		entry := prog.Func(s.block.Func).Blocks()[0].PC
		for _, c := range calls[entry] {
			sites = append(sites, storeSite{c, s.to})
		}
	}
	return p
}

// globalPointer returns the value to which the start-up code sets the global pointer, or
// 0 if that is not found.
func globalPointer(prog *cfg.Program, img *image.Space) uint64 {
	for _, name := range [...]string{"load_gp", "_start"} {
		s, ok := img.Lookup(name)
		if !ok {
			continue
		}
		if ref, ok := prog.Find(s.Addr); ok {
			if gp := globalPointerSet(prog, ref.Func); gp != 0 {
				return gp
			}
		}
	}
	return 0
}

// globalPointerSet returns what a function sets the global pointer to; 0: it does not.
func globalPointerSet(prog *cfg.Program, fn uint32) (gp uint64) {
	for b := range prog.Func(fn).Blocks() {
		ref := cfg.Ref{Func: fn, Block: uint32(b)}
		pc := prog.Block(ref).PC
		for _, i := range prog.Insts(ref) {
			if rd, ok := i.Dest(); ok && rd == regGP {
				if v, static := i.Static(pc); static {
					gp = v
				} else if i.Op == rv.OpADDI && i.Rs1 == regGP {
					return gp + uint64(int64(i.Imm))
				}
			}
			pc += uint64(i.Len)
		}
	}
	return 0
}

// decide notes the blocks that decide whether a site runs, near and far.
func (p *potential) decide(s storeSite, seen map[cfg.Ref]bool) {
	for _, d := range p.prog.Deciders(s.block) {
		if seen[d] {
			continue
		}
		seen[d] = true
		if !slices.Contains(p.deciders[s.to], d) {
			p.deciders[s.to] = append(p.deciders[s.to], d)
		}
		p.decide(storeSite{d, s.to}, seen)
	}
}

// storesOf returns the targets of a block's stores, as far as the block shows: registers
// are followed from the address of a variable through sums.
func (p *potential) storesOf(ref cfg.Ref) (list []target) {
	type held struct {
		value  uint64
		exact  bool
		object uint64 // 0: none
	}
	var regs [32]held
	regs[regGP] = held{value: p.gp, exact: p.gp != 0}
	object := func(addr uint64) uint64 {
		if s, _, ok := p.img.Object(addr); ok && p.img.UserObject(addr) {
			return s.Addr
		}
		return 0
	}
	pc := p.prog.Block(ref).PC
	for _, i := range p.prog.Insts(ref) {
		access, size, mem := i.Mem()
		if base := regs[i.Rs1]; mem && access == event.Write {
			o := base.object
			if base.exact {
				o = cmp.Or(object(base.value+uint64(int64(i.Imm))), o)
			}
			if o != 0 {
				list = append(list, target{object: o})
			} else if !base.exact {
				list = append(list, p.unnamed(ref.Func, i, size)...)
			}
		}
		if rd, ok := i.Dest(); ok && rd != 0 && rd < 32 {
			var to held
			switch v, static := i.Static(pc); {
			case static:
				to = held{v, true, object(v)}
			case i.Op == rv.OpADDI:
				to = regs[i.Rs1]
				to.value += uint64(int64(i.Imm))
				if to.exact {
					to.object = cmp.Or(object(to.value), to.object)
				}
			case i.Op == rv.OpADD:
				to.object = cmp.Or(regs[i.Rs1].object, regs[i.Rs2].object)
			}
			regs[rd] = to
		}
		pc += uint64(i.Len)
	}
	slices.SortFunc(list, target.compare)
	return slices.Compact(list)
}

func (t target) compare(u target) int {
	return cmp.Or(cmp.Compare(t.object, u.object), cmp.Compare(t.frame, u.frame), cmp.Compare(t.reg, u.reg), cmp.Compare(t.size, u.size), cmp.Compare(t.offset, u.offset))
}

// unnamed returns the targets of a store that is not to a global variable. The frame
// pointer may be an ordinary register.
func (p *potential) unnamed(fn uint32, i rv.Inst, size uint8) (list []target) {
	if t, ok := inFrame(fn, i, size); ok {
		list = append(list, t)
	}
	if i.Rs1 != regSP {
		list = append(list, throughPointer(i.Imm, size))
	}
	return list
}

// targetsOf returns the targets of stores that a load may read from.
func (p *potential) targetsOf(n *wet.Node, load wet.Instance, addr uint64, size uint8) []target {
	if o, _, ok := p.img.Object(addr); ok {
		return []target{{object: o.Addr}}
	}
	s := &n.Stmts[load.Stmt]
	ref, ok := p.prog.Find(s.PC)
	if !ok || !p.img.User(s.PC) {
		return nil
	}
	list := p.unnamed(ref.Func, s.Inst, size)
	if _, frame := inFrame(ref.Func, s.Inst, size); frame { // its address may have been passed on
		list = append(list, throughPointer(0, size))
	}
	return list
}

// of calls tell with the decisions on which a load depends potentially, the last
// execution of each since what it reads was written.
func (p *potential) of(load wet.Instance, tell func(wet.Instance)) error {
	n := p.g.Node(load.Node)
	if n.Kind != wet.NodePath {
		return nil
	}
	access, size, mem := n.Stmts[load.Stmt].Inst.Mem()
	if !mem || access != event.Read || housekeeping(n, load.Stmt) {
		return nil
	}
	addr, _, ok, err := p.g.Addr(load)
	if err != nil || !ok {
		return err
	}
	var deciders []cfg.Ref
	for _, t := range p.targetsOf(n, load, addr, size) {
		for _, d := range p.deciders[t] {
			if !slices.Contains(deciders, d) {
				deciders = append(deciders, d)
			}
		}
	}
	if len(deciders) == 0 {
		return nil
	}
	end, err := orderOf(p.g, load)
	if err != nil {
		return err
	}
	var began moment
	for d, err := range p.g.Deps(load) {
		if err != nil {
			return err
		}
		if d.Kind == wet.DepMemory {
			at, err := orderOf(p.g, d.From)
			if err != nil {
				return err
			}
			if m := (moment{at, d.From}); m.after(&began) {
				began = m
			}
		}
	}
	for _, d := range deciders {
		b := p.prog.Block(d)
		last, ok, err := p.lastBetween(b.Next(), d, began, end, load)
		if err != nil {
			return err
		}
		if ok && last != load {
			tell(last)
		}
	}
	return nil
}

// moment is an instance and the order of its path execution. The zero value is before the
// run.
type moment struct {
	order uint64
	at    wet.Instance
}

// after reports whether m comes after n: in a later execution, or later in the same one.
func (m *moment) after(n *moment) bool {
	if m.order != n.order {
		return m.order > n.order
	}
	return m.order > 0 && m.at.Thread == n.at.Thread && m.at.Node == n.at.Node && m.at.Stmt > n.at.Stmt
}

// lastBetween returns the last execution of a block's last instruction between two
// positions of the run.
func (p *potential) lastBetween(next uint64, d cfg.Ref, began moment, end uint64, load wet.Instance) (best wet.Instance, ok bool, err error) {
	insts := p.prog.Insts(d)
	pc := next - uint64(insts[len(insts)-1].Len)
	latest := began
	for _, at := range placesOf(p.g, []uint64{pc}, AllThreads) {
		k, err := executionsTo(p.g, at, end)
		if err != nil {
			return best, false, err
		}
		if k == 0 {
			continue
		}
		o, err := orderOf(p.g, at.instance(k-1))
		if err != nil {
			return best, false, err
		}
		own := o == end && at.thread == load.Thread && at.node == load.Node && at.stmt < load.Stmt
		if o == end && !own && k > 1 { // after the load: the one before
			k--
			if o, err = orderOf(p.g, at.instance(k-1)); err != nil {
				return best, false, err
			}
		}
		if m := (moment{o, at.instance(k - 1)}); m.after(&latest) && (o < end || own) {
			latest, best, ok = m, m.at, true
		}
	}
	return best, ok, nil
}

// relevantRounds and relevantLoads limit the work of a relevant slice: how often
// decisions lead to further ones, and the loads of a statement each time.
const (
	relevantRounds = 4
	relevantLoads  = 64
)

// Relevant computes a backward slice with potential dependences: the slice of the
// criterion, with the decisions on which its loads depend potentially and what led to
// those. img is the program. opts.Flow must be set.
func Relevant(ctx context.Context, g Graph, img *image.Space, criterion []wet.Instance, opts Options) (*Slice, error) {
	p := newPotential(g, opts.Flow, img)
	roots := slices.Clone(criterion)
	links := tally{}
	seen := map[wet.Instance]bool{}
	for round := 0; ; round++ {
		opts.extra = links
		s, err := Compute(ctx, g, roots, opts)
		if err != nil || round == relevantRounds {
			return s.begunAt(criterion), err
		}
		grew := false
		for n := range s.Statements() {
			left := relevantLoads
			for load := range s.Of(n) {
				left--
				if left < 0 {
					break
				}
				if seen[load] {
					continue
				}
				seen[load] = true
				err := p.of(load, func(by wet.Instance) {
					links[link{placeOf(by), placeOf(load), wet.DepPotential, 0}]++
					if !s.Has(by) && !slices.Contains(roots, by) {
						roots = append(roots, by)
						grew = true
					}
				})
				if err != nil {
					return nil, err
				}
			}
		}
		if !grew {
			opts.extra = links
			s, err = Compute(ctx, g, roots, opts)
			return s.begunAt(criterion), err
		}
	}
}

// begunAt returns what a slice began with, if that is not all of its roots.
func (s *Slice) begunAt(criterion []wet.Instance) *Slice {
	if s != nil {
		s.criterion = slices.Clone(criterion)
	}
	return s
}
