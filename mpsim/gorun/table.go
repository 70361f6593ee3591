package gorun

import (
	"errors"
	"fmt"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Checked lists the releases of Go against whose sources the table was checked.
var Checked = []string{"go1.25", "go1.26"}

// table contains all hooked functions. A name that a release does not have is ignored.
// Names of earlier releases are listed beside those of later ones.
var table []probe

func init() {
	table = append(append(append(goroutines(), channels()...), synchronisation()...), memory()...)
}

// goroutines returns the places where the runtime creates goroutines and switches between
// them: proc.go, stack.go, asm_riscv64.s.
func goroutines() []probe {
	return []probe{
		{names: []string{"runtime.mcall"}, enter: calls},
		{names: []string{"runtime.goschedImpl", "runtime.preemptPark"}, enter: leave},
		{names: []string{"runtime.gogo"}, enter: resume},
		{names: []string{"runtime.goexit1"}, enter: exit},
		{names: []string{"runtime.newproc1"}, enter: func(*Hooks, *call) bool { return true }, exit: created},
		{names: []string{"runtime.copystack"}, enter: movesStack, exit: movedStack},
		{names: []string{"runtime.scanstack"}, enter: scanned},
		{names: []string{"runtime.entersyscall", "runtime.entersyscallblock"}, enter: entersSystem},
		{names: []string{"runtime.gopark"}, enter: parks},
		{names: []string{"runtime.ready"}, enter: readies},
	}
}

// channels returns the functions of chan.go, select.go and time.go.
func channels() []probe {
	return []probe{
		{names: []string{"runtime.makechan"}, enter: func(*Hooks, *call) bool { return true }, exit: made},
		{names: []string{"runtime.chansend"}, enter: chanBegin(true), exit: sent},
		{names: []string{"runtime.chanrecv"}, enter: chanBegin(false), exit: received},
		{names: []string{"runtime.selectgo"}, enter: selectBegin, exit: selected},
		{names: []string{"runtime.closechan"}, enter: closes},
		{names: []string{"runtime.send"}, enter: meets(true)},
		{names: []string{"runtime.recv"}, enter: meets(false)},
		{names: []string{"runtime.unlock2"}, enter: unlocks},

		{names: []string{"time.newTimer"}, enter: func(*Hooks, *call) bool { return true }, exit: timerMade},
		{names: []string{"time.resetTimer"}, enter: timerSet},
		{names: []string{"runtime.(*timer).unlockAndRun"}, enter: timerRuns, exit: timerRan},
		{names: []string{"runtime.SetFinalizer"}, enter: finalizerSet},
		{names: []string{"runtime.AddCleanup[*"}, enter: cleanup},
		{names: []string{"runtime.reflectcall"}, enter: finalizerRuns},
	}
}

// synchronisation returns the functions of package sync and synctest.go. The meaning of
// their atomic accesses is in atomic.go.
func synchronisation() []probe {
	return []probe{
		{names: []string{"sync.(*WaitGroup).Wait"}, enter: await, exit: waitEnd},
		{names: []string{"sync.(*Pool).Put"}, enter: pools},
		{names: []string{"sync.(*Pool).Get"}, enter: await, exit: unpooled},
		{names: []string{"sync.runtime_SemacquireRWMutexR"}, enter: await, exit: readLocked},
		{names: []string{"sync.runtime_SemacquireRWMutex"}, enter: await, exit: writeLocked},
		{names: []string{"sync.runtime_notifyListNotifyAll", "sync.runtime_notifyListNotifyOne"}, enter: notifies, exit: notified},
		{names: []string{"internal/synctest.Run"}, enter: await, exit: bubbleEnd},
		{names: []string{"internal/synctest.Wait"}, enter: await, exit: bubbleWaited},
	}
}

// memory returns the functions of malloc.go, slice.go, string.go, mbarrier.go, iface.go and
// package internal/runtime/maps.
func memory() []probe {
	return []probe{
		{names: []string{"runtime.mallocgc*"}, enter: allocates, exit: allocated, drop: allocatesNothing},

		{names: []string{"runtime.mapaccess1", "runtime.mapaccess2", "runtime.mapaccess1_fat", "runtime.mapaccess2_fat", "reflect.mapaccess"},
			enter: mapAccess(event.RangeRead, 2)},
		{names: []string{"runtime.mapaccess1_fast*", "runtime.mapaccess2_fast*", "reflect.mapaccess_faststr"}, enter: mapAccess(event.RangeRead, 0)},
		{names: []string{"runtime.mapassign", "reflect.mapassign0", "runtime.mapdelete", "reflect.mapdelete"}, enter: mapAccess(event.RangeWrite, 2)},
		{names: []string{"runtime.mapassign_fast*", "reflect.mapassign_faststr0", "runtime.mapdelete_fast*", "reflect.mapdelete_faststr",
			"runtime.mapclear", "reflect.mapclear"}, enter: mapAccess(event.RangeWrite, 0)},
		{names: []string{"runtime.mapIterStart", "runtime.mapiterinit", "reflect.mapIterStart", "reflect.mapiterinit"}, enter: mapAccess(event.RangeRead, 0)},
		{names: []string{"runtime.mapIterNext", "reflect.mapIterNext"}, enter: iterNext},
		{names: []string{"reflect.maplen", "internal/reflectlite.maplen"}, enter: mapLength},

		{names: []string{"runtime.typedmemmove", "reflect.typedmemmove", "internal/reflectlite.typedmemmove"}, enter: moves},
		{names: []string{"runtime.typedslicecopy"}, enter: copiesSlice},
		{names: []string{"reflect.typedslicecopy"}, enter: copiesReflected},
		{names: []string{"runtime.typedmemclr", "reflect.typedmemclr"}, enter: clears},
		{names: []string{"runtime.memclrHasPointers"}, enter: accesses(event.RangeWrite, 0, 1)},
		{names: []string{"runtime.growslice"}, enter: grows},
		{names: []string{"runtime.makeslicecopy"}, enter: makesCopy},
		{names: []string{"runtime.slicebytetostring"}, enter: accesses(event.RangeRead, 1, 2)},
		{names: []string{"runtime.slicerunetostring"}, enter: readsRunes},
		{names: []string{"runtime.convT", "runtime.convTnoptr"}, enter: boxes},
	}
}

// vital are functions that every program has and without which its goroutines cannot be
// followed.
var vital = []string{"runtime.mcall", "runtime.gogo.abi0", "runtime.goexit1", "runtime.newproc1", "runtime.goschedImpl",
	"runtime.copystack", "runtime.gopark", "runtime.ready", "runtime.unlock2", "runtime.mallocgc"}

// ErrSymbols says that the functions of the runtime were not found in a Go program.
var ErrSymbols = errors.New("symbols and debug information are needed; build it without -ldflags=-s and -w")

// Check returns an error for a Go program whose goroutines cannot be followed. Everything
// that its runtime does would be reported as the program's.
func Check(img *image.Image) error {
	for _, name := range vital {
		if _, ok := img.Lookup(name); !ok {
			return fmt.Errorf("the program was built by %s and has no symbol %s: %w", img.Go(), name, ErrSymbols)
		}
	}
	if !img.HasDebug() {
		return fmt.Errorf("the program was built by %s and has no debug information: %w", img.Go(), ErrSymbols)
	}
	return nil
}

// Unchecked returns a sentence if the table was not checked against the release of Go that
// built a program. It returns "" if it was, or if the program is not a Go program.
func Unchecked(img *image.Image) string {
	release := img.Go()
	if release == "" {
		return ""
	}
	for _, known := range Checked {
		if release == known || strings.HasPrefix(release, known+".") || strings.HasPrefix(release, known+"rc") {
			return ""
		}
	}
	return fmt.Sprintf("the program was built by %s; what its runtime orders was checked for %s only", release, strings.Join(Checked, " and "))
}
