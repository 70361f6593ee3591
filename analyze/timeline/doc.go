// Package timeline says when the threads and strands of a recorded run did what:
// when they executed, when they waited for their turn, and when they were blocked
// and by whom, with the edges by which synchronisation orders them.
//
// # Time
//
// The simulated machine executes one instruction at a time. The time of a run is
// the number of recorded instructions that all threads together have executed, in
// the order in which the trace says that they did: S_synch, and the schedule of
// accesses between its events (docs/trace-format.md). It is exact at events and
// at the ends of turns, to a basic block; instructions after a turn's last access
// count to the thread's next turn. Instructions inside of hooked functions
// (pthread_mutex_lock, malloc) are not recorded and take no time. Time therefore
// depends on the program, its input, the seed and the quantum, and says nothing of
// how long something takes on a real processor.
//
// # States
//
// At any time a thread is in one [State]. A trace says when a lock was obtained,
// not when it was asked for, so [Blocked] is inferred: a thread that executed no
// access since it last had its turn, and next obtains a lock, is blocked for as
// long as another thread holds the lock; likewise until the last thread has come
// to a barrier, a thread has ended, a condition was signalled, a semaphore posted.
// What remains is [Waiting]: for its turn, or for something that the trace does not
// tell of, such as a system call. A thread that executes a runtime's code inside of
// such a wait is [Spinning].
//
// # Cost
//
// [Build] walks S_synch and the schedule once and goes past everything between two
// of their entries by sums over the grammars: nothing is expanded, and its time
// follows the number of events and turns. A [Timeline] keeps sums for some
// thousand cells a thread, and the intervals themselves as long as there are at
// most [Options.Intervals]; when there are more, [Timeline.Query] walks again for a
// window that is narrower than the cells.
//
// A Timeline and the trace below it belong to one goroutine at a time.
package timeline
