// Package mpsim simulates a RISC-V multiprocessor that runs one RV64GC Linux program:
// one hart per guest thread, one hart at a time. Every choice is made from the seed, so
// the same inputs produce the same run.
//
// [New] loads a program, [Machine.Run] runs it to its end and returns a
// [Result]. An [event.Observer] can watch the run. It gets the blocks,
// addresses and ordered events of each thread in batches.
//
// # The way of an instruction
//
// Code is decoded once into blocks (block.go) that are linked to their successors.
// Hart.exec (exec.go) runs block after block until the hart's quantum is used up or
// something needs attention: a system call, a fault, the entry of a hooked function.
// Memory is accessed through the hart's translation cache (tlb.go). Package mem has the
// pages, linux the system calls, and fpu the arithmetic that the host does differently.
//
// # Recording
//
// A block that is executed while its hart is recording appends its number and
// its addresses to the current batch (record.go). A batch ends when another
// hart runs. Batches are handed to the observer on a separate goroutine. A
// block that a fault cuts short is recorded as a separate block of the
// instructions that were executed, ending as event.EndTrap.
//
// Inside a hooked function (hooks.go) a hart is hidden: it records nothing, and
// the trace has the events that its hook emits instead of the call. The last
// event of the call has event.Returns set by the machine. If the hook emitted
// none, or if its last event is out of reach because the batch was handed over
// in the meantime, the machine adds an event of kind event.None with
// event.Returns, so that every hidden call that returns is followed by exactly
// one Returns.
//
// Atomic accesses (atomic.go) are events, except acquire loads that have
// nothing new to acquire.
//
// An observer that asks for values (event.ValueObserver) also gets the result
// of every instruction, and all other changes of registers and memory: by
// system calls, signals and hidden calls (values.go), and of unrecorded code (carried.go).
//
// A Machine and its Harts belong to the goroutine that calls Run, which also calls the
// hooks. The observer is called on another goroutine, one call at a time.
package mpsim
