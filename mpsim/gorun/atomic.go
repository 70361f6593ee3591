package gorun

import (
	"strings"

	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// meaning is what an atomic access by an instruction means.
type meaning struct {
	kind   meaningKind
	method string // for kinds that stand for methods
	inner  bool   // another method may call the instruction; see outer
}

type meaningKind uint8

const (
	atomicAccess meaningKind = iota // the access itself
	nothing                         // internal to the runtime, or in a function that is hooked
	asCaller                        // the access itself if recorded code, or package sync, called for it
	mutex                           // the state of a mutex changes
	rwmutex                         // the same for an RWMutex
	waitGroup                       //
)

// methods says what the atomic accesses in methods of package sync mean. They may be in
// other functions, into which the method was inlined.
var methods = []struct {
	prefix string
	kind   meaningKind
}{
	{"sync.(*RWMutex).", rwmutex},
	{"internal/sync.(*Mutex).", mutex},
	{"sync.(*Mutex).", mutex}, // before go1.24
	{"sync.(*WaitGroup).", waitGroup},
	{"sync.(*Pool).", nothing}, {"sync.(*poolChain", nothing}, {"sync.(*poolDequeue", nothing}, {"sync.poolCleanup", nothing},
	{"sync.indexLocal", nothing}, {"sync.loadPoolChainElt", nothing}, {"sync.storePoolChainElt", nothing},
	{"sync.(*Cond).", nothing}, {"sync.(*copyChecker).", nothing},
}

// meaningOf returns the meaning of the atomic access at pc. The outermost method whose code
// contains it decides.
func (k *Hooks) meaningOf(pc uint64) meaning {
	if m, ok := k.atomics[pc]; ok {
		return m
	}
	m := meaning{kind: atomicAccess}
	f := k.function(pc)
	switch {
	case strings.HasPrefix(f.name, "sync/atomic."):
	case f.pkg == "internal/runtime/atomic" || f.pkg == "runtime/internal/atomic":
		m.kind = asCaller
	case f.runtime:
		m.kind = nothing
	}
	names := []string{}
	for _, frame := range k.img.Frames(pc) {
		names = append(names, frame.Function)
	}
	if len(names) == 0 {
		names = append(names, f.name)
	}
	for i := len(names) - 1; i >= 0 && m.method == ""; i-- {
		for _, row := range methods {
			if method, ok := strings.CutPrefix(names[i], row.prefix); ok {
				m.kind, m.method = row.kind, method
				m.inner = i == len(names)-1
				break
			}
		}
	}
	k.atomics[pc] = m
	return m
}

// Atomic implements [mpsim.FiberHooks].
func (k *Hooks) Atomic(h *mpsim.Hart, e *event.Event, old, now uint64) bool {
	m := k.meaningOf(e.PC)
	if m.kind == nothing || k.running[h.ID()] == nil {
		return false
	}
	muted := k.Code(e.PC) != mpsim.Recorded
	if m.kind == asCaller {
		ret, ok := h.Return(0)
		if !ok {
			return false
		}
		by := k.function(ret - 1)
		if by.runtime && !strings.HasPrefix(by.name, "sync/atomic.") {
			return false
		}
		if !by.runtime {
			m = k.calledFrom(ret - 1)
		} else {
			m.kind = atomicAccess
		}
	}
	obj := e.Obj
	if muted {
		e.PC = h.Site()
	}
	if m.kind == atomicAccess {
		return true
	}
	if m.kind == nothing || e.Kind == event.AtomicLoad || e.Kind == event.AtomicStore {
		return false
	}
	record := func(kind event.Kind, obj, arg uint64) {
		h.Record(event.Event{Kind: kind, PC: e.PC, Obj: obj, Arg: arg})
	}
	switch m.kind {
	case mutex:
		if !m.inner || !k.calledByRWMutex(h) {
			mutexChanged(record, obj, old, now)
		}
	case rwmutex:
		rwMutexChanged(record, m.method, obj, old, now)
	case waitGroup:
		waitGroupChanged(record, m.method, obj, old, now)
	}
	return false
}

// calledFrom returns the meaning of an atomic access that a function makes for the call at
// pc.
func (k *Hooks) calledFrom(pc uint64) meaning {
	m := k.meaningOf(pc)
	if m.kind == asCaller {
		m.kind = nothing
	}
	return m
}

// calledByRWMutex reports whether a method of Mutex runs for one of RWMutex, whose own
// changes show what is ordered.
func (k *Hooks) calledByRWMutex(h *mpsim.Hart) bool {
	for n := range 2 {
		ret, ok := h.Return(n)
		if !ok {
			return false
		}
		for _, f := range k.img.Frames(ret - 1) {
			if strings.HasPrefix(f.Function, "sync.(*RWMutex).") {
				return true
			}
		}
		if !syncPackage(packageOf(k.function(ret - 1).name)) {
			return false
		}
	}
	return false
}

type recordFunc func(kind event.Kind, obj, arg uint64)

// mutexChanged records what a change of a mutex's state means. A goroutine that sets the
// bit mutexLocked has acquired the mutex, and one that clears it has released it. The other
// bits concern waiters.
func mutexChanged(record recordFunc, obj, old, now uint64) {
	const locked = 1
	switch {
	case old&locked == 0 && now&locked != 0:
		record(event.MutexLock, obj, 0)
	case old&locked != 0 && now&locked == 0:
		record(event.MutexUnlock, obj, 0)
	}
}

// Offsets of the fields of sync.RWMutex and sync.WaitGroup.
const (
	rwWriterSem   = 8
	rwReaderSem   = 12
	rwReaderCount = 16
	rwMaxReaders  = 1 << 30
	wgSema        = 8
	semaBytes     = 4
)

// rwMutexChanged records what a change of an RWMutex means. readerCount is the number of
// readers, minus rwmutexMaxReaders while there is a writer. readerWait is the number of
// readers that the writer waits for. A goroutine that must wait has the lock when
// semacquire returns; see table.go.
func rwMutexChanged(record recordFunc, method string, obj, old, now uint64) {
	change, count := int32(now)-int32(old), int32(now)
	base := obj - rwReaderCount
	switch method {
	case "RLock", "TryRLock":
		if count >= 0 {
			record(event.ReadLock, base, 0)
		}
	case "RUnlock":
		record(event.ReadUnlock, base, 0)
	case "Lock", "TryLock":
		switch {
		case change == -rwMaxReaders && int32(old) == 0:
			record(event.WriteLock, base, 0)
		case change != -rwMaxReaders && count == 0: // readerWait
			record(event.WriteLock, base-4, 0)
		}
	case "Unlock":
		record(event.WriteUnlock, base, 0)
	}
}

// waitGroupChanged records what a change of a WaitGroup's state means. The upper half of
// the state is the counter, the lower half the number of waiters. A goroutine that lowers
// the counter is ordered before the return of Wait. The first Add must not be concurrent
// with the first Wait. The race detector models this with accesses to the semaphore.
func waitGroupChanged(record recordFunc, method string, obj, old, now uint64) {
	const waiters = 0x7fffffff
	delta := int32(now>>32) - int32(old>>32)
	switch {
	case method == "Wait":
		if now == old+1 && old&waiters == 0 {
			record(event.RangeWrite, obj+wgSema, semaBytes)
		}
	case delta < 0:
		record(event.SemPost, obj, 0)
	case delta > 0 && int32(now>>32) == delta:
		record(event.RangeRead, obj+wgSema, semaBytes)
	}
}
