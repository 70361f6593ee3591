// Package count is the second pass of a race analysis: it counts the pairs of
// accesses that race, by arithmetic. Granules of eight bytes that the same
// units touched in the same manner are a class with one history. A result
// counts for all of them, as many times as they were accessed. Pairs are not
// enumerated.
//
// For the first and last instance of a static pair, counting only yields the
// two units and where in memory they meet ([Meeting]). Package resolve finds
// the executions.
//
// Each worker has its own [Shard], which is for one goroutine.
package count
