package pass

import (
	"errors"

	"hindsight/analyze/hb"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// ErrTooLarge is wrapped by errors about runs whose analysis would take too much memory
// or time.
var ErrTooLarge = errors.New("too large to analyse")

// Access is something that touches memory: a site, or an instruction that executes an
// atomic access or a free.
type Access struct {
	Place uint32 // index of the places of the run
	Op    replay.Op
	// Atomic says whether its executions are atomic accesses.
	Atomic replay.Atomicity
	User   bool          // in the user's code
	Mute   bool          // in a runtime (libgomp) whose synchronisation is recorded as events
	Size   uint8         // bytes, of a site
	Site   replay.SiteID // of a site
}

// Unit is the current unit.
type Unit struct {
	Thread event.ThreadID
	Strand event.StrandID // that the thread acts as
	Clock  hb.Clock
	Epoch  uint64
	Order  uint64 // its position among units
	Start  uint64 // 1 + the position in S_synch of the event that begins it; 0 if none does
	End    uint64 // as replay.Unit.End
	Added  bool   // it is in the batch
	Known  bool   // the other fields are set
}

// Lane says how the sieve treats an access with regard to atomic variables.
type Lane uint8

const (
	LaneOpen   Lane = iota // may race with everything that is not an atomic access
	LanePlain              // not an atomic access: may also race with atomic accesses
	LaneAtomic             // may only race with those of LanePlain
)

// PageBits is the binary logarithm of the bytes of a page, by which memory is
// divided among workers.
const PageBits = 12

// Owner returns which of n workers processes a page.
func Owner(page uint64, n int) int {
	if n == 1 {
		return 0
	}
	return int(page * 0x9e3779b97f4a7c15 >> 48 % uint64(n))
}
