// Package debug is a debugger's view of a run that has ended. It goes forward or back to a
// breakpoint, a watchpoint, or the next or previous instruction of a thread. Packages
// gdbstub and dap provide it to debuggers and editors.
//
// The run is that of a [mpsim.Journal]: threads take turns as they did, whatever is
// stepped. Nothing can be changed. Going back re-executes a bounded stretch from a
// checkpoint. The last write to watched memory is looked up in an [Index], if there is one,
// so that its distance does not matter.
//
// A Debugger must be used by one goroutine at a time.
package debug
