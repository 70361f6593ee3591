// Package hook knows the library functions that synchronise threads or manage
// the heap, by symbol: POSIX threads, semaphores, the C11 names and the malloc
// family, as static glibc carries them. For each it says which ordered events
// a call stands for, and whether they take place when the call begins (giving
// something up: unlock, post, free) or when it has returned (having obtained
// something: lock, wait, malloc).
//
// Inside a hooked function nothing else is recorded: the call is its events.
// A function that calls back into the program (pthread_once) is not hooked;
// its own atomics order it.
//
// A [State] belongs to one machine and is used by one goroutine.
package hook
