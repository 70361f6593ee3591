// Package timeline says when the threads and strands of a recorded run did what: when
// they executed, when they waited for their turn, and when they were blocked by which
// thread. It also has the edges by which synchronisation orders them.
//
// # Time
//
// The simulated machine executes one instruction at a time. The time of a run is the
// number of recorded instructions that all threads together have executed, in the order
// that the trace records: S_synch, and the schedule of accesses between its events
// (docs/trace-format.md). It is exact at events and at the ends of turns, to a basic
// block. Instructions after a turn's last access count for the thread's next turn.
// Instructions inside hooked functions (pthread_mutex_lock, malloc) are not recorded and
// take no time. Time therefore depends on the program, its input, the seed and the
// quantum, and does not say how long something takes on a real processor.
//
// # States
//
// At any time a thread is in one [State]. A trace records when a lock was obtained, not
// when it was requested, so [Blocked] is inferred. If a thread executed no access since
// its last turn, and its next event is that it obtains a lock, it was blocked for as long
// as another thread held the lock. In the same way it is blocked until the last thread
// has reached a barrier, a thread has ended, a condition was signalled, or a semaphore
// was posted. Other waits are [Waiting]: for its turn, or for something that the trace
// does not show, such as a system call. A thread that executes a runtime's code during
// such a wait is [Spinning].
//
// # Cost
//
// [Build] walks over S_synch and the schedule once. It skips everything between two of
// their entries by sums over the grammars, and expands nothing. Its time depends on the
// number of events and turns. A [Timeline] stores sums for some thousand cells per
// thread, and the intervals themselves if there are at most [Options.Intervals]. If there
// are more, [Timeline.Query] walks again for a window that is narrower than the cells.
//
// A Timeline and its trace belong to one goroutine at a time.
package timeline
