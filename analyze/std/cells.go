package std

// cells divides memory into the variables of the text. These are pieces of 8-byte
// granules that every access accesses whole or not at all, so that two accesses have a
// common byte if and only if they have a common variable. Only granules that are not
// always accessed whole take memory.
type cells struct {
	cuts map[uint64]uint8 // bit i: a variable begins at byte i; bit 0 is not used
}

func newCells() *cells { return &cells{cuts: map[uint64]uint8{}} }

// cut adds an access of size bytes.
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

// piece is a variable: size bytes at an address, in one granule.
type piece struct {
	at     uint64
	size   uint8
	atomic bool // it belongs to an atomic variable, in the current life
}

// granules calls yield with the pieces that an access of size bytes at addr accesses,
// those of each granule together and in order. The slice is only valid until the next
// call.
func (c *cells) granules(addr, size uint64, yield func(pieces []piece) error) error {
	end := addr + size
	var room [8]piece
	for g := addr >> 3; g <= (end-1)>>3; g++ {
		cuts, pieces := c.cuts[g]|1, room[:0]
		for i := range uint64(8) {
			if cuts&(1<<i) == 0 {
				if n := len(pieces); n > 0 {
					pieces[n-1].size++
				}
				continue
			}
			pieces = append(pieces, piece{g<<3 + i, 1, false})
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
