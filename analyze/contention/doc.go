// Package contention says which locks, barriers, condition variables and
// semaphores the threads of a run waited for: how often, how long, who for whom,
// and where in the source. It counts the waits of package timeline, so lengths are
// in its simulated time: instructions that the run executed meanwhile. They
// depend on the seed and the quantum, and compare with each other, not with
// seconds.
//
// [Build] walks through a run once and keeps a few numbers for each object and
// place. A [Report] writes itself as text, or as JSON with
// docs/contention.schema.json. Everything belongs to one goroutine.
package contention
