package mpsim

import (
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// author is who wrote an operation of std::atomic: the program, or the C++ library inside
// one of its own functions (std::atomic<std::shared_ptr>, a latch). In the latter case the
// promise of that function counts, not the memory orders that it uses.
type author uint8

const (
	byUnknown author = iota // not yet known: a function of std::atomic that another function calls
	byProgram
	byLibrary
)

// promised reports whether the atomic access with order s is part of a library function
// that itself guarantees order to its caller.
func (h *Hart) promised(s *sourceOrder) bool {
	by := s.by
	const deepest = 16 // maximum nesting of std::atomic functions
	for n := 0; by == byUnknown && n < deepest; n++ {
		ret, ok := h.Return(n)
		if !ok {
			break
		}
		by = h.m.author(ret - 1)
	}
	return by == byLibrary
}

// author returns who wrote the call or access at pc. It caches the answers.
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

// authorOf searches from the innermost frame outward, through std::atomic.
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

// ofAtomic reports whether a function or class of namespace std only passes on the memory
// order that its caller specifies.
func ofAtomic(name string) bool {
	name = strings.TrimPrefix(name, "__1::") // of libc++
	return strings.HasPrefix(name, waiting) || (strings.HasPrefix(name, "atomic") || strings.HasPrefix(name, "__atomic_") || strings.HasPrefix(name, "__cxx_atomic_")) &&
		!strings.HasPrefix(name, "__atomic_semaphore")
}

// waiting is the namespace, within std, of the implementation of std::atomic::wait and
// similar functions.
const waiting = "__detail"

// waits reports whether the code at pc belongs to the C++ library's machinery for waiting.
// That machinery, inlined into the program's code, counts the waiting threads and calls the
// futex. None of it orders anything for the program ([atomics.wait]); only the loads of the
// atomic object do.
func (m *Machine) waits(pc uint64) bool {
	frames := m.cfg.Image.Frames(pc)
	if len(frames) == 0 || frames[0].Linkage == "" {
		return false
	}
	return strings.HasPrefix(mangledScope(frames[0].Linkage), "std::"+waiting)
}

// countsOwners reports whether the atomic access at pc, in a library, changes the number of
// owners of an exception ([propagation]).
func (m *Machine) countsOwners(pc uint64) bool {
	f, ok := m.cfg.Image.Func(pc)
	return ok && (strings.HasPrefix(f.Name, "_ZNSt15__exception_ptr13exception_ptr") || strings.HasPrefix(f.Name, "_ZSt17rethrow_exception") ||
		strings.HasPrefix(f.Name, "_ZL23__gxx_exception_cleanup") || strings.HasPrefix(f.Name, "_ZL33__gxx_dependent_exception_cleanup"))
}

// ownersMode returns what adding change to the count of owners orders. As with shared_ptr,
// each release of an owner is ordered before the release of the last one, and nothing else
// is.
func ownersMode(old, change uint64) event.Mode {
	switch {
	case int64(change) >= 0:
		return 0
	case old+change == 0:
		return acquireRelease
	}
	return event.Release
}

// mangledScope converts the start of a mangled C++ name to the notation of the source, as
// far as namespace std is concerned. The rest begins with the first class or function in
// std.
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
	rest = strings.TrimPrefix(strings.TrimLeft(rest, "L"), "3__1") // libc++ puts everything into an inline namespace
	return "std::" + strings.TrimLeft(rest, "0123456789")
}
