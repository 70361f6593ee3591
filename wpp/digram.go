package wpp

// digrams is the index of the pairs of adjacent symbols: an open-addressing hash table. A
// slot holds the index of the first node of a pair in its low half, and the hash of the
// pair in its high half. The pair itself is not stored; it is the symbol of the node and
// the symbol of the next node. An entry must therefore be removed before its node or the
// link to the next node changes.
//
// The hash in the slot avoids reading the nodes of other pairs. They are scattered in
// memory, and waiting for them is most of the cost of a large grammar.
//
// Probing is linear; removal shifts the following entries back, so that the table never
// fills with marks of removed entries.
type digrams struct {
	slots []uint64 // its length is a power of two, or 0; 0 is an empty slot
	used  uint32
	shift uint8 // 32 - log2(len(slots))
}

const hashFactor = 0x9E3779B97F4A7C15

// hashPair returns the hash of a pair. Its highest bits are the pair's home.
func hashPair(a, b uint32) uint32 {
	return uint32((uint64(a)<<32 | uint64(b)) * hashFactor >> 32)
}

func (d *digrams) clear() {
	clear(d.slots)
	d.used = 0
}

// findOrAdd returns the entry with the same pair as node i. If there is none, it adds i
// and returns 0.
func (d *digrams) findOrAdd(nodes []node, i uint32) uint32 {
	if int(d.used)*4 >= len(d.slots)*3 {
		d.grow()
	}
	slot, hash, m := d.find(nodes, i)
	if m == 0 {
		d.slots[slot] = uint64(hash)<<32 | uint64(i)
		d.used++
	}
	return m
}

// set makes i the entry of its pair.
func (d *digrams) set(nodes []node, i uint32) {
	if int(d.used)*4 >= len(d.slots)*3 {
		d.grow()
	}
	slot, hash, m := d.find(nodes, i)
	if m == 0 {
		d.used++
	}
	d.slots[slot] = uint64(hash)<<32 | uint64(i)
}

// find returns the slot of the pair at node i, the hash of the pair, and the entry in the
// slot, which is 0 if the slot is empty. The table must not be full.
func (d *digrams) find(nodes []node, i uint32) (slot, hash, entry uint32) {
	a := nodes[i].sym
	b := nodes[nodes[i].next].sym
	hash = hashPair(a, b)
	slots := d.slots
	mask := uint32(len(slots) - 1)
	for s := hash >> (d.shift & 31) & mask; ; s = (s + 1) & mask {
		e := slots[s]
		if e == 0 {
			return s, hash, 0
		}
		if uint32(e>>32) != hash {
			continue
		}
		if n := &nodes[uint32(e)]; n.sym == a && nodes[n.next].sym == b {
			return s, hash, uint32(e)
		}
	}
}

// remove removes node i from the table if it is the entry of its pair.
func (d *digrams) remove(nodes []node, i uint32) {
	if d.used == 0 {
		return
	}
	slots := d.slots
	mask := uint32(len(slots) - 1)
	shift := d.shift & 31
	hole := hashPair(nodes[i].sym, nodes[nodes[i].next].sym) >> shift & mask
	for uint32(slots[hole]) != i {
		if slots[hole] == 0 {
			return
		}
		hole = (hole + 1) & mask
	}
	d.used--
	for s := (hole + 1) & mask; ; s = (s + 1) & mask {
		e := slots[s]
		if e == 0 {
			break
		}
		// The entry may move back to the hole unless the hole is before its home.
		home := uint32(e>>32) >> shift
		if (s-home)&mask >= (s-hole)&mask {
			slots[hole] = e
			hole = s
		}
	}
	slots[hole] = 0
}

func (d *digrams) grow() {
	old := d.slots
	size := len(old) * 2
	if size == 0 {
		size = firstDigram
	}
	d.slots = make([]uint64, size)
	d.shift = 32
	for n := size; n > 1; n >>= 1 {
		d.shift--
	}
	mask := uint32(size - 1)
	for _, e := range old {
		if e == 0 {
			continue
		}
		s := uint32(e>>32) >> (d.shift & 31) & mask
		for d.slots[s] != 0 {
			s = (s + 1) & mask
		}
		d.slots[s] = e
	}
}
