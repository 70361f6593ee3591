package mpsim

import (
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// author is who wrote an operation of std::atomic: the program, or the C++ library
// inside another of its functions (std::atomic<std::shared_ptr>, a latch), whose
// promise counts and not the orders that it uses.
type author uint8

const (
	byUnknown author = iota // nobody yet: a function of std::atomic, which another calls
	byProgram
	byLibrary
)

// promised reports whether the atomic access of that order is part of a function of
// a library that orders for its caller by itself.
func (h *Hart) promised(s *sourceOrder) bool {
	by := s.by
	const deepest = 16 // functions of std::atomic around each other
	for n := 0; by == byUnknown && n < deepest; n++ {
		ret, ok := h.Return(n)
		if !ok {
			break
		}
		by = h.m.author(ret - 1)
	}
	return by == byLibrary
}

// author says who wrote the call or access at pc, remembering the answers.
func (m *Machine) author(pc uint64) author {
	by, known := m.authors[pc]
	if !known {
		by = authorOf(m.cfg.Image.Frames(pc))
		if m.authors == nil {
			m.authors = map[uint64]author{}
		}
		m.authors[pc] = by
	}
	return by
}

// authorOf goes from the innermost frame outward, through std::atomic.
func authorOf(frames []image.Frame) author {
	for i := range frames {
		name := frames[i].Function
		if frames[i].Linkage != "" {
			name = mangledScope(frames[i].Linkage)
		}
		rest, ok := strings.CutPrefix(name, "std::")
		if !ok && !strings.HasPrefix(name, "__gnu_cxx::") {
			return byProgram
		}
		if !ofAtomic(rest) {
			return byLibrary
		}
	}
	return byUnknown
}

// ofAtomic reports whether a function or class of namespace std only hands on the
// order that its caller passes.
func ofAtomic(name string) bool {
	name = strings.TrimPrefix(name, "__1::") // of libc++
	return strings.HasPrefix(name, waiting) || (strings.HasPrefix(name, "atomic") || strings.HasPrefix(name, "__atomic_") || strings.HasPrefix(name, "__cxx_atomic_")) &&
		!strings.HasPrefix(name, "__atomic_semaphore")
}

// waiting is the namespace, in std, of what std::atomic::wait and its likes are made
// of.
const waiting = "__detail"

// waits says whether the code at pc is of the C++ library's machinery for waiting
// itself: it counts who waits, and calls the futex, in the program's code. None of that orders
// anything for the program ([atomics.wait]): only the loads of the atomic object do.
func (m *Machine) waits(pc uint64) bool {
	frames := m.cfg.Image.Frames(pc)
	if len(frames) == 0 || frames[0].Linkage == "" {
		return false
	}
	return strings.HasPrefix(mangledScope(frames[0].Linkage), "std::"+waiting)
}

// countsOwners says whether the atomic access at pc, in a library, changes the
// number of owners of an exception ([propagation]).
func (m *Machine) countsOwners(pc uint64) bool {
	f, ok := m.cfg.Image.Func(pc)
	return ok && (strings.HasPrefix(f.Name, "_ZNSt15__exception_ptr13exception_ptr") || strings.HasPrefix(f.Name, "_ZSt17rethrow_exception") ||
		strings.HasPrefix(f.Name, "_ZL23__gxx_exception_cleanup") || strings.HasPrefix(f.Name, "_ZL33__gxx_dependent_exception_cleanup"))
}

// ownersMode is what adding change to the count of owners orders: each release of
// one before the release of the last one, and nothing else, as with a shared_ptr.
func ownersMode(old, change uint64) event.Mode {
	switch {
	case int64(change) >= 0:
		return 0
	case old+change == 0:
		return acquireRelease
	}
	return event.Release
}

// mangledScope writes the start of a C++ function's name in the linker's spelling
// as the source has it, as far as namespace std is concerned: what is after that is
// the first class or function there.
func mangledScope(linkage string) string {
	name, ok := strings.CutPrefix(linkage, "_Z")
	if !ok {
		return linkage
	}
	name = strings.TrimLeft(name, "ZNVKRO")
	if rest, ok := strings.CutPrefix(name, "9__gnu_cxx"); ok {
		return "__gnu_cxx::" + rest
	}
	rest, ok := strings.CutPrefix(name, "St")
	if !ok {
		return linkage
	}
	rest = strings.TrimPrefix(strings.TrimLeft(rest, "L"), "3__1") // libc++ has all in an inline namespace
	return "std::" + strings.TrimLeft(rest, "0123456789")
}
