// Package count is the second pass of a race analysis: it counts the pairs of
// accesses that race, by arithmetic. Granules of eight bytes that the same units
// touched in the same manner are a class with one history; what is found counts
// for all of them, and as many times as they were accessed. No pair is enumerated.
//
// Of the first and last instance of a static pair no more is known afterwards
// than the two units, and where in memory they meet ([Meeting]); package resolve
// finds the executions.
//
// Each worker has a [Shard] of its own, which is for one goroutine.
package count
