// Package report presents the races of a run to people and programs: names of code and
// memory, call stacks, suppressions, text in the manner of ThreadSanitizer, and JSON
// (docs/races.schema.json).
//
// [Build] finds all names once. The [Report] is then a plain value, which the writers
// only format. Nothing needs to be closed.
//
// The files are:
//
//   - report.go has the types; names.go and task.go, local.go, artifact.go,
//     samevalue.go, prediction.go, deadlock.go, impact.go and verdict.go add what
//     the analyses found.
//   - suppress.go and baseline.go remove known races; merge.go and diff.go combine
//     reports; old.go says what became of earlier ones.
//   - text.go and brief.go write text for people, json.go the JSON form, and
//     table.go CSV; markdown.go, junit.go and sarif*.go write for CI systems.
package report
