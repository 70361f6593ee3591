package pass

import (
	"errors"

	"hindsight/analyze/hb"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// ErrTooLarge is wrapped by errors about runs that would take more memory or time
// to analyse than there is.
var ErrTooLarge = errors.New("too large to analyse")

// Access is something that touches memory: a site, or an instruction that
// does an atomic access or a free.
type Access struct {
	Place uint32 // index of the places of the run
	Op    replay.Op
	// Atomic reports whether its executions are atomic accesses.
	Atomic replay.Atomicity
	User   bool          // in the user's code
	Mute   bool          // in the code of a runtime that says by events what it orders
	Size   uint8         // bytes, of a site
	Site   replay.SiteID // of a site
}

// Unit is the unit being taken.
type Unit struct {
	Thread event.ThreadID
	Strand event.StrandID // that the thread acts as
	Clock  hb.Clock
	Epoch  uint64
	Order  uint64 // its place among units
	Start  uint64 // 1 + the place in S_synch of the event that begins it, 0 if none does
	End    uint64 // as replay.Unit.End
	Added  bool   // to the batch
	Known  bool   // the other fields are filled in
}

// Lane says what an access is to the sieve with regard to atomic variables.
type Lane uint8

const (
	LaneOpen   Lane = iota // may race with whatever is no atomic access
	LanePlain              // no atomic access: may race with those too
	LaneAtomic             // may race with those of lanePlain only
)

// PageBits is the binary logarithm of the bytes of a page, by which memory is
// divided among workers.
const PageBits = 12

// Owner says which of n workers looks at a page.
func Owner(page uint64, n int) int {
	if n == 1 {
		return 0
	}
	return int(page * 0x9e3779b97f4a7c15 >> 48 % uint64(n))
}
