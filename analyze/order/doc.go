// Package order looks for races in a recorded run under other orders than
// happens-before, access by access:
//
//   - [HB], happens-before, as in package race;
//   - [SHB], schedulable happens-before (Mathur, Kini and Viswanathan, OOPSLA
//     2018): a read is also ordered after the write that it reads from, so that
//     another schedule of the same accesses shows each race that is found, even
//     after a first race;
//   - [WCP], weak causal precedence (Kini, Mathur and Viswanathan, PLDI 2017):
//     critical sections of a lock are ordered only where their accesses
//     conflict, which reveals races that the lock order of this run hid. All
//     other synchronisation orders as in happens-before;
//   - [Lockset], Eraser (Savage and others, TOCS 1997): memory that several
//     threads share and write without one lock that all of them hold.
//
// The orders need the accesses of all threads in the order in which they were
// executed, which the trace's schedule records. In a run without a schedule, a
// segment's accesses are assumed to happen just before the event that ends it,
// in program order. Then SHB, which depends on which write a read obtained,
// reports nothing.
//
// [Find] walks the run three times: for atomic accesses, for the memory that
// can matter, and for the races. For each piece of memory it stores one record
// per instruction and thread that touched it. It may be called from several
// goroutines on different sources.
package order
