// Package annotate shows slices of whole execution traces to people and to
// programs: as the source text with what the slice says about each line, as
// JSON (version 1, docs/slice.schema.json), as DOT for small graphs, and as a
// page of HTML that needs nothing else.
//
// A [Report] is made of one slice, or of the slices around a race. What the
// forms but JSON show are rows: a line of the source, or, where the program or
// this machine has no source text, instructions with their names. Source text is
// read from the paths that the debug information has, and from the folders of
// [Sources].
//
// A Report belongs to one goroutine.
package annotate
