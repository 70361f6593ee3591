package replay

import "hindsight/analyze/place"

// Business says which accesses are the program's business; of the zero value
// all are.
type Business struct {
	program  place.Program        // nil: everything is
	muted    func(pc uint64) bool // nil: nothing is
	borrowed func(pc uint64) bool // likewise: a library's inline function
}

// NewBusiness is that of a program; nil: everything is the user's.
func NewBusiness(p place.Program) Business {
	b := Business{program: p}
	if r, ok := p.(interface{ Runtime(pc uint64) bool }); ok {
		b.muted = r.Runtime
	}
	if r, ok := p.(interface{ Borrowed(pc uint64) bool }); ok {
		b.borrowed = r.Borrowed
	}
	return b
}

// User says whether an instruction is the user's code.
func (b *Business) User(pc uint64) bool {
	return b.program == nil || b.program.User(pc) && (b.borrowed == nil || !b.borrowed(pc))
}

// Muted says whether an instruction is in a runtime (libgomp) whose
// synchronisation is recorded as events: its plain accesses never count.
func (b *Business) Muted(pc uint64) bool { return b.muted != nil && b.muted(pc) }

// Counts says whether an access by the instruction at pc, which is not muted,
// to addr is the program's business, when memory is as it is after the access's
// unit.
func (b *Business) Counts(memory *place.Map, pc, addr uint64) bool {
	return b.User(pc) || memory.User(b.program, addr)
}

// CountsUntil is the same for code that is not the user's, and says where what
// was looked at ends: the answer is the same from addr up to there.
func (b *Business) CountsUntil(memory *place.Map, addr uint64) (counts bool, end uint64) {
	return memory.UserUntil(b.program, addr)
}
