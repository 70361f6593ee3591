// Package place says what is at an address at a moment of a run: a global variable, a
// heap block, the stack or the thread-local storage of a thread.
//
// A [Map] takes the events of S_synch in order and describes memory at the current
// moment. It belongs to one goroutine and need not be closed.
package place
