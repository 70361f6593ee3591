// Package local says which local variable of a function an address on a thread's stack
// belongs to at the time of an access, from the trace alone.
//
// A trace has no registers, but it has the addresses of accesses. The frame of a
// function's activation is found by its first access whose address is relative to the
// stack or frame pointer, such as the store of the return address. The debug information
// says how far that register is from the canonical frame address there (DWARF 5 section
// 6.4), and how far variables are. The calls in the owner's control flow
// ([cdr.History.Caller]) show which activations the stack's owner was in. The trace's
// schedule of accesses shows where the owner was when another thread made the access.
//
// The accessing instruction itself identifies some variables: it uses the register by
// which the debug information locates the variable.
//
// Uncertain answers are not returned: the variable must be the same at the owner's last
// access before the access and at its next access after it.
//
// A [Finder] belongs to one goroutine.
package local
