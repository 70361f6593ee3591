// Package minimize searches for the shortest schedule that still makes a run fail.
//
// What counts are the preemptions: the switches at which the thread that stops could
// have gone on (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic
// Testing of Multithreaded Programs", PLDI 2007, section 2). Switches of threads that
// wait or end are made by the program.
//
// [Search] leaves out preemptions, in halves, quarters, … and at last one by one, as
// the algorithm ddmin does with the parts of an input (Zeller and Hildebrandt,
// "Simplifying and Isolating Failure-Inducing Input", TSE 28(2), 2002, section 3; of
// its two kinds of tests only that of complements). Where a switch is left out, the
// turns of the thread on both sides of it become one ([Without]).
//
// A run that is given such a schedule may wait where the first run did not. So a
// candidate is a request, not a schedule to be followed exactly: the caller runs it
// leniently and returns the schedule of the run that came of it, from which the
// search goes on.
//
// All functions are pure but for the oracle; they may be used from several goroutines.
package minimize
