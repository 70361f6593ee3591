package app

// Sizes of the search for repeats. They are part of the format.
const (
	repeatRing  = 1 << 20 // directions that are kept
	repeatTable = 18      // bits of the table of places
	repeatHash  = 24      // directions that are hashed to find a place
	repeatLeast = 16      // directions that must agree at least
	repeatMost  = 32      // directions that are compared at most
	repeatFar   = 64      // weight of a place that is found by the last 128 directions

	repeatContexts = 4 * 2 << runBits // pairs of a conditional for repeats
)

// repeats looks for the last time that control reached a conditional by the same
// directions, and predicts that it continues in the same way.
type repeats struct {
	ring  []byte    // directions by place, modulo the length of ring
	table []uint32  // places by the hash of the last directions; 0: none
	far   []uint32  // places by the hash of the last 128 directions
	long  uint32    // the last 32 directions
	past  [2]uint64 // the last 128 directions, the latest in the first element
	pos   uint32    // the next place, counted from 1
	at    uint32    // place of the direction that is predicted
	len   uint32    // directions that have agreed; 0: no prediction
}

func (r *repeats) reset() {
	if r.ring == nil {
		r.ring, r.table, r.far = make([]byte, repeatRing), make([]uint32, 1<<repeatTable), make([]uint32, 1<<repeatTable)
	}
	clear(r.ring)
	clear(r.table)
	clear(r.far)
	r.past = [2]uint64{}
	r.long, r.pos, r.at, r.len = 0, 1, 0, 0
}

// look returns the context in which a conditional's next direction is coded. ok is false
// when nothing is predicted.
func (r *repeats) look(number uint32) (context uint32, ok bool) {
	h := ((r.long<<(32-repeatHash)>>(32-repeatHash))*0x9e3779b1 ^ number*0x85ebca6b) * 0xc2b2ae35 >> (32 - repeatTable)
	r.lookFar(number)
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

// lookFar looks for the last time that the previous 128 directions were the same. Such a
// place is better than one that has agreed for fewer directions.
func (r *repeats) lookFar(number uint32) {
	h := (r.past[0]*0x9e3779b97f4a7c15 ^ r.past[1]*0xc2b2ae3d27d4eb4f ^ uint64(number)*0x85ebca6b85ebca6b) * 0xff51afd7ed558ccd >> (64 - repeatTable)
	at := r.far[h]
	r.far[h] = r.pos
	if r.len >= repeatFar || at == 0 || r.pos-at >= repeatRing-repeatMost {
		return
	}
	before := r.at
	r.at = at
	if r.agree() > 0 {
		r.len = repeatFar
	} else {
		r.at = before
	}
}

// agree counts the directions before at that equal the last ones. It returns 0 if they
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

// add adds a direction.
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
	r.past = [2]uint64{r.past[0]<<1 | uint64(y), r.past[1]<<1 | r.past[0]>>63}
}
