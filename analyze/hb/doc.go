// Package hb computes happens-before over S_synch, the total order of a run's
// ordered events, with vector clocks. Which events order which is written in
// docs/semantics.md, section "Happens-before"; this package is its
// implementation.
//
// An [Order] is fed the events one at a time, in total order, and knows at any
// moment the clock of every thread. It keeps no history: its size is bounded
// by the number of threads times the number of live sync objects.
//
// An Order is used by one goroutine and needs no closing.
package hb
