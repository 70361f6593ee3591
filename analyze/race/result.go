package race

import (
	"hindsight/analyze/place"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// Atomics says how atomic accesses and plain ones get along.
type Atomics uint8

const (
	// Relaxed takes a byte that an atomic access touched anywhere in the run
	// for an atomic variable: plain accesses to it (a compiler's relaxed
	// atomics look like them) do not race.
	Relaxed Atomics = iota
	// Strict reports races of atomic with plain accesses, and of plain
	// accesses to atomic variables.
	Strict
)

// Options of an analysis. The zero value is the default.
type Options struct {
	Atomics Atomics
	// Program tells the user's code and variables from those of libraries
	// linked into it; nil: everything is the user's.
	Program place.Program
	// TLSSize is the size in bytes of a thread's thread-local variables.
	TLSSize uint64
	// SweepEvery is how many records of accesses may be added before those
	// that can no longer matter are looked for. 0: 262144.
	SweepEvery int

	// Workers is how many goroutines look at parts of memory. The result does
	// not depend on it. 0: one for each processor, at most 8.
	Workers int

	// Found, if set, is told of the pairs as soon as all are counted, long before
	// the result.
	Found func(*Partial)
	// Suspect, if set, is told of the memory on which there may be races before they
	// are counted, in ranges of addresses [lo, hi) of whole granules of eight bytes.
	// Every race is on such memory.
	Suspect func(lo, hi uint64)

	columnsLimit int    // 0: columnsLimit
	staleAfter   uint64 // 0: staleAfter
	batchItems   int    // 0: batchItems
	layers       int    // of a page of the sieve; 0: by the number of threads
	noSieve      bool   // look at all memory exactly
	plainRuns    bool   // look at all runs, not at footprints
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
	// Site and Ordinal name a plain access: the Ordinal-th execution, from 0,
	// of Site by Thread. An event is named by Thread and Segment.
	Site    replay.SiteID
	Ordinal uint64
	// Seq is the place in S_synch of the event that ends the segment (or is
	// the access); the maximum if none does.
	Seq   uint64
	Locks []Lock // held, in the order in which they were obtained
}

// Lock is a lock that a thread holds.
type Lock struct {
	Mutex int // index in Result.Mutexes
	Write bool
}

// EventRef names an event of a thread.
type EventRef struct {
	Thread event.ThreadID
	Index  uint64
}

// Mutex is a lock that some side of a race held. Its name in reports is M and
// its index.
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
	Location    place.Location // of First.Address, when First.Earlier's segment ended
	// Orders are the names of the orders that report the race; nil: only
	// happens-before was asked (package order).
	Orders []string
}

// Result is what an analysis found.
type Result struct {
	Races   []Race // by first instance
	Mutexes []Mutex
	Threads []place.Thread
	Stats   Stats
}

// Stats says how much work an analysis was.
type Stats struct {
	Events   uint64 // entries of S_synch
	Segments uint64 // with accesses
	Runs     uint64
	Accesses uint64 // to memory with races
	Groups   uint64 // of those, that were looked at together
	Pages    int    // of 4096 bytes that were accessed
	Peak     int    // records of accesses held at once, at most
	Sweeps   int
	Merged   uint64 // tasks that races were not looked for between, see [hb.Order.Merged]
}
