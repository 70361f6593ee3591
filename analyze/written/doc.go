// Package written finds out what racing writes wrote: whether a write stored the value
// that was already there, or all writes of a race stored the same value, so that their
// order made no difference.
//
// A trace has no values. An [Observer] takes them from a second, identical run
// (event.Batch.Values). It stores the registers of each thread and the contents of the
// pages that racing instructions write, and examines only the racing writes. A value that
// it cannot know, because a system call, a hooked function or an atomic update wrote it,
// counts as different. It therefore never wrongly reports that values are the same.
//
// It also follows the calls of each thread with their stack pointers, and finds the local
// variables that memory on a stack belonged to (package local does the same without a
// rerun, where it can).
//
// An Observer belongs to one goroutine at a time.
package written
