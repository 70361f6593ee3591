package wpp

// digrams is the index of the pairs of adjacent symbols: an open-addressing
// hash table of node indices. The key of an entry is not stored; it is the
// symbol of the node and the symbol of the node after it. So an entry must be
// removed before its node or the link after it changes.
//
// Probing is linear; removal shifts the entries after it back, so that the
// table never fills with marks of removed entries.
type digrams struct {
	slots []uint32 // length is a power of two, or 0; 0 is an empty slot
	used  uint32
	shift uint8 // 64 - log2(len(slots))
}

const hashFactor = 0x9E3779B97F4A7C15

func (d *digrams) home(a, b uint32) uint32 {
	return uint32((uint64(a)<<32 | uint64(b)) * hashFactor >> (d.shift & 63))
}

func (d *digrams) clear() {
	clear(d.slots)
	d.used = 0
}

// findOrAdd returns the entry with the same pair as node i, or adds i and returns
// 0 when there is none.
func (d *digrams) findOrAdd(nodes []node, i uint32) uint32 {
	if int(d.used)*4 >= len(d.slots)*3 {
		d.grow(nodes)
	}
	slot, m := d.find(nodes, i)
	if m == 0 {
		d.slots[slot] = i
		d.used++
	}
	return m
}

// set makes i the entry of its pair.
func (d *digrams) set(nodes []node, i uint32) {
	if int(d.used)*4 >= len(d.slots)*3 {
		d.grow(nodes)
	}
	slot, m := d.find(nodes, i)
	if m == 0 {
		d.used++
	}
	d.slots[slot] = i
}

// find returns the slot of the pair at node i and the entry there; 0 when the
// slot is empty. The table must not be full.
func (d *digrams) find(nodes []node, i uint32) (slot, entry uint32) {
	a := nodes[i].sym
	b := nodes[nodes[i].next].sym
	slots := d.slots
	mask := uint32(len(slots) - 1)
	for s := d.home(a, b) & mask; ; s = (s + 1) & mask {
		m := slots[s]
		if m == 0 {
			return s, 0
		}
		if n := &nodes[m]; n.sym == a && nodes[n.next].sym == b {
			return s, m
		}
	}
}

// remove takes node i out of the table if it is the entry of its pair.
func (d *digrams) remove(nodes []node, i uint32) {
	if d.used == 0 {
		return
	}
	slots := d.slots
	mask := uint32(len(slots) - 1)
	hole := d.home(nodes[i].sym, nodes[nodes[i].next].sym) & mask
	for slots[hole] != i {
		if slots[hole] == 0 {
			return
		}
		hole = (hole + 1) & mask
	}
	d.used--
	for s := (hole + 1) & mask; ; s = (s + 1) & mask {
		m := slots[s]
		if m == 0 {
			break
		}
		n := &nodes[m]
		home := d.home(n.sym, nodes[n.next].sym)
		// m may move back to the hole unless that is before its home.
		if (s-home)&mask >= (s-hole)&mask {
			slots[hole] = m
			hole = s
		}
	}
	slots[hole] = 0
}

func (d *digrams) grow(nodes []node) {
	old := d.slots
	size := len(old) * 2
	if size == 0 {
		size = firstDigram
	}
	d.slots = make([]uint32, size)
	d.shift = 64
	for n := size; n > 1; n >>= 1 {
		d.shift--
	}
	mask := uint32(size - 1)
	for _, m := range old {
		if m == 0 {
			continue
		}
		n := &nodes[m]
		s := d.home(n.sym, nodes[n.next].sym)
		for d.slots[s] != 0 {
			s = (s + 1) & mask
		}
		d.slots[s] = m
	}
}
