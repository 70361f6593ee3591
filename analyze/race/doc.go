// Package race finds the apparent data races of a run: pairs of accesses by
// different threads to a common byte, one at least a write, one at least not
// atomic, that no chain of synchronisation orders (PPoPP 2003, section 4.1).
// docs/semantics.md says precisely what counts.
//
// [Analyze] reports static pairs, each with the exact number of its dynamic
// pairs and with its first and last instance. It makes two passes over S_synch
// and the segments.
//
// The first (package sieve) takes the bytes that each segment accesses: not its
// accesses, but a set of extents worked out once for each rule of the address
// grammars, so that what a program repeats costs nothing again. Of each byte it
// knows the last write and the reads since that are in no order, in layers of
// whole pages; that is enough to find every byte on which there is a race
// (FastTrack, Flanagan and Freund, PLDI 2009). A run without races ends here.
//
// The second (package count) takes the accesses to those bytes, by arithmetic: for each rule of
// the address grammars it is worked out once how often which addresses are
// accessed, as strided sets of addresses with a number of times. Such a set
// becomes, at once for all of a page, a set of granules that are touched in the
// same manner. Granules that were touched in the same manner by the same units
// are a class, of which one history is kept, and a set is compared with each
// class that it meets once: what is found counts for all granules that they have
// in common, and as many times as they were accessed. No pair is ever
// enumerated: the executions of a site on a class are a series of (epoch,
// executions so far), and the number of them that are unordered with another
// access is a difference of two members of the series.
//
// Counting knows of the first and last instances of a race only the two units,
// and the classes on which they meet. The executions are looked up last (package resolve): the
// runs of one site in one segment are walked from the front, or from the back,
// as far as the first that touches such a class. The segment is reached by synch
// counts.
//
// In both passes memory is divided among workers by page; the result does not
// depend on their number.
//
// # Memory
//
// Members of a series that no thread can tell apart any more are merged, and
// those that happen before everything still to come are dropped. What remains
// is bounded by the bytes accessed since the last point that orders all
// threads, the sites that touch a byte, and the number of clocks that threads
// and sync objects hold. The sieve takes some 600 bytes for each page of 4096
// accessed and layer of it, and 16 KiB for one with scattered accesses.
//
// Analyze may be called from several goroutines at once if their sources
// allow it. Nothing needs to be closed.
package race
