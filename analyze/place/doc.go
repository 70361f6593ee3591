// Package place says what lies at an address at a moment of a run: a global
// variable, a heap block, the stack or the thread-local storage of a thread.
//
// A [Map] is fed the events of S_synch in order and is then asked about the
// present moment. It is used by one goroutine and needs no closing.
package place
