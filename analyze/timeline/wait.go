package timeline

import (
	"fmt"

	"hindsight/tracefmt/event"
)

// Kind says what a thread is blocked by, or what causes an [Edge].
type Kind uint8

const (
	None      Kind = iota
	Lock           // a mutex, a spin lock, a critical region
	ReadLock       // a rwlock, to read
	WriteLock      // a rwlock, to write
	Barrier        // of POSIX
	Cond           // a condition variable
	Semaphore      //
	Once           // an initialisation by another thread
	Join           // the end of a thread. The object is its number
	Create         // the beginning of a thread
	Order          // of a runtime or of the kernel: OpenMP's barriers and tasks, channels, pipes. The object is a handle
	Strand         // a task or goroutine begins or continues. The object is its number
	numKinds
)

var kindNames = [numKinds]string{"", "lock", "read lock", "write lock", "barrier", "condition", "semaphore", "once", "join", "create", "order", "strand"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "kind?"
}

// MarshalText and UnmarshalText make the name of a kind its JSON form.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(b []byte) error {
	for i, name := range kindNames {
		if name == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("kind %q of a wait is not known", b)
}

// NoThread is not the number of a thread.
const NoThread = event.ThreadID(1<<32 - 1)

// Wait is a time in which a thread was blocked by one thing. A thread that waits for a
// lock that others pass on has a Wait for each of them.
type Wait struct {
	From, To uint64
	Kind     Kind
	Object   uint64         // address, or see the kind
	By       event.ThreadID // the thread that held the lock, came last, or posted; NoThread if there is none
	PC       uint64         // of the event that ended the wait, which is the call
	Spins    bool           // the thread may execute while it waits
}

// Edge is synchronisation from one thread to another.
type Edge struct {
	From       uint64         `json:"from"`
	FromThread event.ThreadID `json:"from_thread"`
	To         uint64         `json:"to"`
	ToThread   event.ThreadID `json:"to_thread"`
	Kind       Kind           `json:"kind"`
	Object     uint64         `json:"object"`
}

// hold is a time in which a thread held a lock. It is open while to is 0.
type hold struct {
	thread event.ThreadID
	from   uint64
	to     uint64
	shared bool
}

// moment is what a thread did at a time.
type moment struct {
	at     uint64
	thread event.ThreadID
	known  bool
}

// lockState is a lock's history, as far as a thread may still have waited in it.
type lockState struct {
	holds    []hold
	released moment
	prune    int // length of holds at which those that no thread can need are removed
}

// take records that a thread has the lock.
func (l *lockState) take(t event.ThreadID, at uint64, shared bool) {
	l.holds = append(l.holds, hold{thread: t, from: at, to: stillHeld, shared: shared})
}

// stillHeld is the end of a hold that has not ended.
const stillHeld = ^uint64(0)

func (l *lockState) release(t event.ThreadID, at uint64) {
	for i := len(l.holds) - 1; i >= 0; i-- {
		if h := &l.holds[i]; h.thread == t && h.to == stillHeld {
			h.to = at
			break
		}
	}
	l.released = moment{at, t, true}
}

// drop removes the holds that ended before a time.
func (l *lockState) drop(before uint64) {
	kept := l.holds[:0]
	for _, h := range l.holds {
		if h.to >= before {
			kept = append(kept, h)
		}
	}
	l.holds = kept
	l.prune = max(64, 2*len(kept))
}

// waits returns the times between two moments in which others held the lock so that t
// could not have it, in order and without overlaps.
func (l *lockState) waits(t event.ThreadID, from, to uint64, w Wait, out []Wait) []Wait {
	for _, h := range l.holds {
		if h.thread == t || h.shared && w.Kind == ReadLock {
			continue
		}
		lo, hi := max(h.from, from), min(h.to, to)
		if lo >= hi {
			continue
		}
		w.From, w.To, w.By = lo, hi, h.thread
		out, from = append(out, w), hi
	}
	return out
}
