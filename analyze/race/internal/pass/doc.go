// Package pass is what a pass over a run hands to the workers that each look at
// their part of memory: accesses, cut into items in the order of the units that
// they belong to, and the horizon, which says what threads can still tell apart.
//
// A [Crew] runs the workers. All of them are handed all batches; [Owner] says
// which worker a page is of. A batch belongs to the workers from [Crew.Put] on
// and must not be changed any more.
package pass
