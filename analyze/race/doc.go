// Package race finds the apparent data races of a run: pairs of accesses by different
// threads to a common byte, at least one a write, at least one not atomic, that no chain
// of synchronisation orders (PPoPP 2003, section 4.1). docs/semantics.md says exactly
// what counts.
//
// [Analyze] reports static pairs, each with the exact number of its dynamic pairs and
// with its first and last instance. It makes two passes over S_synch and the segments.
//
// The first (package sieve) processes the bytes that each segment accesses. It does not
// process the accesses, but a set of extents computed once for each rule of the address
// grammars, so repetitions cost nothing. For each byte it stores the last write and the
// unordered reads since, in layers of whole pages. That is enough to find every byte on
// which there is a race (FastTrack, Flanagan and Freund, PLDI 2009). A run without races
// ends here.
//
// The second (package count) processes the accesses to those bytes, by arithmetic. For
// each rule of the address grammars it computes once which addresses are accessed how
// often, as strided sets of addresses with a count. For a whole page at once, such a set
// becomes a set of granules that are touched in the same manner. Granules that the same
// units touched in the same manner are a class with one history. A set is compared once
// with each class that it meets: the result counts for all granules that they have in
// common, as many times as they were accessed. Pairs are never enumerated: the executions
// of a site on a class are a series of (epoch, executions so far), and the number of
// executions that are unordered with another access is a difference of two members of the
// series.
//
// For the first and last instances of a race, counting only yields the two units and the
// classes on which they meet. The executions are looked up last (package resolve), by
// walking over the runs of one site in one segment, from the front or from the back, up
// to the first one that touches such a class. Synch counts locate the segment.
//
// In both passes memory is divided among workers by page; the result does not depend on
// their number.
//
// # Memory
//
// Members of a series that no thread can distinguish any more are merged, and those that
// happen before everything that follows are dropped. The rest is bounded by the bytes
// accessed since the last point that orders all threads, the sites that touch a byte, and
// the number of clocks that threads and sync objects hold. The sieve takes some 600 bytes
// for each layer of each accessed page of 4096 bytes, and 16 KiB for a page with
// scattered accesses.
//
// Analyze is safe for concurrent use if the sources are. Nothing needs to be closed.
package race
