package debug

import (
	"encoding/binary"
	"path"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Frame is a call in progress.
type Frame struct {
	PC uint64 // of the next instruction or, in a caller, of the one after the call
	X  [32]uint64
	// Address is the canonical frame address: the caller's stack pointer at the call. It is
	// 0 if it is unknown.
	Address uint64
	Thread  event.ThreadID
	F       *[32]uint64 // floating-point registers; nil in a caller
	inner   bool
}

// maxFrames bounds the depth of a call stack.
const maxFrames = 256

// Registers with a purpose in calls and threads.
const (
	ra = 1
	sp = 2
	tp = 4
)

// Code returns an address within the code of the frame: that of its next instruction, or of
// the call in progress.
func (f *Frame) Code() uint64 {
	if f.inner {
		return f.PC
	}
	return f.PC - 1
}

// Stack returns the calls of a thread, innermost first, according to the program's call
// frame information.
func (d *Debugger) Stack(t event.ThreadID) []Frame {
	h := d.Replay.Thread(t)
	if h == nil {
		return nil
	}
	img := d.Journal().Image()
	f := Frame{PC: h.PC, X: h.X, Thread: t, F: &h.F, inner: true}
	var all []Frame
	for len(all) < maxFrames {
		m := img.At(f.Code())
		if m == nil || !m.Exec(f.Code()) {
			break
		}
		reg, offset, ok := m.FrameAddress(f.Code())
		if ok {
			f.Address = f.X[reg] + uint64(offset)
		}
		all = append(all, f)
		caller := Frame{X: f.X, Thread: t}
		kept := m.Kept(f.Code())
		for reg, at := range kept {
			if v, ok := d.word(f.Address + uint64(at)); ok {
				caller.X[reg] = v
			}
		}
		caller.PC, caller.X[sp] = caller.X[ra], f.Address
		if _, saved := kept[ra]; !ok || !saved && len(all) > 1 || caller.PC == 0 || f.Address < f.X[sp] {
			break
		}
		f = caller
	}
	return all
}

// word reads eight bytes of memory.
func (d *Debugger) word(addr uint64) (uint64, bool) {
	b := d.Memory(addr, 8)
	if len(b) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// FileName returns the path under which a debugger finds the file of a shared object.
func FileName(m *image.Image) string { return path.Clean("/" + m.Path) }

// Handle returns a number by which a debugger may refer to an image.
func Handle(m *image.Image) uint64 {
	if len(m.Segments) == 0 {
		return m.Base + 1
	}
	return m.Segments[0].Addr + 1
}

// ThreadLocals returns where a thread has the thread-local variables of an image. It
// reports false if the image has none, or they have not been allocated for the thread yet.
func (d *Debugger) ThreadLocals(t event.ThreadID, m *image.Image) (block uint64, ok bool) {
	h := d.Replay.Thread(t)
	low, module, early, ok := d.Journal().Image().TLSModule(m)
	if h == nil || !ok || h.X[tp] == 0 {
		return 0, false
	}
	if early {
		return h.X[tp] + low, true
	}
	// Before the thread pointer, glibc stores the address of its table of blocks. Each
	// entry has 16 bytes, of which the first 8 are the address.
	const table, row, unallocated = 16, 16, ^uint64(0)
	at, ok := d.word(h.X[tp] - table)
	if !ok {
		return 0, false
	}
	block, ok = d.word(at + row*uint64(module))
	return block, ok && block != 0 && block != unallocated
}

// Memory reads memory at addr, up to the end of what is mapped.
func (d *Debugger) Memory(addr uint64, size int) []byte {
	b := make([]byte, size)
	return b[:d.Space().Content(addr, b)]
}
