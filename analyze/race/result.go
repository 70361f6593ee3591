package race

import (
	"hindsight/analyze/place"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// Atomics says how atomic and plain accesses interact.
type Atomics uint8

const (
	// Relaxed treats a byte that an atomic access touched anywhere in the run as an
	// atomic variable: plain accesses to it (a compiler's relaxed atomics look like them)
	// do not race.
	Relaxed Atomics = iota
	// Strict reports races of atomic with plain accesses, and of plain
	// accesses to atomic variables.
	Strict
)

// Options of an analysis. The zero value is the default.
type Options struct {
	Atomics Atomics
	// Program distinguishes the user's code and variables from those of linked libraries.
	// With nil, everything is the user's.
	Program place.Program
	// TLSSize is the size in bytes of a thread's thread-local variables.
	TLSSize uint64
	// SweepEvery is the number of records of accesses that may be added before those that
	// no longer matter are searched for. 0 means 262144.
	SweepEvery int

	// Workers is the number of goroutines that process parts of memory. The result does
	// not depend on it. 0 means one for each processor, at most 8.
	Workers int

	// Found, if not nil, is called with the pairs as soon as all are counted, long before
	// the result.
	Found func(*Partial)
	// Suspect, if not nil, is called with the memory on which there may be races before
	// they are counted, in ranges of addresses [lo, hi) of whole granules of eight bytes.
	// Every race is on such memory.
	Suspect func(lo, hi uint64)

	columnsLimit int    // 0 means the constant columnsLimit
	staleAfter   uint64 // 0 means the constant staleAfter
	batchItems   int    // 0 means the constant batchItems
	layers       int    // of a page of the sieve; 0 means: by the number of threads
	noSieve      bool   // process all memory exactly
	plainRuns    bool   // process all runs, not footprints
}

// Place is a static access: an instruction and what it does.
type Place struct {
	PC uint64
	Op replay.Op
}

// Side is one access of an instance of a race.
type Side struct {
	Place
	Thread  event.ThreadID
	Address uint64 // of the first byte accessed
	Size    uint64 // bytes
	Segment uint64 // events of the thread before the access
	// Site and Ordinal identify a plain access: the Ordinalth execution, from 0, of Site
	// by Thread. Thread and Segment identify an event.
	Site    replay.SiteID
	Ordinal uint64
	// Seq is the position in S_synch of the event that ends the segment (or is the
	// access), or the maximum if none does.
	Seq   uint64
	Locks []Lock // in the order in which they were obtained
}

// Lock is a lock that a thread holds.
type Lock struct {
	Mutex int // index in Result.Mutexes
	Write bool
}

// EventRef identifies an event of a thread.
type EventRef struct {
	Thread event.ThreadID
	Index  uint64
}

// Mutex is a lock that a side of a race held. Its name in reports is M and its index.
type Mutex struct {
	Address   uint64
	Init      EventRef // valid if HasInit
	HasInit   bool
	FirstLock EventRef
}

// Instance is one dynamic pair. Later and Earlier are in the order in which
// their segments ended; Address is their first common byte.
type Instance struct {
	Later, Earlier Side
	Address        uint64
}

// Race is a static pair of accesses that raced.
type Race struct {
	// Dynamic is the exact number of dynamic pairs (saturated at 2^64-1).
	Dynamic uint64
	// First and Last are the extreme instances in the order that
	// docs/semantics.md defines.
	First, Last Instance
	Location    place.Location // of First.Address, at the end of the segment of First.Earlier
	// Orders are the names of the orders that report the race, or nil if only
	// happens-before was used (package order).
	Orders []string
}

// Result is the result of an analysis.
type Result struct {
	Races   []Race // by first instance
	Mutexes []Mutex
	Threads []place.Thread
	Stats   Stats
}

// Stats says how much work an analysis did.
type Stats struct {
	Events   uint64 // entries of S_synch
	Segments uint64 // with accesses
	Runs     uint64
	Accesses uint64 // to memory with races
	Groups   uint64 // of these, number that were processed together
	Pages    int    // of 4096 bytes that were accessed
	Peak     int    // largest number of records of accesses at a time
	Sweeps   int
	Merged   uint64 // tasks between which races were not searched for, see [hb.Order.Merged]
}
