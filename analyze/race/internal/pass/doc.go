// Package pass defines what a pass over a run hands to its workers, each of
// which handles a part of memory: accesses, divided into items in the order of
// their units, and the horizon, which says what threads can still distinguish.
//
// A [Crew] runs the workers. Each worker gets all batches; [Owner] says which
// worker a page belongs to. After [Crew.Put] a batch belongs to the workers and
// must not be changed.
package pass
