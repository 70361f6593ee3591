// Package contention says which locks, barriers, condition variables and semaphores the
// threads of a run waited for: how often, how long, which thread waited for which, and
// where in the source. It counts the waits of package timeline, so lengths are in
// simulated time: instructions that the run executed in the meantime. They depend on the
// seed and the quantum. They can be compared with each other, but not with time in
// seconds.
//
// [Build] walks over a run once and stores a few numbers for each object and place. A
// [Report] writes itself as text, or as JSON with docs/contention.schema.json. Everything
// belongs to one goroutine.
package contention
