// Package local says which local variable of a function an address on a thread's
// stack belongs to at the time of an access, from the trace alone.
//
// A trace has no registers, but it has the addresses of accesses. The frame of a
// function's activation is found by the first access of that activation whose
// address is relative to the stack or frame pointer, as the store of the return
// address is: the debug information says how far that register is from the
// canonical frame address there (DWARF 5 section 6.4), and how far variables are.
// The activations are those that the stack's owner was in, which the calls in its
// control flow tell ([cdr.History.Caller]); where the owner was when another thread
// made the access, the trace's schedule of accesses tells.
//
// Some variables are told by the accessing instruction itself: it uses the register
// that the debug information places the variable by.
//
// What is not certain is not said: an answer needs the same variable at the last
// access that the owner made before and at the next that it makes after.
//
// A [Finder] belongs to one goroutine.
package local
