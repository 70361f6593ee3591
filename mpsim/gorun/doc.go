// Package gorun knows the runtime of Go: where it switches between goroutines, which of its
// functions order what (go.dev/ref/mem), what they do to the program's memory, and which
// memory they allocate. It implements mpsim.Hooks for programs built by the Go toolchain.
//
// A goroutine is a strand of the trace. It is created where newproc1 returns, begins or
// continues where gogo jumps to it, and is suspended where the runtime leaves it (mcall,
// goschedImpl, preemptPark, goexit1). The runtime's own code is not recorded, on any stack;
// events stand for the program's calls of it. The same holds for package sync, except that
// its atomic accesses count where it promises what they order.
//
// The edges are those of the toolchain's race detector (the calls of raceacquire and
// racerelease in package runtime, and of internal/race in the standard library). A build
// without -race has no such calls. Therefore the functions are hooked (table.go), and their
// effect is read from memory at the right moment: a channel's count when its lock is
// released, the state word of a mutex at the atomic instruction that changes it, even where
// the compiler has inlined the function.
//
// A Hooks belongs to one machine and is used by one goroutine.
package gorun
