// Package fold answers questions about the addresses that a load or store accessed, on
// their compressed form: Sequitur grammars over differences (PPoPP 2003, section 2.4).
// The accesses of a rule are computed once, however often the rule occurs.
//
//   - [Index] has the sums over rules that the others use.
//   - [Cursor] walks in strided runs, from any access on.
//   - [Coverer] finds which bytes are accessed, [Tallier] how often each address is,
//     and [Finder] which runs touch given memory.
//   - [Bounds] finds the last access to an address.
//
// An Index computes its sums when it is first used, so it belongs to one goroutine,
// together with everything that uses it.
package fold
