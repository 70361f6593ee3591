package vpc3

import (
	"encoding/binary"

	"hindsight/tracefmt/wire"
)

// Sizes of the mixed profile's tables, as bits of a line number.
const (
	mixSlotBits  = 14 // first level: a line an instruction, by a hash of its PC
	mixPCBits    = 16
	mixValueBits = 17
	mixCtxBits   = 18
	mixByteBits  = 20
)

// pair is two distinct values, the latest first.
type pair[T uint32 | uint64] struct{ a, b T }

func (p *pair[T]) update(v T) {
	if p.a != v {
		p.a, p.b = v, p.a
	}
}

// slot is what is known of an instruction.
type slot struct {
	last     [2]uint64 // values, latest first
	strides  [3]uint64 // latest first
	values   uint64    // hash of the last three values
	history  uint32    // predictors that were right, latest in the low four bits
	previous uint32    // the global-difference key used last
}

// Predictors of a record's fields in the mixed profile. Where several give the
// same value, only the first that is tried counts.
const (
	mixPCs = 6 // FCM6a, FCM3a, FCM1a, FCM6b, FCM3b, FCM1b

	mixDFCM3a = iota - 1
	mixDFCM1a
	mixFCM3a
	mixFCM1a
	mixLast
	mixGlobal // the record before, plus what was between the two last time
	mixAfter  // what followed the extended data of the record before, here
	mixDFCM3b
	mixDFCM1b
	mixFCM3b
	mixFCM1b
	mixBefore // the value before the last
	mixEDs
)

// mixedModel predicts with more contexts than the paper's profile, and codes
// which predictor is right, and values that none has, by mixed probabilities.
type mixedModel struct {
	*mixer

	pcs       [6]uint32 // latest first
	missedPC  uint32    // recent misses of the first candidate, as bits
	ids       uint32    // predictors of extended data in recent records, four bits each
	lastED    uint64
	pcTables  [3][1 << mixPCBits]pair[uint32]
	slots     [1 << mixSlotBits]slot
	dfcm3     [1 << mixValueBits]pair[uint64]
	dfcm1     [1 << mixValueBits]pair[uint64]
	fcm3      [1 << mixValueBits]pair[uint64]
	fcm1      [1 << mixValueBits]pair[uint64]
	global    [1 << mixPCBits]uint64
	after     [1 << mixValueBits]uint64
	contexts  [mixInputs][1 << mixCtxBits]chance
	byteTrees [mixInputs][1 << mixByteBits]chance
}

func newMixedModel(decoding bool) *mixedModel {
	m := &mixedModel{mixer: newMixer(decoding)}
	for i := range m.contexts {
		for j := range m.contexts[i] {
			m.contexts[i][j] = newChance
		}
		for j := range m.byteTrees[i] {
			m.byteTrees[i][j] = newChance
		}
	}
	return m
}

// hash mixes v into n bits.
func hash(v uint64, n uint) uint32 {
	return uint32(v * 0x9e3779b97f4a7c15 >> (64 - n))
}

// join mixes two values into one.
func join(a, b uint64) uint64 { return (a*0xd6e8feb86659fd93 ^ b) * 0xff51afd7ed558ccd }

// record codes a record, and gives it.
func (m *mixedModel) record(pc uint32, ed uint64) (uint32, uint64) {
	pc = m.pc(pc)
	ed = m.ed(pc, ed)
	copy(m.pcs[1:], m.pcs[:])
	m.pcs[0] = pc
	m.lastED = ed
	return pc, ed
}

