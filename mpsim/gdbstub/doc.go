// Package gdbstub implements gdb's remote serial protocol for a [debug.Debugger], as
// described in the manual of gdb, appendix E.
//
// The stub is all-stop and read-only. Threads have the ids of the run plus one, because the
// protocol has no thread 0. Going forward and back follows the order of the run: an action
// of vCont says when to stop, never who runs. Packets that would change registers or
// memory, and therefore calls of functions, result in an error.
//
// [Serve] serves one debugger on one connection and returns when it has disconnected.
package gdbstub
