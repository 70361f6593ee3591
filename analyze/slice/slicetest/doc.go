// Package slicetest is the uncompressed whole execution trace that tests hold
// others against: an observer that logs a run fully and finds every dependence
// by a plain walk, with a table of who wrote each register and each byte of
// memory. It keeps some hundred bytes a statement.
//
// The dependences are those of package wet. A node is a block of the simulator
// here, not a path, so instances are compared by what does not depend on the
// nodes: see [Log.Ordinals].
//
// Nothing that is built for users imports it.
package slicetest
