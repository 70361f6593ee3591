// Package steer answers questions about the run of a trace with further runs of its
// program: what a race does (package confirm), the shortest schedule that still fails
// (package minimize), which schedules show predictions, and the state at any time under a
// debugger (package debug). Those packages know machines and schedules; this one knows
// traces and their reports.
//
// Each answer comes with schedules as files, and with the command that runs them
// ([Original.Command]).
//
// Nothing in it may be used by several goroutines at once.
package steer
