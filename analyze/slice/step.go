package slice

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Relation says what a dependence means for the dependent statement.
type Relation uint8

// Relations, the closest first (M. Sridharan, S. J. Fink and R. Bodík, "Thin
// Slicing", PLDI 2007: a value first, before the address it was found at and
// the decisions that led there).
const (
	ByValue    Relation = iota // it computes with the value, or passes it on
	ByEnd                      // it ended a loop, and so determined which value this is
	ByControl                  // it ran because of it
	ByAddress                  // it accesses memory there
	ByOrder                    // it came later because of it
	ByOmission                 // it could have led to another write of what is read
)

// Relate returns the meaning of a dependence of an instruction, by its kind and, for a
// register, by which register it is.
func Relate(user rv.Inst, kind wet.DepKind, reg uint8) Relation {
	switch kind {
	case wet.DepControl:
		return ByControl
	case wet.DepExit:
		return ByEnd
	case wet.DepSync:
		return ByOrder
	case wet.DepPotential:
		return ByOmission
	case wet.DepMemory:
		return ByValue
	}
	access, _, mem := user.Mem()
	if !mem && !user.Atomic() || reg != user.Rs1 {
		return ByValue
	}
	if (user.Atomic() || access == event.Write) && user.Rs2 == reg && !user.StoresFloat() {
		return ByValue // it stores its own address
	}
	return ByAddress
}

// Deps returns the dependences of an instance that a slice with these options follows
// backward, including the decisions that ended loops.
func (f *Follower) Deps(i wet.Instance, tell func(wet.Dep) error) error {
	var ended []wet.Instance
	for d, err := range f.g.Deps(i) {
		if err != nil {
			return err
		}
		if !f.opts.followsFrom(f.g.Node(i.Node), i.Stmt, d.Kind, d.Reg) || f.opts.OneThread && d.From.Thread != i.Thread {
			continue
		}
		if err := tell(d); err != nil {
			return err
		}
		if f.exits == nil || f.Passed(i) {
			continue
		}
		err := f.exits.decided(d.From, d.To, d.Kind, func(e wet.Instance) error {
			for _, known := range ended {
				if known == e {
					return nil
				}
			}
			ended = append(ended, e)
			return tell(wet.Dep{Kind: wet.DepExit, From: e, To: i})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Follower follows dependences as a slice does, one instance at a time.
type Follower struct {
	g     Graph
	opts  Options
	exits *exits
}

// Follower returns a Follower of what the slice followed.
func (s *Slice) Follower() *Follower { return &Follower{s.g, s.opts, s.exits} }

// Passed reports whether a brief slice passes through an instance without counting it.
func (f *Follower) Passed(i wet.Instance) bool {
	return f.opts.passed(f.g.Node(i.Node), i.Stmt)
}

// VariableOf returns the variable that an instance writes, as named in the source: a
// local one in a register or on the stack, or a global one. It returns "" if the debug
// information has none.
func VariableOf(img *image.Space, g Graph, i wet.Instance) string {
	s := &g.Node(i.Node).Stmts[i.Stmt]
	if g.Node(i.Node).Kind != wet.NodePath {
		return ""
	}
	access, _, mem := s.Inst.Mem()
	if mem && access == event.Write || s.Inst.Atomic() {
		for _, l := range img.Locals(s.PC) {
			if l.Memory && mem && overlaps(s.Inst, l) {
				return l.Name
			}
		}
		addr, size, ok, err := g.Addr(i)
		if err != nil || !ok {
			return ""
		}
		if o, _, ok := img.Object(addr); ok && img.UserObject(addr) {
			if path := img.ObjectPathSize(addr, uint64(size)); path != "" {
				return path
			}
			return o.Demangled()
		}
		return ""
	}
	rd, ok := s.Inst.Dest()
	if !ok || s.Inst.End() != event.EndFall {
		return ""
	}
	for _, l := range img.Locals(s.PC + uint64(s.Inst.Len)) {
		if !l.Memory && l.Reg == rd {
			return l.Name
		}
	}
	return ""
}
