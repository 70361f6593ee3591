package race

// atomicSet is the bytes that atomic accesses touch.
type atomicSet struct {
	granules map[uint64]uint8
	// filter has a bit for each of its hash values: most granules are not in
	// the set, and this says so at the price of a load.
	filter [1 << 10]uint64
}

// slot is where a granule's bit stands in the filter.
func slot(granule uint64) (word uint64, bit uint64) {
	h := granule * 0x9e3779b97f4a7c15 >> 48
	return h >> 6, 1 << (h & 63)
}

func (s *atomicSet) add(addr uint64) {
	word, bit := slot(addr >> 3)
	s.filter[word] |= bit
	s.granules[addr>>3] |= 1 << (addr & 7)
}

// bytes is the mask of atomic bytes of a granule.
func (s *atomicSet) bytes(granule uint64) uint8 {
	if word, bit := slot(granule); s.filter[word]&bit == 0 {
		return 0
	}
	return s.granules[granule]
}
