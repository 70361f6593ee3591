package mpsim

import (
	"math"
	"slices"

	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Sync objects and atomic variables on a stack live as long as the frame that
// they are in. What uses the memory next, be it at the same address, is
// something else: event.Renew says so when a function returns.
//
// An object's granule is noted when it is used first, with the hart whose stack
// it is on. A function returns with the stack pointer at which it was called, so
// that one comparison tells whether a noted granule is gone: all below the stack
// pointer are.

// noObject is Hart.object when nothing on the hart's stack is noted.
const noObject = math.MaxUint64

// noteObject notes that a sync object or an atomic variable is at addr. It
// returns what is known of the granule.
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

// leaveObjects is called when a function has returned with the stack pointer
// above a noted granule. Where the hart runs on another stack than its own, or
// one stack may be in the frame of another, nothing is known to be gone.
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

// forgetObjects forgets all but the n outermost noted granules of h's stack.
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

// renewed is told of events that begin a new life of memory: atomic variables that
// were there are no more.
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

// renewedIn is renewed for [low, last] in page n.
func (m *Machine) renewedIn(n, low, last uint64) {
	from, to := max(low&granuleMask, n<<mem.PageShift), min(last, (n+1)<<mem.PageShift-1)
	for g := from; g <= to; g += granuleSize {
		if v, ok := m.versions[g]; ok && v.bytes != 0 {
			v.bytes = 0
			m.versions[g] = v
		}
	}
}
