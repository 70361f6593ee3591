package gorun

import "hindsight/tracefmt/event"

// waitEnd handles the end of (*WaitGroup).Wait.
func waitEnd(_ *Hooks, c *call, _ uint64) { recordAt(c, event.SemWait, c.Arg(0)) }

func recordAt(c *call, kind event.Kind, obj uint64) {
	if c.g.strand != 0 {
		c.Record(event.Event{Kind: kind, Obj: obj})
	}
}

func await(_ *Hooks, c *call) bool { return c.g.strand != 0 }

// pools handles (*Pool).Put (x any). The goroutine that gets x is ordered after it.
func pools(_ *Hooks, c *call) bool {
	if x := c.Arg(2); x != 0 {
		recordAt(c, event.SemPost, x)
	}
	return false
}

// unpooled handles the end of (*Pool).Get.
func unpooled(_ *Hooks, c *call, _ uint64) {
	const regA1 = 11
	if x := c.X[regA1]; x != 0 {
		recordAt(c, event.SemWait, x)
	}
}

// readLocked and writeLocked handle the ends of the semaphore operations with which a
// reader or the writer waits for an RWMutex.
func readLocked(_ *Hooks, c *call, _ uint64)  { recordAt(c, event.ReadLock, c.Arg(0)-rwReaderSem) }
func writeLocked(_ *Hooks, c *call, _ uint64) { recordAt(c, event.WriteLock, c.Arg(0)-rwWriterSem) }

// notifies handles Signal or Broadcast. The goroutines that are woken are ordered after the
// caller.
func notifies(_ *Hooks, c *call) bool {
	if c.g.strand == 0 {
		return false
	}
	c.g.waking = publish(c)
	return true
}

func notified(_ *Hooks, c *call, _ uint64) { c.g.waking = 0 }

// readies handles ready (g, …).
func readies(k *Hooks, c *call) bool {
	if other := k.goroutines[c.Arg(0)]; other != nil && c.g.waking != 0 {
		other.owed = append(other.owed, c.g.waking)
	}
	return false
}
