package app

import "hindsight/tracefmt/rangecode"

// pair counts how often each direction was taken. The counters are stored minus 1, so
// that zeroed memory is a valid pair.
type pair [2]uint16

// conditional is a branch, or a decision that is part of an indirect jump.
type conditional struct {
	local uint32   // its last directions
	table [][]pair // by context, in rows; shared by conditionals whose numbers collide
	runs  runs     // with Options.Loops
	num   uint32
}

// runs counts how often in a row a conditional takes the same direction.
type runs struct {
	way          uint32    // the last direction
	run          uint32    // how often in a row so far
	last, before [2]uint32 // by direction: the length of the last run that ended, and of the previous one
}

// runBits is the number of context bits that runs add.
const runBits = 2

// context reports whether the present run is as long as the previous one in that
// direction, and whether it is longer by as much as that one was longer than its
// predecessor.
func (r *runs) context() uint32 {
	last, before := r.last[r.way], r.before[r.way]
	return truth(r.run == last) | truth(r.run == 2*last-before)<<1
}

// add adds a direction. Runs are counted modulo 2^32.
func (r *runs) add(y uint32) {
	if y == r.way {
		r.run++
		return
	}
	r.before[r.way], r.last[r.way] = r.last[r.way], r.run
	r.way, r.run = y, 1
}

// model is the alloyed predictor with the arithmetic coder that it feeds. It serves both
// encoding and decoding (section 5.2).
type model struct {
	decoding bool
	enc      rangecode.Encoder
	dec      rangecode.Decoder

	global      uint32
	globalBits  uint
	globalMask  uint32
	localMask   uint32
	step, limit uint32
	loops       bool
	runShift    uint // runBits with loops, or 0
	repeating   bool
	repeats     repeats

	slots    [][][]pair // by the low bits of the conditional's number; nil until needed
	contexts uint32     // contexts of a conditional, without those of repeats
	slabs    [][]pair   // memory of the rows
	rows     int        // number of rows
	count    uint32     // conditionals so far
	ids      []pair     // counters of the asymmetric scheme, hashed
	idSite   uint32     // jumps of the asymmetric scheme so far
}

// idBits is the size of the table of the asymmetric scheme.
const idBits = 16

func newModel(o *Options, decoding bool) *model {
	m := &model{
		decoding:   decoding,
		globalBits: uint(o.Global),
		globalMask: 1<<o.Global - 1,
		localMask:  1<<o.Local - 1,
		global:     1<<o.Global - 1,
		step:       uint32(o.Step),
		limit:      uint32(o.Limit),
		loops:      o.Loops,
		repeating:  o.Repeats,
		slots:      make([][][]pair, 1<<o.Table),
	}
	m.contexts = (m.localMask + 1) << m.globalBits
	if m.loops {
		m.runShift = runBits
		m.contexts <<= runBits
	}
	if m.repeating {
		m.repeats.reset()
	}
	return m
}

// reset discards everything that was learned.
func (m *model) reset() {
	for _, s := range m.slots {
		clear(s)
	}
	m.rows = 0
	clear(m.ids)
	if m.repeating {
		m.repeats.reset()
	}
	m.count, m.idSite, m.global = 0, 0, m.globalMask
}

// conditional numbers a new conditional.
func (m *model) conditional() *conditional {
	slot := &m.slots[m.count&uint32(len(m.slots)-1)]
	if *slot == nil {
		size := m.contexts
		if m.repeating {
			size += repeatContexts
		}
		*slot = make([][]pair, (size+rowPairs-1)/rowPairs)
	}
	m.count++
	return &conditional{local: m.localMask, table: *slot, runs: runs{way: 1, run: 1}, num: m.count - 1}
}

// A row is created when one of its contexts first occurs. Most conditionals have few
// contexts that occur, and these should be adjacent in memory.
const (
	rowBits  = 6
	rowPairs = 1 << rowBits
	slabRows = 1 << 8
)

// pair returns the counters of a context of a conditional.
func (m *model) pair(c *conditional, context uint32) *pair {
	row := c.table[context>>rowBits]
	if row == nil {
		row = m.row()
		c.table[context>>rowBits] = row
	}
	return &row[context%rowPairs]
}

// row allocates a row.
func (m *model) row() []pair {
	if m.rows/slabRows == len(m.slabs) {
		m.slabs = append(m.slabs, make([]pair, slabRows*rowPairs))
	}
	row := m.slabs[m.rows/slabRows][m.rows%slabRows*rowPairs:][:rowPairs:rowPairs]
	m.rows++
	clear(row) // it may have been used before a reset
	return row
}

// decide codes a direction of a conditional, and learns from it. When decoding, y is
// ignored.
func (m *model) decide(c *conditional, y uint32) uint32 {
	context := c.local<<m.globalBits | m.global
	if !m.repeating && !m.loops { // the paper's model
		y = m.code(m.pair(c, context), y)
		c.local = (c.local<<1 | y) & m.localMask
		m.global = (m.global<<1 | y) & m.globalMask
		return y
	}
	if m.repeating {
		if foreseen, ok := m.repeats.look(c.num); ok {
			context = m.contexts>>m.runShift + foreseen
		}
	}
	if m.loops {
		context = context<<runBits | c.runs.context()
	}
	y = m.code(m.pair(c, context), y)
	if m.loops {
		c.runs.add(y)
	}
	if m.repeating {
		m.repeats.add(y)
	}
	c.local = (c.local<<1 | y) & m.localMask
	m.global = (m.global<<1 | y) & m.globalMask
	return y
}

// code codes y with the probability that p returns. The less frequent direction has the
// lower part of the interval, so that the remainder of the division goes to the other.
func (m *model) code(p *pair, y uint32) uint32 {
	n0, n1 := uint32(p[0])+1, uint32(p[1])+1
	rare, n := uint32(0), n0
	if n1 < n0 {
		rare, n = 1, n1
	}
	if m.decoding {
		y = rare
		if !m.dec.Decode(m.dec.Width() / (n0 + n1) * n) {
			y ^= 1
		}
	} else {
		m.enc.Encode(m.enc.Width()/(n0+n1)*n, y == rare)
	}
	p[y] += uint16(m.step)
	if n0+n1+m.step > m.limit {
		p[0], p[1] = p[0]/2, p[1]/2 // (n+1)/2 - 1 of each
	}
	return y
}

// identifier codes a number of n bits, least significant first, with counters of the
// jump site and the previous bits. When decoding, id is ignored.
func (m *model) identifier(site uint32, id uint32, n int) uint32 {
	if m.ids == nil {
		m.ids = make([]pair, 1<<idBits)
	}
	got := uint32(0)
	for i := range n {
		h := (site*0x9e3779b1 ^ (got|1<<i)*0x85ebca6b) * 0xc2b2ae35
		got |= m.code(&m.ids[h>>(32-idBits)], id>>i&1) << i
	}
	return got
}
