// Package hook knows the library functions that synchronise threads or manage the heap, by
// symbol: POSIX threads, semaphores, the C11 names and the malloc family, as in static
// glibc. For each function it says which ordered events record a call, and whether they
// happen when the call begins (it releases something: unlock, post, free) or when it has
// returned (it has obtained something: lock, wait, malloc).
//
// Inside a hooked function nothing else is recorded: the events stand for the call. A
// function that calls back into the program is not hooked if its own atomics order it
// (pthread_once). Otherwise it is only watched: what happens inside is recorded, and events
// are added where it begins and where it returns.
//
// The OpenMP runtime is handled in this way (gomp.go, openmp.go, task.go). Its own atomic
// accesses are not events. Publish and Observe record what its calls order. Each explicit
// task is a strand, which begins and ends where the runtime calls the function that gcc
// generated from the task's body.
//
// A [State] belongs to one machine and is used by one goroutine.
package hook
