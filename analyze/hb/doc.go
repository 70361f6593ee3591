// Package hb computes happens-before over S_synch, the total order of a run's ordered
// events, with vector clocks. docs/semantics.md, section "Happens-before", says which
// events order which; this package implements it.
//
// An [Order] takes the events one at a time, in total order, and knows the clock of every
// thread at that point. It stores no history: its size is bounded by the number of
// threads times the number of live sync objects.
//
// An Order belongs to one goroutine and need not be closed.
package hb
