// Package written finds out what racing writes wrote: whether a write stored what
// was there already, or all writes of a race stored the same, so that which of
// them came first made no difference.
//
// A trace has no values. An [Observer] takes them from a second, identical run
// (event.Batch.Values): it keeps the registers of each thread, and the contents
// of the pages that racing instructions write, and looks at the racing writes
// alone. What it cannot know (what a system call or a hooked function wrote, or
// an atomic update) counts as another value, so that "the same" is never said
// wrongly.
//
// Besides, it follows the calls of each thread with their stack pointers, and says
// which local variable memory on a stack belonged to (package local does the same
// without a run, where it can).
//
// An Observer belongs to one goroutine at a time.
package written
