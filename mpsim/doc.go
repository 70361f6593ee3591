// Package mpsim simulates a RISC-V multiprocessor that runs one RV64GC Linux program:
// one hart per guest thread, one hart at a time. Every choice is made from the seed, so
// the same inputs produce the same run.
//
// [New] loads a program, [Machine.Run] runs it to its end and returns a
// [Result]. An [event.Observer] can watch the run. It gets the blocks,
// addresses and ordered events of each thread in batches.
//
// # How an instruction is executed
//
// Code is decoded once into blocks (block.go) that are linked to their successors.
// Hart.exec (exec.go) runs block after block until the hart's quantum is used up or
// something needs attention: a system call, a fault, or the entry of a hooked function.
// Memory is accessed through the hart's translation cache (tlb.go). Package mem holds the
// pages, package linux implements the system calls, and package fpu the arithmetic that the
// host computes differently.
//
// # Recording
//
// A block that is executed while its hart is recording appends its number and its addresses
// to the current batch (record.go). A batch ends when another hart runs. Batches are handed
// to the observer on a separate goroutine. If a fault cuts a block short, the instructions
// that were executed are recorded as a separate block that ends as event.EndTrap.
//
// Inside a hooked function (hooks.go) a hart is hidden: it records nothing, and the trace
// contains the events that its hook emits instead of the call. The machine sets
// event.Returns in the last event of the call. If the hook emitted no event, or if its
// batch has been handed over in the meantime, the machine adds an event of kind event.None
// with event.Returns. So every hidden call that returns is followed by exactly one Returns.
//
// Atomic accesses (atomic.go) are events, except acquire loads that have
// nothing new to acquire.
//
// An observer that asks for values (event.ValueObserver) also receives the result of every
// instruction, and all other changes of registers and memory: those by system calls,
// signals and hidden calls (values.go), and those by unrecorded code (carried.go).
//
// A Machine and its Harts belong to the goroutine that calls Run, which also calls the
// hooks. The observer is called on another goroutine, one call at a time.
package mpsim
