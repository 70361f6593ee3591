package mpsim

import (
	"math"
	"slices"

	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Sync objects and atomic variables on a stack live as long as the frame that contains
// them. What uses the memory after that is a different object, even at the same address.
// When a function returns, event.Renew says so.
//
// An object's granule is noted at its first use, with the hart whose stack contains it. A
// function returns with the stack pointer at which it was called, so that one comparison
// shows whether a noted granule is gone: all below the stack pointer are.

// noObject is the value of Hart.object if nothing on the hart's stack is noted.
const noObject = math.MaxUint64

// noteObject notes that a sync object or an atomic variable is at addr. It returns what is
// known about the granule.
func (m *Machine) noteObject(addr uint64) version {
	g := addr & granuleMask
	v := m.versions[g]
	if v.noted {
		return v
	}
	v.noted = true
	m.versions[g] = v
	m.objectPages[g>>mem.PageShift] = struct{}{}
	for _, h := range m.harts {
		if g-h.stack.low < h.stack.span {
			i, _ := slices.BinarySearchFunc(h.objects, g, func(x, g uint64) int {
				if x > g {
					return -1
				}
				return 1
			})
			h.objects = slices.Insert(h.objects, i, g)
			h.object = h.objects[len(h.objects)-1]
			break
		}
	}
	return v
}

// leaveObjects is called when a function has returned with the stack pointer above a noted
// granule. If the hart runs on a stack that is not its own, or one stack may lie in a frame
// of another, no object is known to be gone.
func (h *Hart) leaveObjects() {
	sp := h.X[regSP]
	if !h.recording || sp-h.stack.low >= h.stack.span || len(h.m.suspended) > 0 || h.task.OnAltStack(sp) {
		return
	}
	n := len(h.objects)
	for n > 0 && h.objects[n-1] < sp {
		high := h.objects[n-1] + granuleSize
		low := h.objects[n-1]
		for n--; n > 0 && h.objects[n-1] == high && high < sp; n-- {
			high += granuleSize
		}
		h.m.rec.event(h, event.Event{Kind: event.Renew, PC: h.last.lastPC(), Obj: low, Arg: high - low})
	}
	h.forgetObjects(n)
}

// forgetObjects discards all noted granules of h's stack except the n outermost ones.
func (h *Hart) forgetObjects(n int) {
	for _, g := range h.objects[n:] {
		v := h.m.versions[g]
		v.noted, v.bytes = false, 0
		h.m.versions[g] = v
	}
	h.objects = h.objects[:n]
	h.object = noObject
	if n > 0 {
		h.object = h.objects[n-1]
	}
}

// renewed is called for events that begin a new life of memory. Atomic variables that were
// there no longer exist.
func (m *Machine) renewed(e *event.Event) {
	low, size := e.Obj, e.Arg
	switch e.Kind {
	case event.Alloc, event.Map, event.StackMap, event.Renew:
	default:
		return
	}
	if size == 0 || low+size < low || len(m.objectPages) == 0 {
		return
	}
	last := low + size - 1
	first, end := low>>mem.PageShift, last>>mem.PageShift
	if end-first >= uint64(len(m.objectPages)) {
		for n := range m.objectPages {
			if first <= n && n <= end {
				m.renewedIn(n, low, last)
			}
		}
		return
	}
	for n := first; n <= end; n++ {
		if _, some := m.objectPages[n]; some {
			m.renewedIn(n, low, last)
		}
	}
}

// renewedIn does the work of renewed for [low, last] in page n.
func (m *Machine) renewedIn(n, low, last uint64) {
	from, to := max(low&granuleMask, n<<mem.PageShift), min(last, (n+1)<<mem.PageShift-1)
	for g := from; g <= to; g += granuleSize {
		if v, ok := m.versions[g]; ok && v.bytes != 0 {
			v.bytes = 0
			m.versions[g] = v
		}
	}
}
