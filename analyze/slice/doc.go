// Package slice answers questions about a whole execution trace. It computes backward and
// forward WET slices (X. Zhang and R. Gupta, "Whole Execution Traces", MICRO 2004,
// section 2): the statement instances that a value came from, and those that it went to.
// It also returns the control flow around a point, the values and addresses of a place in
// the program, and the writes to a variable.
//
// # Graphs
//
// A [Graph] answers the questions; a *wet.Graph is one. Its dependences may lead from
// thread to thread.
//
// # Slices
//
// [Compute] finds a slice node by node, in the order of the run (sweep.go). It finds a
// large forward slice in one pass over the run (pass.go). With a depth limit, and on
// graphs that have dependences only by instance, it searches breadth first (walk.go). For
// each execution of a node in the slice it stores 4 bytes: the number of the combination
// of statements that are in the slice. A slice of a hundred million instances takes some
// tens of megabytes. The rest (values, lists of instances) is read from the graph on
// demand.
//
// All results are in a fixed order: statements by address, instances by thread, node,
// statement and number.
//
// # Specifications
//
// [Resolver.Resolve] finds the place that a text names: a line, a variable on a line, a
// function, a symbol, an address. If the text matches nothing, or more than one thing,
// the error lists the candidates.
//
// A [Slice] is safe for use by several goroutines when its graph is.
package slice
