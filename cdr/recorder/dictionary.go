package recorder

import "hindsight/wpp"

// dictionary numbers the terminals of one thread and epoch: an open-addressing hash
// table. A slot holds the number + 1 of a terminal in its low half and the hash in its
// high half; 0 is empty.
type dictionary[T comparable] struct {
	terms []T
	slots []uint64 // its length is a power of two, or 0
}

const firstSlots = 16

// id returns the number of x, whose hash the caller has computed, and adds x if it is
// new.
func (d *dictionary[T]) id(x T, hash uint32) (id wpp.Terminal, isNew bool) {
	if len(d.terms)*2 >= len(d.slots) {
		d.grow()
	}
	mask := uint32(len(d.slots) - 1)
	at := hash & mask
	for ; d.slots[at] != 0; at = (at + 1) & mask {
		if s := d.slots[at]; uint32(s>>32) == hash && d.terms[uint32(s)-1] == x {
			return wpp.Terminal(uint32(s) - 1), false
		}
	}
	d.terms = append(d.terms, x)
	d.slots[at] = uint64(hash)<<32 | uint64(len(d.terms))
	return wpp.Terminal(len(d.terms) - 1), true
}

func (d *dictionary[T]) grow() {
	old := d.slots
	d.slots = make([]uint64, max(firstSlots, 2*len(old)))
	mask := uint32(len(d.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := uint32(s>>32) & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = s
	}
}

// hashOf mixes two numbers into a hash.
func hashOf(a, b uint64) uint32 {
	const m = 0x9E3779B97F4A7C15
	x := a*m ^ b
	x = (x ^ x>>29) * m
	return uint32(x >> 32)
}
