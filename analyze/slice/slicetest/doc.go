// Package slicetest is an uncompressed whole execution trace with which tests compare
// others. It is an observer that logs a run fully and finds every dependence by a plain
// walk, with a table of the last writer of each register and each byte of memory. It
// takes some hundred bytes per statement.
//
// The dependences are those of package wet. A node is a block of the simulator here, not
// a path, so instances are compared by numbers that do not depend on the nodes: see
// [Log.Ordinals].
//
// It is for tests only.
package slicetest
