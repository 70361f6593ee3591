// Package debug is a debugger's view of a run that has ended: go on or back to a
// breakpoint, a watchpoint, the next or the previous instruction of a thread. It is
// what package gdbstub and package dap speak for.
//
// The run is the one of a [mpsim.Journal]: threads take turns as they did, whatever is
// stepped. Nothing can be changed. Going back re-executes a bounded stretch from a
// checkpoint; the last write to watched memory is looked up in an [Index], if there is
// one, so that its distance does not matter.
//
// A [Debugger] is for one goroutine.
package debug
