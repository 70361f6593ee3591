package app

// Sizes of the search for repeats. They are part of the format.
const (
	repeatRing  = 1 << 20 // directions that are kept
	repeatTable = 18      // bits of the table of places
	repeatHash  = 24      // directions that a place is found by
	repeatLeast = 16      // directions that must agree
	repeatMost  = 32      // that are looked at

	repeatContexts = 4 * 2 << runBits // pairs that a conditional has for repeats
)

// repeats looks for the last time that control came to a conditional by the
// same directions, and foresees that it goes on as then.
type repeats struct {
	ring  []byte   // directions by place, modulo its length
	table []uint32 // places by hash; 0 is none
	long  uint32   // the last 32 directions
	pos   uint32   // the next place; from 1
	at    uint32   // place of the direction that is foreseen
	len   uint32   // directions that have agreed; 0 when none is foreseen
}

func (r *repeats) reset() {
	if r.ring == nil {
		r.ring, r.table = make([]byte, repeatRing), make([]uint32, 1<<repeatTable)
	}
	clear(r.ring)
	clear(r.table)
	r.long, r.pos, r.at, r.len = 0, 1, 0, 0
}

// look gives the context in which a conditional's next direction is coded:
// false when nothing is foreseen.
func (r *repeats) look(number uint32) (context uint32, ok bool) {
	h := ((r.long<<(32-repeatHash)>>(32-repeatHash))*0x9e3779b1 ^ number*0x85ebca6b) * 0xc2b2ae35 >> (32 - repeatTable)
	if r.len == 0 {
		r.at = r.table[h]
		if r.at != 0 && r.pos-r.at < repeatRing-repeatMost {
			r.len = r.agree()
		}
	}
	r.table[h] = r.pos
	if r.len == 0 {
		return 0, false
	}
	context = uint32(r.ring[r.at%repeatRing])
	switch {
	case r.len >= 512:
		context |= 3 << 1
	case r.len >= 128:
		context |= 2 << 1
	case r.len >= 32:
		context |= 1 << 1
	}
	return context, true
}

// agree counts the directions before at that are as the last ones; 0 when they
// are too few.
func (r *repeats) agree() uint32 {
	n := uint32(0)
	for n < repeatMost && n+1 < r.at && r.ring[(r.at-1-n)%repeatRing] == byte(r.long>>n&1) {
		n++
	}
	if n < repeatLeast {
		return 0
	}
	return n
}

// add takes a direction up.
func (r *repeats) add(y uint32) {
	if r.len > 0 {
		if uint32(r.ring[r.at%repeatRing]) != y {
			r.len = 0
		} else if r.at++; r.len < 1<<16 {
			r.len++
		}
	}
	r.ring[r.pos%repeatRing] = byte(y)
	r.pos++
	r.long = r.long<<1 | y
}