func (m *mixedModel) pc(pc uint32) uint32 {
	h1 := uint64(m.pcs[0])
	h3 := join(join(h1, uint64(m.pcs[1])), uint64(m.pcs[2]))
	h6 := join(join(join(h3, uint64(m.pcs[3])), uint64(m.pcs[4])), uint64(m.pcs[5]))
	t6, t3, t1 := &m.pcTables[0][hash(h6, mixPCBits)], &m.pcTables[1][hash(h3, mixPCBits)], &m.pcTables[2][hash(h1, mixPCBits)]
	candidates := [mixPCs]uint32{t6.a, t3.a, t1.a, t6.b, t3.b, t1.b}
	var agree uint64
	for i, c := range candidates[1:] {
		if c == candidates[0] {
			agree |= 1 << i
		}
	}
	found := -1
next:
	for k, c := range candidates {
		for _, d := range candidates[:k] {
			if c == d {
				continue next
			}
		}
		y := 0
		if c == pc {
			y = 1
		}
		key := uint64(k)<<5 | agree
		y = m.decide(k,
			&m.contexts[0][hash(join(h1, key), mixCtxBits)],
			&m.contexts[1][hash(join(h6, key), mixCtxBits)],
			&m.contexts[2][hash(join(uint64(m.missedPC&0xff), key), mixCtxBits)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffff), join(h1, key)), mixCtxBits)], y)
		if y != 0 {
			found, pc = k, c
			break
		}
	}
	if found < 0 {
		pc = uint32(m.literal(uint64(pc), uint64(m.pcs[0]), 3, 1))
	}
	m.missedPC <<= 1
	if found != 0 {
		m.missedPC |= 1
	}
	t6.update(pc)
	t3.update(pc)
	t1.update(pc)
	return pc
}

func (m *mixedModel) ed(pc uint32, ed uint64) uint64 {
	here := uint64(pc)
	s := &m.slots[hash(here, mixSlotBits)]
	d3 := &m.dfcm3[hash(join(join(s.strides[0], s.strides[1]), s.strides[2]), mixValueBits)]
	d1 := &m.dfcm1[hash(join(s.strides[0], here), mixValueBits)]
	f3 := &m.fcm3[hash(join(s.values, here), mixValueBits)]
	f1 := &m.fcm1[hash(join(s.last[0], here), mixValueBits)]
	global := &m.global[hash(join(here, uint64(m.pcs[0])), mixPCBits)]
	after := &m.after[hash(join(m.lastED, here), mixValueBits)]
	v := s.last[0]
	candidates := [mixEDs]uint64{
		v + d3.a, v + d1.a, f3.a, f1.a, v, m.lastED + *global, *after,
		v + d3.b, v + d1.b, f3.b, f1.b, s.last[1],
	}
	// The predictor that was right last time goes first.
	first := s.history & 15
	if first >= mixEDs {
		first = 0
	}
	var agree uint64
	for i, c := range candidates {
		if c == candidates[first] {
			agree |= 1 << i
		}
	}
	found := uint32(15)
	tried := agree
	for k := uint32(0); ; k++ {
		id := first
		if k > 0 {
			id = nextCandidate(tried)
			if id >= mixEDs {
				break
			}
			for i, c := range candidates {
				if c == candidates[id] {
					tried |= 1 << i
				}
			}
		}
		y := 0
		if candidates[id] == ed {
			y = 1
		}
		key := uint64(id) | uint64(min(k, 3))<<4 | 1<<6
		y = m.decide(8+int(id)+16*int(min(k, 2)),
			&m.contexts[0][hash(join(uint64(s.history&0xffff), key), mixCtxBits)],
			&m.contexts[1][hash(join(here, join(uint64(s.history&0xff), key)), mixCtxBits)],
			&m.contexts[2][hash(join(tried, join(here, key)), mixCtxBits)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffffff), join(here, key)), mixCtxBits)], y)
		if y != 0 {
			found, ed = id, candidates[id]
			break
		}
	}
	if found == 15 {
		ed = m.literal(ed, v, 7, here<<1)
	}
	stride := ed - v
	d3.update(stride)
	d1.update(stride)
	f3.update(ed)
	f1.update(ed)
	*global = ed - m.lastED
	*after = ed
	s.strides = [3]uint64{stride, s.strides[0], s.strides[1]}
	s.last = [2]uint64{ed, s.last[0]}
	s.values = s.values<<21 ^ ed*0x9e3779b97f4a7c15>>20
	s.history = s.history<<4 | found
	m.ids = m.ids<<4 | found
	return ed
}

// nextCandidate gives the first predictor that has not been tried.
func nextCandidate(tried uint64) uint32 {
	for i := range uint32(mixEDs) {
		if tried>>i&1 == 0 {
			return i
		}
	}
	return mixEDs
}

