// Package report presents the races of a run to people and programs: names for
// code and memory, call stacks, suppressions, text in the manner of
// ThreadSanitizer, and JSON (docs/races.schema.json).
//
// [Build] names everything once; the [Report] is then a plain value that the
// writers only format. Nothing needs to be closed.
package report
