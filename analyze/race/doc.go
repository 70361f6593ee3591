// Package race finds the apparent data races of a run: pairs of accesses by
// different threads to a common byte, one at least a write, one at least not
// atomic, that no chain of synchronisation orders (PPoPP 2003, section 4.1).
// docs/semantics.md says precisely what counts.
//
// [Analyze] reads S_synch and the segments of each thread in one pass and
// reports static pairs, each with the exact number of its dynamic pairs and
// with its first and last instance. No pair is ever enumerated and nothing is
// expanded beyond one strided run at a time: the executions of a site that
// touched the same bytes are a series of (epoch, executions so far), and the
// number of them that are unordered with another access is a difference of two
// members of the series.
//
// # Memory
//
// Members of a series that no thread can tell apart any more are merged, and
// those that happen before everything still to come are dropped. What remains
// is bounded by the bytes accessed since the last point that orders all
// threads, the sites that touch a byte, and the number of clocks that threads
// and sync objects hold.
//
// Analyze may be called from several goroutines at once if their sources
// allow it. Nothing needs to be closed.
package race
