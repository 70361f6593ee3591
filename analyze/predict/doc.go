// Package predict finds races that a recorded run did not show but that another schedule
// of the same events would show. Each prediction has such a schedule, its witness.
//
// Two accesses are a predictable race if they can be adjacent in a correct reordering of
// the run: each strand does a prefix of what it did, each read reads from the same write
// as in the run, at most one strand holds a mutex at a time, and whatever other
// synchronisation ordered stays in order (the hard order of package order: happens-before
// without mutexes). Deciding that is NP-hard in general. Find looks for two kinds of
// reorderings in polynomial time:
//
//   - those that keep the order of critical sections of each mutex
//     (sync-preserving races: Mathur, Pavlogiannis and Viswanathan, POPL 2021);
//   - those in which a critical section that is still open at the race comes
//     after sections of the same mutex that it preceded in the run (optimistic
//     sync-reversal: Shi, Mathur and Pavlogiannis, ICSE 2024).
//
// In both, conflicting accesses keep the order of the run. If there is no such
// reordering, a bounded search looks for one of any kind (arrange.go). In it, closed
// sections may change places, and so may conflicting accesses that no read distinguishes.
// On small random runs this finds all predictable races (a test compares with all
// reorderings).
//
// A prediction is sound with regard to the events: its witness is a correct reordering.
// Things that are not events, such as the time, the addresses that an allocator returns
// or a failed trylock, may still differ in a real run. Only a rerun under the witness can
// confirm it.
//
// Deadlocks are found in the same way: a cycle of threads, each of which is about to lock
// a mutex that the next holds, in a correct reordering (Tunç, Mathur, Pavlogiannis and
// Viswanathan, "Sound Dynamic Deadlock Prediction in Linear Time", PLDI 2023).
//
// There are four steps. Record (record.go) stores the relevant events and accesses as
// nodes, and the pairs that may race. Closure (closure.go) finds the least set of nodes
// that must come before a pair. Witness (witness.go) and arrange put them in an order.
// Deadlock (deadlock.go) looks for cycles.
//
// Memory is proportional to the number of nodes, at most [MaxNodes]. The time for a pair
// is linear in the number of preceding nodes.
package predict
