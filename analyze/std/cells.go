package std

import "slices"

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

// piece is a variable: size bytes at an address, in one granule.
type piece struct {
	at     uint64
	size   uint8
	atomic bool // some atomic access touches it
}

// granules calls yield with the pieces that an access of size bytes at addr
// takes, those of each granule together and in order. The slice is the caller's
// until the next call only.
func (c *cells) granules(addr, size uint64, yield func(pieces []piece) error) error {
	end := addr + size
	var room [8]piece
	for g := addr >> 3; g <= (end-1)>>3; g++ {
		cuts, atomic, pieces := c.cuts[g]|1, c.atomic[g], room[:0]
		for i := range uint64(8) {
			if cuts&(1<<i) == 0 {
				if n := len(pieces); n > 0 {
					pieces[n-1].size++
				}
				continue
			}
			pieces = append(pieces, piece{g<<3 + i, 1, atomic&(1<<i) != 0})
		}
		from, to := 0, len(pieces)
		for from < to && pieces[from].at < addr {
			from++
		}
		for to > from && pieces[to-1].at >= end {
			to--
		}
		if from == to {
			continue
		}
		if err := yield(pieces[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// plain are the pieces that no atomic access touches. It changes the slice.
func plain(pieces []piece) []piece {
	return slices.DeleteFunc(pieces, func(p piece) bool { return p.atomic })
}
