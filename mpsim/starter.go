package mpsim

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// When the function of a thread has returned, the C library cleans up for itself: it
// releases what it kept for the thread, and reads blocks that the program has freed. In a
// static program the function that does this has a symbol (and a row in the table of
// hooks). A shared C library has no symbol for it. There it is recognised by its structure:
// code without a symbol that the starter of threads, which has no symbol either, calls
// directly, and that calls nothing unknown.

// starterCalls is called when library code with return address ret, in the first function
// of a thread, calls the thread's function.
func (m *Machine) starterCalls(ret uint64) {
	img := m.cfg.Image.At(ret)
	hooks, ok := m.cfg.Hooks.(SharedHooks)
	if !ok || m.starter != 0 || img == nil || !img.System() {
		return
	}
	m.starter = ret
	const most = 128 // number of the starter's instructions to examine after the call
	pc := ret
	for n := 0; n < most; {
		b := rv.Scan(pc, m.fetch, 0)
		if len(b.Insts) == 0 {
			break
		}
		if b.End == event.EndCall && m.housekeeping(img, b.Target) {
			m.code.hooks[b.Target] = hooks.Housekeeping()
			m.space.InvalidateCode()
		}
		n += len(b.Insts)
		pc += uint64(b.Bytes)
	}
}

// setsID is called before the C library's handler of [linux.SetID] runs. The handler works
// on data on the stack of the thread that sets an id, and orders nothing for the program.
// In a static program it has a symbol.
func (m *Machine) setsID(handler uint64) {
	img := m.cfg.Image.At(handler)
	hooks, ok := m.cfg.Hooks.(SharedHooks)
	if !ok || img == nil || !img.System() {
		return
	}
	if _, known := m.code.hooks[handler]; !known {
		m.code.hooks[handler] = hooks.Housekeeping()
		m.space.InvalidateCode()
	}
}

// housekeeping reports whether the function at entry has no symbol, and calls other
// functions but none outside its own code that lacks a symbol. It looks only at the first
// blocks, since the end of the function is unknown.
func (m *Machine) housekeeping(img *image.Image, entry uint64) bool {
	if _, named := img.Func(entry); named || !img.Exec(entry) {
		return false
	}
	const most = 64 // number of blocks
	calls := false
	seen, todo := map[uint64]bool{}, []uint64{entry}
	for len(todo) > 0 && len(seen) < most {
		pc := todo[0]
		todo = todo[1:]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		b := rv.Scan(pc, m.fetch, 0)
		next := pc + uint64(b.Bytes)
		switch {
		case len(b.Insts) == 0 || b.End == event.EndCallInd || b.End == event.EndIndirect || b.End == event.EndTrap:
			return false
		case b.End == event.EndCall:
			calls = true
			todo = append(todo, next)
		case b.End == event.EndJump:
			todo = append(todo, b.Target)
		case b.End == event.EndBranch:
			todo = append(todo, b.Target, next)
		case b.End != event.EndReturn:
			todo = append(todo, next)
		}
	}
	return calls
}
