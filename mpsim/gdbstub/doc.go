// Package gdbstub speaks gdb's remote serial protocol for a [debug.Debugger]: the
// packets that are described in the manual of gdb, appendix E.
//
// The stub is all-stop and read-only. Threads have the ids of the run plus one, as the
// protocol has no thread 0. Going on and back follow the order of the run: an action of
// vCont says when to stop, never who runs. Packets that would change registers or
// memory, and with them calls of functions, get an error.
//
// [Serve] answers one debugger on one connection and returns when it has gone.
package gdbstub
