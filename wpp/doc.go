// Package wpp turns the string of one thread's execution into a whole program path: a
// context-free grammar that generates exactly that string, built by the Sequitur
// algorithm. It also finds places in the string without expanding the grammar.
//
// # Building
//
// A [Builder] takes a string terminal by terminal and maintains a Sequitur grammar of it
// (Nevill-Manning and Witten, "Identifying Hierarchical Structure in Sequences", JAIR 7,
// 1997; Larus, "Whole Program Paths", PLDI 1999):
//
//   - digram uniqueness: no pair of adjacent symbols occurs twice in the
//     grammar, except overlapping pairs (aaa);
//   - rule utility: each rule except the start is used at least twice.
//
// Time is linear in the length of the string, and memory is linear in the size of the
// grammar. [Builder.Grammar] freezes it.
//
// # Reading
//
// A [Grammar] is immutable and compact. [Grammar.AppendBinary] writes it and [Decode],
// which trusts no input, reads it. A position in the string is a [Cursor], the path from
// the start rule down to a terminal. Everything else is a fold over rules, computed once
// per rule and never by expansion:
//
//   - [Weights]: sums of unsigned weights, with rank, select and skips;
//   - [SyncCounts]: the synchronisation counts and Algorithm 1 of "Compactly
//     Representing Parallel Program Executions" (PPoPP 2003), section 2.2;
//   - [Stacks]: pushes that are still open at a position (call stacks).
//
// # Several goroutines
//
// A Builder and a Cursor belong to one goroutine at a time. A Grammar and what is
// computed from it may be read by any number of goroutines at once.
package wpp
