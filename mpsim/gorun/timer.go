package gorun

import (
	"slices"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Timers. The goroutine that set a timer is ordered before the timer's effect: the call of
// AfterFunc's function, or the value sent on its channel (the race detector has the edge at
// the same places).

// timerMade handles the end of newTimer, and timerSet the beginning of resetTimer (t, …).
func timerMade(k *Hooks, c *call, result uint64) {
	k.timers[result+k.layout.timer] = publish(c)
}

func timerSet(k *Hooks, c *call) bool {
	k.timers[c.Arg(0)+k.layout.timer] = publish(c)
	return false
}

// timerRuns handles (*timer).unlockAndRun (t, now), which runs on the scheduler's stack or,
// for a timer with a channel, on that of the goroutine that uses the channel.
func timerRuns(k *Hooks, c *call) bool {
	c.g.timer, c.g.inTimer = k.timers[c.Arg(0)], true
	return true
}

func timerRan(_ *Hooks, c *call, _ uint64) { c.g.timer, c.g.inTimer = 0, false }

// createdByTimer handles a goroutine that a timer created. It is ordered after the
// goroutine that set the timer, and after nothing else.
func (k *Hooks) createdByTimer(c *call, g *goroutine) {
	k.strands++
	by := k.strands
	k.strands++
	g.strand = k.strands
	emit(c, event.StrandCreate, by)
	c.EmitEvent(event.Event{Kind: event.StrandBegin, Obj: by, Arg: 8, Size: 8})
	observe(c, c.g.timer)
	emit(c, event.StrandCreate, g.strand)
	c.EmitEvent(event.Event{Kind: event.StrandEnd, Obj: by, Arg: 8, Size: 8})
}

// finalizerSet handles SetFinalizer and AddCleanup. The call is ordered before the
// functions that the runtime will call because of it.
func finalizerSet(k *Hooks, c *call) bool {
	k.finalizers = append(k.finalizers, publish(c))
	if k.lastUses == 0 && !image.GoStandard(k.function(c.Site()).pkg) {
		k.lastUses = c.Handle()
	}
	return false
}

// reachable is called when a goroutine stops, after which the garbage collector may find
// that the goroutine no longer uses an object. What it did so far is ordered before the
// object's finalizer. This matters only in programs that set finalizers themselves.
func (k *Hooks) reachable(h *mpsim.Hart) {
	if k.lastUses != 0 {
		h.EmitEvent(event.Event{Kind: event.Publish, Obj: k.lastUses})
	}
}

// finalizerRuns handles the place where the runtime's goroutine calls finalizers.
func finalizerRuns(k *Hooks, c *call) bool {
	if c.g.strand != 0 {
		observe(c, k.lastUses)
		observeAll(c, slices.Clone(k.finalizers[c.g.finalized:]))
		c.g.finalized = len(k.finalizers)
	}
	return false
}

// cleanup handles AddCleanup, or the function in it that the runtime calls later.
func cleanup(k *Hooks, c *call) bool {
	if strings.Contains(k.function(c.Func()).name, "].func") {
		return finalizerRuns(k, c)
	}
	return finalizerSet(k, c)
}
