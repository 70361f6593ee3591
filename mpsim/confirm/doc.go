// Package confirm finds out what a race does: it runs the program with the two
// accesses in either order and compares what comes out.
//
// For a pair of accesses, [Confirmer.Pair]
//
//  1. runs as the run was, up to just before the access that comes first, and holds
//     that thread there;
//  2. lets the others go on until one is just about to make the other access, to the
//     same memory (RaceFuzzer: Sen, "Race Directed Random Testing of Concurrent
//     Programs", PLDI 2008, section 3);
//  3. from there runs both orders, each with the same continuations: all that differs
//     between two such runs is the order of two instructions. What comes out is
//     compared (Narayanasamy et al., "Automatically Classifying Benign and Harmful
//     Data Races Using Replay Analysis", PLDI 2007, section 4; Kasikci, Zamfir,
//     Candea, "Data Races vs. Data Race Bugs", ASPLOS 2012, section 3).
//
// Every run is a schedule (package schedule), so that anybody can repeat it.
//
// A [Confirmer] may be used from one goroutine at a time.
package confirm
