package mpsim

import (
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// What the C library does when the function of a thread has returned, it does for
// itself: it returns what it kept for the thread, and reads blocks that the
// program has freed. In a static program that function has a name (and a row in
// the table of hooks); a shared C library does not tell it. It is found then by
// what it is: code without a name that the starter of threads, which has none
// either, calls directly, and that calls nothing it does not know.

// starterCalls is called when the code of a library at return address ret, which
// is the first function of a thread, calls the thread's function.
func (m *Machine) starterCalls(ret uint64) {
	img := m.cfg.Image.At(ret)
	hooks, ok := m.cfg.Hooks.(SharedHooks)
	if !ok || m.starter != 0 || img == nil || !img.System() {
		return
	}
	m.starter = ret
	const most = 128 // instructions of the starter's after the call
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

// setsID is called before the C library's handler of [linux.SetID] runs. It works
// on what is on the stack of the thread that sets an id, and orders nothing for the
// program. In a static program it has a name.
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

// housekeeping reports whether the function at entry is a nameless one that calls
// others, and none that its code does not name: in its first blocks, since where
// it ends nobody says.
func (m *Machine) housekeeping(img *image.Image, entry uint64) bool {
	if _, named := img.Func(entry); named || !img.Exec(entry) {
		return false
	}
	const most = 64 // blocks
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
