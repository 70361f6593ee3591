// Package minimize searches for the shortest schedule that still makes a run fail.
//
// It minimizes preemptions: switches at which the thread that stops could have
// gone on (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic
// Testing of Multithreaded Programs", PLDI 2007, section 2). Switches where a
// thread waits or ends are the program's own.
//
// [Search] removes preemptions, in halves, quarters, … and finally one by one,
// as the algorithm ddmin does with the parts of an input (Zeller and
// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 28(2),
// 2002, section 3; of its two kinds of tests, only that of complements). Where
// a switch is removed, the turns of the thread on both sides become one
// ([Without]).
//
// A run with such a schedule may wait where the first run did not. So a
// candidate is a request, not a schedule to be followed exactly. The caller
// runs it leniently and returns the schedule of the resulting run, and the
// search continues from there.
//
// All functions are pure except for the oracle. They may be used from several
// goroutines.
package minimize