// literal codes a value that no predictor has: how many of its high bytes are
// those of near, then the others, high bytes first. where tells fields apart.
func (m *mixedModel) literal(v, near uint64, top int, where uint64) uint64 {
	equal := 0
	for equal < top && byte(v>>(8*(top-equal))) == byte(near>>(8*(top-equal))) {
		equal++
	}
	// The bytes above: none of them, or all the same, by a code of eight.
	equal = int(m.symbol(uint64(equal), join(where, 99), join(where, near>>16), where&1|98<<8, join(uint64(m.ids&0xfff), 97), 3, 56))
	if equal > top {
		equal = top
	}
	var out uint64
	for i := range top + 1 {
		shift := 8 * (top - i)
		b := near >> shift & 0xff
		if i >= equal {
			at := uint64(i)<<8 | where&1<<16
			b = m.symbol(v>>shift&0xff, join(out, at), join(where, at|near>>shift&0xff), join(b, join(m.lastED>>shift&0xff, at)), join(where, at)+1, 8, 57+min(i-equal, 3))
		}
		out = out<<8 | b
	}
	return out
}

// symbol codes a number of so many bits in four contexts.
func (m *mixedModel) symbol(v, c0, c1, c2, c3 uint64, bits, set int) uint64 {
	const tree = 8 // bits of a line's nodes
	b0, b1 := hash(c0, mixByteBits-tree)<<tree, hash(c1, mixByteBits-tree)<<tree
	b2, b3 := hash(c2, mixByteBits-tree)<<tree, hash(c3, mixByteBits-tree)<<tree
	node := uint32(1)
	for i := bits - 1; i >= 0; i-- {
		y := m.decide(set, &m.byteTrees[0][b0|node], &m.byteTrees[1][b1|node], &m.byteTrees[2][b2|node], &m.byteTrees[3][b3|node], int(v>>i&1))
		node = node<<1 | uint32(y)
	}
	return uint64(node) - 1<<bits
}

// mixedEncoder is the engine of a Writer.
type mixedEncoder struct{ m *mixedModel }

func newMixedEncoder() *mixedEncoder {
	e := &mixedEncoder{newMixedModel(false)}
	e.m.begin(nil)
	return e
}

func (e *mixedEncoder) encode(records []byte) (int, error) {
	before := len(e.m.out)
	for ; len(records) >= RecordSize; records = records[RecordSize:] {
		e.m.record(binary.LittleEndian.Uint32(records), binary.LittleEndian.Uint64(records[4:]))
	}
	return len(e.m.out) - before, nil
}

func (e *mixedEncoder) cut(last bool) ([][]byte, error) {
	if last {
		return [][]byte{nil}, nil
	}
	b := e.m.end()
	// The next stretch must not write into b before it has been used.
	e.m.out = nil
	e.m.begin(nil)
	return [][]byte{b}, nil
}

// mixedDecoder is the engine of a Reader.
type mixedDecoder struct {
	in  *wire.Reader
	m   *mixedModel
	cut []byte
}

func (d *mixedDecoder) feed(lengths []uint64) error {
	if err := d.finish(); err != nil {
		return err
	}
	var err error
	if d.cut, err = d.in.Append(d.cut[:0], lengths[0]); err != nil {
		return err
	}
	if len(d.cut) > 0 {
		d.m.begin(d.cut)
	}
	return nil
}

func (d *mixedDecoder) decode(records []byte) error {
	if len(d.cut) == 0 {
		return d.in.Fail(wire.ErrMalformed, "a chunk of no bytes")
	}
	for ; len(records) > 0; records = records[RecordSize:] {
		pc, ed := d.m.record(0, 0)
		binary.LittleEndian.PutUint32(records, pc)
		binary.LittleEndian.PutUint64(records[4:], ed)
	}
	if d.m.over > 0 {
		return d.in.Fail(wire.ErrMalformed, "the chunk that ends here is too short for its records")
	}
	return nil
}

func (d *mixedDecoder) finish() error {
	if n := len(d.m.in); n > 0 {
		return d.in.Fail(wire.ErrMalformed, "%d bytes too many in the chunk before", n)
	}
	return nil
}

func (d *mixedDecoder) close() {}
