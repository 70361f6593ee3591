// Package annotate shows slices of whole execution traces to people and to programs: as
// source text annotated with the slice, as JSON (version 1, docs/slice.schema.json), as
// DOT for small graphs, and as a self-contained HTML page.
//
// A [Report] describes one slice, or the slices around a race. All forms except JSON show
// rows, which are source lines or, without source text, instructions with their names.
// Source text is read from the paths in the debug information and from the directories of
// [Sources].
//
// A Report belongs to one goroutine.
package annotate
