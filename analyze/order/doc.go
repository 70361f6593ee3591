// Package order looks for races in a recorded run under other orders than
// happens-before, access by access:
//
//   - [HB], happens-before, as package race has it;
//   - [SHB], schedulable happens-before (Mathur, Kini and Viswanathan, OOPSLA
//     2018): a read is also ordered after the write that it reads from, so
//     that each race found is one that another schedule of the same accesses
//     shows, also behind a first race;
//   - [WCP], weak causal precedence (Kini, Mathur and Viswanathan, PLDI 2017):
//     critical sections of a lock are ordered only where what they do conflicts,
//     so that races appear which the order of the locks in this run hid. All
//     other synchronisation orders as in happens-before;
//   - [Lockset], Eraser (Savage and others, TOCS 1997): memory that several
//     threads share and write without one lock that all of them hold.
//
// The orders need the accesses of all threads in one order: the one in which they
// were executed, which a trace tells by its schedule. Of a run without one a
// segment's accesses are taken just before the event that ends it, in program
// order; SHB, which depends on which write a read read from, then reports nothing.
//
// [Find] walks the run once for what is atomic, once for the memory that can
// matter and once for the races, and
// holds per memory touched one record for each instruction and thread that
// touched it. It may be called from several goroutines on different sources.
package order
