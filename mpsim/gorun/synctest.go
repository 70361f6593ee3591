package gorun

import (
	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// Bubbles of package testing/synctest (runtime/synctest.go). What a goroutine of a bubble
// did until it stopped or ended is ordered before the return of a Wait in the bubble, and
// before the return of the Run that created it.

// stopsInBubble is called when g, which runs on h, stops or ends.
func (k *Hooks) stopsInBubble(h *mpsim.Hart, g *goroutine) {
	if k.layout.gBubble == 0 {
		return
	}
	g.bubble = word(h, h.Fiber()+k.layout.gBubble)
	if g.bubble == 0 {
		return
	}
	handle := k.bubbles[g.bubble]
	if handle == 0 {
		handle = h.Handle()
		k.bubbles[g.bubble] = handle
	}
	h.EmitEvent(event.Event{Kind: event.Publish, Obj: handle})
}

// bubbleWaited handles the end of Wait, which has stopped.
func bubbleWaited(k *Hooks, c *call, _ uint64) { observe(c, k.bubbles[c.g.bubble]) }

// bubbleEnd handles the end of Run. From now on another bubble may have the address.
func bubbleEnd(k *Hooks, c *call, _ uint64) {
	observe(c, k.bubbles[c.g.bubble])
	delete(k.bubbles, c.g.bubble)
	c.g.bubble = 0
}
