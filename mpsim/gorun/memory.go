package gorun

import (
	"math"

	"hindsight/tracefmt/event"
)

// What the runtime does to the program's memory when the program calls it. The runtime's
// functions that copy and compare bytes are recorded themselves (copying).

// allocates handles the beginning of an allocator function (size, …).
func allocates(_ *Hooks, c *call) bool {
	if c.g.allocating || c.g.strand == 0 {
		return false
	}
	c.g.allocating = true
	return true
}

// allocated handles its end, with the block. Objects smaller than a granule share one with
// others. The first of them starts the granule's life. Addresses rise within a life, so an
// object at a lower address than the last one belongs to another life. That happens when
// the goroutine with the first object was preempted on its way out of the allocator.
func allocated(k *Hooks, c *call, block uint64) {
	const granule = 8
	c.g.allocating = false
	size := c.Arg(0)
	if block == 0 || size == 0 {
		return
	}
	first, at := block&^(granule-1), uint8(block%granule)
	last, shared := k.tiny[first]
	switch {
	case at != 0:
		k.tiny[first] = at
		if shared && at > last {
			return
		}
	case size < granule:
		k.tiny[first] = 0
	case shared:
		delete(k.tiny, first)
	}
	c.Record(event.Event{Kind: event.Alloc, Obj: first, Arg: uint64(at) + size})
}

func allocatesNothing(_ *Hooks, c *call) { c.g.allocating = false }

// access records an access by the caller, if recorded code made the call.
func access(c *call, kind event.Kind, addr, n uint64) {
	if c.g.strand != 0 && n != 0 && addr != 0 && c.FromProgram() {
		c.Record(event.Event{Kind: kind, Obj: addr, Arg: min(n, math.MaxInt64)})
	}
}

// typeSize returns the size of the type of a type descriptor.
func typeSize(c *call, typ uint64) uint64 { return word(c.Hart, typ) }

// mapTypeKey is the offset of the key's type in a map type.
const mapTypeKey = 48

// mapAccess records reads or writes of a map's header. key is the number of the argument
// that points to the key, or 0 if the key is passed by value.
func mapAccess(kind event.Kind, key int) func(k *Hooks, c *call) bool {
	return func(_ *Hooks, c *call) bool {
		access(c, kind, c.Arg(1), 1)
		if key != 0 && c.Arg(1) != 0 {
			size := typeSize(c, word(c.Hart, c.Arg(0)+mapTypeKey))
			access(c, event.RangeRead, c.Arg(key), size)
			c.Carries(c.Arg(key), size)
		}
		return false
	}
}

// mapLength handles reflect's function (map).
func mapLength(_ *Hooks, c *call) bool {
	const countBytes = 8
	access(c, event.RangeRead, c.Arg(0), countBytes)
	return false
}

// iterNext handles mapIterNext (iterator), which reads the map.
func iterNext(k *Hooks, c *call) bool {
	access(c, event.RangeRead, word(c.Hart, c.Arg(0)+k.layout.iterMap), 1)
	return false
}

// moves handles typedmemmove (type, to, from).
func moves(_ *Hooks, c *call) bool {
	n := typeSize(c, c.Arg(0))
	access(c, event.RangeWrite, c.Arg(1), n)
	access(c, event.RangeRead, c.Arg(2), n)
	return false
}

// copiesSlice handles typedslicecopy (type, to, length, from, length).
func copiesSlice(_ *Hooks, c *call) bool {
	n := min(c.Arg(2), c.Arg(4)) * typeSize(c, c.Arg(0))
	access(c, event.RangeWrite, c.Arg(1), n)
	access(c, event.RangeRead, c.Arg(3), n)
	return false
}

// copiesReflected handles reflect's variant (type, to slice, from slice).
func copiesReflected(_ *Hooks, c *call) bool {
	n := min(c.Arg(2), c.Arg(5)) * typeSize(c, c.Arg(0))
	access(c, event.RangeWrite, c.Arg(1), n)
	access(c, event.RangeRead, c.Arg(4), n)
	return false
}

// clears handles typedmemclr (type, address).
func clears(_ *Hooks, c *call) bool {
	access(c, event.RangeWrite, c.Arg(1), typeSize(c, c.Arg(0)))
	return false
}

// accesses handles functions whose arguments contain the address and length of what they
// access, at these numbers.
func accesses(kind event.Kind, addr, length int) func(k *Hooks, c *call) bool {
	return func(_ *Hooks, c *call) bool {
		access(c, kind, c.Arg(addr), c.Arg(length))
		return false
	}
}

// grows handles growslice (from, new length, old capacity, number of new elements, type).
func grows(_ *Hooks, c *call) bool {
	access(c, event.RangeRead, c.Arg(0), (c.Arg(1)-c.Arg(3))*typeSize(c, c.Arg(4)))
	return false
}

// makesCopy handles makeslicecopy (type, length, length of from, from).
func makesCopy(_ *Hooks, c *call) bool {
	access(c, event.RangeRead, c.Arg(3), min(c.Arg(1), c.Arg(2))*typeSize(c, c.Arg(0)))
	return false
}

// boxes handles convT (type, from).
func boxes(_ *Hooks, c *call) bool {
	access(c, event.RangeRead, c.Arg(1), typeSize(c, c.Arg(0)))
	return false
}

// readsRunes handles slicerunetostring (buffer, from, length).
func readsRunes(_ *Hooks, c *call) bool {
	access(c, event.RangeRead, c.Arg(1), 4*c.Arg(2))
	c.Carries(c.Arg(1), 4*c.Arg(2))
	return false
}
