package std

// cells cuts memory into the variables of the text: pieces of 8-byte granules
// that every access takes whole or not at all, so that two accesses have a
// byte in common if and only if they have a variable in common. Only granules
// that are not always accessed whole take memory.
type cells struct {
	cuts   map[uint64]uint8 // bit i: a variable begins at byte i, other than 0
	atomic map[uint64]uint8 // bytes that belong to atomic variables
}

func newCells() *cells { return &cells{cuts: map[uint64]uint8{}, atomic: map[uint64]uint8{}} }

// cut notes an access of size bytes.
func (c *cells) cut(addr, size uint64) {
	if addr&7 == 0 && size == 8 {
		return
	}
	for _, at := range [2]uint64{addr, addr + size} {
		if at&7 != 0 {
			c.cuts[at>>3] |= 1 << (at & 7)
		}
	}
}

// reserve notes an atomic access.
func (c *cells) reserve(addr, size uint64) {
	c.cut(addr, size)
	for i := range size {
		c.atomic[(addr+i)>>3] |= 1 << ((addr + i) & 7)
	}
}

// variables calls yield with the first byte of each variable that begins in
// [addr, addr+size), and whether an atomic access touches it.
func (c *cells) variables(addr, size uint64, yield func(at uint64, atomic bool) error) error {
	end := addr + size
	for g := addr >> 3; g <= (end-1)>>3; g++ {
		cuts, atomic := c.cuts[g]|1, c.atomic[g]
		for i := range uint64(8) {
			at := g<<3 + i
			if at < addr || at >= end || cuts&(1<<i) == 0 {
				continue
			}
			if err := yield(at, atomic&(1<<i) != 0); err != nil {
				return err
			}
		}
	}
	return nil
}
