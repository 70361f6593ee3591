package mpsim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hindsight/tracefmt/event"
)

// Target is a place where the policy Coverage holds a thread, once: when it requests the
// lock or semaphore Object for the first time. It continues when another thread has
// requested the object, or, if Last is set, when nothing else can run.
type Target struct {
	Thread event.ThreadID
	Object uint64 // address
	Last   bool
}

// maxTargets bounds the targets of a run.
const maxTargets = 64

// String returns the form that [ParseTargets] reads: T1@0x1234, with + if Last.
func (t Target) String() string {
	last := ""
	if t.Last {
		last = "+"
	}
	return fmt.Sprintf("T%d@%#x%s", t.Thread, t.Object, last)
}

// TargetsText joins targets with commas.
func TargetsText(targets []Target) string {
	parts := make([]string, len(targets))
	for i, t := range targets {
		parts[i] = t.String()
	}
	return strings.Join(parts, ",")
}

// ParseTargets is the inverse of [TargetsText].
func ParseTargets(text string) ([]Target, error) {
	if text == "" {
		return nil, nil
	}
	var all []Target
	for part := range strings.SplitSeq(text, ",") {
		rest, last := strings.CutSuffix(part, "+")
		thread, object, ok := strings.Cut(rest, "@")
		number, isThread := strings.CutPrefix(thread, "T")
		id, err := strconv.ParseUint(number, 10, 32)
		addr, err2 := strconv.ParseUint(object, 0, 64)
		if !ok || !isThread || err != nil || err2 != nil || len(all) == maxTargets {
			return nil, fmt.Errorf("%q: want a thread and the address of a lock, as in T1@0x1234, and at most %d of them", part, maxTargets)
		}
		all = append(all, Target{event.ThreadID(id), addr, last})
	}
	return all, nil
}

// forever is the time until which a thread is held for a target.
const forever = math.MaxInt64

// target holds the thread if it requests an object that is a target.
func (h *Hart) target(obj uint64) bool {
	v := &h.m.sched.vary
	for i, t := range v.targets {
		if t.Thread != h.id || t.Object != obj {
			continue
		}
		v.targets = append(v.targets[:i:i], v.targets[i+1:]...)
		if t.Last {
			obj = anywhere
		}
		h.parking = parking{on: true, until: forever, obj: obj, words: h.parking.words[:0]}
		v.held = v.held || obj != anywhere
		v.avoid, v.longHold = h, true
		if h.left > 1 { // see turn
			h.granted -= h.left - 1
			h.left = 1
		}
		return true
	}
	return false
}

// others collects the harts that could run and are not held for a target, when all are
// parked. To that end it lets a sleep end. Now and then it collects none, since what the
// others poll may depend on the held thread.
func (v *variety) others(m *Machine) {
	if !v.longHold {
		return
	}
	v.wakeSleeper(m)
	if v.rng.IntN(slowOf) != 0 {
		v.runnable(m, func(h *Hart) bool { return !h.parking.on || h.parking.until != forever })
	}
}
