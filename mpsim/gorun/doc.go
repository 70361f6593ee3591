// Package gorun knows the runtime of Go: where it switches between goroutines,
// which of its functions order what (go.dev/ref/mem), what they do to the
// program's memory, and which memory they hand out. It is the mpsim.Hooks of a
// run of a program that the Go toolchain made.
//
// A goroutine is a strand of the trace. It is created where newproc1 returns,
// begins or goes on where gogo jumps to it, and is laid by where the runtime
// leaves it (mcall, goschedImpl, preemptPark, goexit1). The runtime's own code, on
// whatever stack, is not recorded; what a program's call of it means is told by
// events. So it is with package sync; its atomic accesses count where it promises
// what they order.
//
// The order is put where the toolchain's race detector has it (the calls of
// raceacquire and racerelease in package runtime, and of internal/race in the
// standard library). A build without -race has no such calls. Therefore the
// functions are hooked (table.go), and what they did is read from memory at the
// point that matters: a channel's count when its lock is given up, the state word
// of a mutex at the atomic instruction that changes it, also where the compiler
// has taken the function into its caller.
//
// Hooks belong to one machine and are used by one goroutine.
package gorun
