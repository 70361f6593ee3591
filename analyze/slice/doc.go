// Package slice answers questions about a whole execution trace: which
// statement instances a value came from and where it went (backward and forward
// WET slices: X. Zhang and R. Gupta, "Whole Execution Traces", MICRO 2004,
// section 2), what the control flow was around a point, which values and
// addresses a place in the program saw, and who wrote a variable.
//
// # Graphs
//
// A [Graph] is what the questions are put to; a *wet.Graph is one. Its
// dependences may lead from thread to thread.
//
// # Slices
//
// [Compute] finds a slice node by node, in the order of the run (sweep.go), a
// large forward slice in one pass over it (pass.go); with a limit of depth, and
// on graphs that tell dependences by instances only, breadth first (walk.go). For
// each execution of a node that is in the slice it keeps the number of the
// combination of statements that are, 4 bytes, so that a slice of a hundred
// million instances takes some tens of megabytes. The rest (values, lists of
// instances) is read from the graph when it is asked for.
//
// All results are in a fixed order: statements by address, instances by thread,
// node, statement and number.
//
// # Specifications
//
// [Resolver.Resolve] finds the place that a text names: a line, a variable on a
// line, a function, a symbol, an address. A text that names nothing, or more
// than one thing, is an error that lists what there is.
//
// A [Slice] is safe for use by several goroutines when its graph is.
package slice
