// Package place says what is at an address at a moment of a run: a global
// variable, a heap block, the stack or the thread-local storage of a thread.
//
// A [Map] takes the events of S_synch in order and answers questions about the
// current moment. It is used by one goroutine and needs no closing.
package place
