// Package mpsim simulates a RISC-V multiprocessor that runs one statically
// linked RV64GC Linux program: one hart a guest thread, one hart at a time,
// every choice made from the seed, so that the same inputs give the same run.
//
// [New] loads a program, [Machine.Run] runs it to its end and returns a
// [Result]. What happens can be watched by an [event.Observer], which gets the
// blocks, addresses and ordered events of each thread in batches.
//
// # The way of an instruction
//
// Code is decoded once into blocks (block.go) that are linked to their
// successors. Hart.exec (exec.go) runs block after block until the hart's
// quantum is used up or something needs attention: a system call, a fault, the
// entry of a hooked function. Memory is reached through a translation cache of
// the hart (tlb.go); mpsim/mem has the pages, mpsim/linux the system calls,
// mpsim/fpu the arithmetic that the host does differently.
//
// # Recording
//
// A block that is executed while its hart is recording appends its number and
// its addresses to the batch under way (record.go). Batches change with the
// hart and are handed to the observer on a goroutine of its own. A block that
// a fault cuts short is recorded as a block of its own, of the instructions
// that were done, ending as event.EndTrap.
//
// Inside a hooked function (hooks.go) a hart is hidden: it records nothing,
// and the call stands in the trace as the events that its hook emits. The last
// event of the call has event.Returns set by the machine. When the hook
// emitted none, or when its last is out of reach because the batch went away
// meanwhile, the machine adds an event of kind event.None with event.Returns,
// so that every hidden call that returns is followed by exactly one Returns.
//
// Atomic accesses (atomic.go) are events, except acquire loads that have
// nothing new to acquire.
//
// An observer that asks for values (event.ValueObserver) also gets the result of
// every instruction, and what changed registers and memory besides: system
// calls, signals, hidden calls (values.go).
//
// A Machine and its Harts belong to the goroutine that calls Run; hooks are
// called on it too. The observer is called on another, one call at a time.
package mpsim
