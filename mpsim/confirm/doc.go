// Package confirm determines what a race does: it runs the program with the two accesses in
// both orders and compares the results.
//
// For a pair of accesses, [Confirmer.Pair]
//
//  1. repeats the run up to just before the earlier access, and holds that
//     thread there;
//  2. lets the other threads continue until one is about to make the other access,
//     to the same memory (RaceFuzzer: Sen, "Race Directed Random Testing of
//     Concurrent Programs", PLDI 2008, section 3);
//  3. runs both orders from there, each with the same continuations, so that two
//     such runs differ only in the order of two instructions, and compares the
//     results (Narayanasamy et al., "Automatically Classifying Benign and Harmful
//     Data Races Using Replay Analysis", PLDI 2007, section 4; Kasikci, Zamfir,
//     Candea, "Data Races vs. Data Race Bugs", ASPLOS 2012, section 3).
//
// Every run is a schedule (package schedule), so it can be repeated.
//
// A [Confirmer] may be used from one goroutine at a time.
package confirm
