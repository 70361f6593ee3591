// Package hook knows the library functions that synchronise threads or manage
// the heap, by symbol: POSIX threads, semaphores, the C11 names and the malloc
// family, as static glibc carries them. For each it says which ordered events
// a call stands for, and whether they take place when the call begins (giving
// something up: unlock, post, free) or when it has returned (having obtained
// something: lock, wait, malloc).
//
// Inside a hooked function nothing else is recorded: the call is its events.
// A function that calls back into the program is not hooked if its own atomics
// order it (pthread_once), and else only watched: what goes on inside is
// recorded, and events are put in where it begins and where it returns.
//
// That is how the OpenMP runtime is known (gomp.go, openmp.go, task.go). Its own
// atomic accesses are no events; the calls say by Publish and Observe what they
// order, and each explicit task is a strand, which begins and ends where the
// runtime calls the function that gcc made of the task's body.
//
// A [State] belongs to one machine and is used by one goroutine.
package hook
