// Package profile writes a profile of a run in the format of pprof
// (github.com/google/pprof), and folded stacks for flame graphs. The profile says where
// in the program threads executed instructions and accesses, where caches missed because
// of other threads, where threads waited for locks, and where races are.
//
// Instructions and accesses are sampled evenly and deterministically. In a run with fewer
// than [Options.Samples] of them, each is counted. Waits are in the simulated time of
// package timeline. Everything belongs to one goroutine.
package profile
