// Package predict finds races that a recorded run did not show but that another
// schedule of the same events does. Each prediction has such a schedule, its
// witness.
//
// Two accesses are a predictable race if they can come next to each other in a
// correct reordering of the run: each strand does a prefix of what it did, each
// read reads from the write that it read from, at most one strand holds a mutex
// at a time, and whatever other synchronisation ordered stays in order (the hard
// order of package order: happens-before without mutexes). Deciding that is
// NP-hard in general. Find looks for two kinds of reorderings in polynomial time:
//
//   - those that keep the order of critical sections of each mutex
//     (sync-preserving races: Mathur, Pavlogiannis and Viswanathan, POPL 2021);
//   - those in which a critical section that is still open at the race comes
//     after sections of the same mutex that it preceded in the run (optimistic
//     sync-reversal: Shi, Mathur and Pavlogiannis, ICSE 2024).
//
// In both, conflicting accesses keep the order of the run. A prediction is
// therefore sound with regard to the events: its witness is a correct reordering
// (a test holds that against all reorderings of small runs). What is not an event,
// such as the time, the addresses that an allocator returns or a lock that was
// tried in vain, may still differ in a real run. That is for a rerun under the
// witness to find out.
//
// The steps are: record (record.go) keeps the events and accesses that matter as
// nodes and the pairs that may race; closure (closure.go) finds the least set of
// nodes that must come before a pair; witness (witness.go) puts them in an order.
//
// Memory follows the number of nodes, at most [MaxNodes]. The time for a pair is
// linear in the nodes before it.
package predict
