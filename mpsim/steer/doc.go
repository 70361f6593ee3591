// Package steer answers questions about the run of a trace by further runs of its
// program: what a race does (package confirm), the shortest schedule that still fails
// (package minimize), which schedules show predictions, and every moment of the run
// under a debugger (package debug). Those packages know machines and schedules; this
// one knows traces and their reports.
//
// Each answer comes with schedules as files, and with the command that runs them
// ([Original.Command]).
//
// Nothing in it may be used from several goroutines at a time.
package steer
