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
	mixCtxBits   = 16
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
	last    [2]uint64 // values, latest first
	strides [3]uint64 // latest first
	values  uint64    // hash of the last three values
	history uint32    // predictors that were right, latest in the low four bits
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

	mixNone = 15 // in histories: no predictor was right
)

// mixedModel predicts with more contexts than the paper's profile, and codes
// which predictor is right, and values that none has, by mixed probabilities.
type mixedModel struct {
	*mixer

	pcView pcView
	edView edView

	pcs       [6]uint32 // latest first
	joint     uint32    // recent records: both fields as expected, as bits
	streak    int       // records as expected up to here
	run       run
	ids       uint32 // predictors of extended data in recent records, four bits each
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

// pcView is where a PC's predictions come from.
type pcView struct {
	h1, h6     uint64 // hashes of the last PC and of the last six
	lines      [3]*pair[uint32]
	candidates [mixPCs]uint32
	agree      uint64 // candidates equal to the first, as bits
}

// edView is where the predictions of extended data come from, given a PC.
type edView struct {
	here       uint64
	slot       *slot
	pairs      [4]*pair[uint64] // DFCM3, DFCM1, FCM3, FCM1
	global     *uint64
	after      *uint64
	candidates [mixEDs]uint64
	first      uint32 // the candidate to be tried first: the one that was right last time
	agree      uint64 // candidates equal to it, as bits
}

// record codes a record, and gives it. One decision says whether both fields
// are what is expected first; only when not are there others. After a while of
// records as expected, one decision serves a run of them.
func (m *mixedModel) record(pc uint32, ed uint64) (uint32, uint64) {
	p, e := &m.pcView, &m.edView
	m.viewPC()
	expected := p.candidates[0]
	m.viewED(expected)
	y := 0
	if pc == expected && ed == e.candidates[e.first] {
		y = 1
	}
	switch {
	case m.streak < runAfter:
		key := p.agree<<12 | e.agree
		y = m.decide(0,
			&m.contexts[0][hash(join(p.h1, join(uint64(e.slot.history&0xff), e.agree)), mixCtxBits)],
			&m.contexts[1][hash(p.h6+1, mixCtxBits)],
			&m.contexts[2][hash(join(uint64(m.joint&0xff), key), mixCtxBits)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffff), p.h1), mixCtxBits)], y)
	case m.decoding:
		y = m.nextOfRun()
	default:
		m.addToRun(y)
	}
	m.joint = m.joint<<1 | uint32(y)
	m.streak++
	if y == 0 {
		m.streak = 0
	}
	id := e.first
	if y != 0 {
		pc, ed = expected, e.candidates[id]
	} else {
		pc = m.pc(pc)
		known := pc == expected // then the first candidate is wrong
		if !known {
			m.viewED(pc)
		}
		id, ed = m.ed(ed, known)
	}
	m.update(pc, ed, id)
	return pc, ed
}

const (
	runAfter = 32 // records as expected before runs are counted
	runBits  = 5
	runMax   = 1 << runBits // records of a run at most
)

// run is the records as expected that are counted together. When encoding, it
// is written when it has ended; when decoding, it is read before its first
// record. In either case its contexts are those before its first record.
type run struct {
	open bool
	full bool // of runMax records: what follows is not known to be unexpected
	left int  // encoding: records so far; decoding: records to come
	keys [3]uint64
	past uint64 // lengths of the runs before
}

func (m *mixedModel) openRun() {
	r := &m.run
	r.open = true
	r.keys = [3]uint64{m.pcView.h6, m.pcView.h1, uint64(m.ids)}
}

// codeRun codes the length of a run, and gives it.
func (m *mixedModel) codeRun(n int) int {
	r := &m.run
	c0, c1, c2 := join(r.keys[0], r.past&0xfff), join(r.keys[1], r.past&0xffffff), join(r.past, 5)
	c3 := join(r.keys[0], join(r.keys[2], 6))
	y := 0
	if n == runMax {
		y = 1
	}
	y = m.decide(7,
		&m.contexts[0][hash(c0, mixCtxBits)], &m.contexts[1][hash(c1, mixCtxBits)],
		&m.contexts[2][hash(c2, mixCtxBits)], &m.contexts[3][hash(c3, mixCtxBits)], y)
	if y != 0 {
		n = runMax
	} else {
		n = int(m.symbol(uint64(n), c0, c1, c2, c3, runBits, 55))
	}
	r.past = r.past<<6 | uint64(n)
	return n
}

// addToRun counts a record that is as expected, or ends the run.
func (m *mixedModel) addToRun(y int) {
	r := &m.run
	if !r.open {
		m.openRun()
	}
	r.left += y
	if y == 0 || r.left == runMax {
		m.endRun()
	}
}

// endRun writes the run that has been counted.
func (m *mixedModel) endRun() {
	m.codeRun(m.run.left)
	m.run.open, m.run.left = false, 0
}

// nextOfRun says whether the next record is as expected.
func (m *mixedModel) nextOfRun() int {
	r := &m.run
	if !r.open {
		m.openRun()
		r.left = m.codeRun(0)
		r.full = r.left == runMax
	}
	if r.left == 0 {
		r.open = false
		return 0
	}
	r.left--
	if r.left == 0 && r.full {
		r.open = false
	}
	return 1
}

func (m *mixedModel) viewPC() {
	v := &m.pcView
	v.h1 = uint64(m.pcs[0])
	h3 := join(join(v.h1, uint64(m.pcs[1])), uint64(m.pcs[2]))
	v.h6 = join(join(join(h3, uint64(m.pcs[3])), uint64(m.pcs[4])), uint64(m.pcs[5]))
	t6, t3, t1 := &m.pcTables[0][hash(v.h6, mixPCBits)], &m.pcTables[1][hash(h3, mixPCBits)], &m.pcTables[2][hash(v.h1, mixPCBits)]
	v.lines = [3]*pair[uint32]{t6, t3, t1}
	v.candidates = [mixPCs]uint32{t6.a, t3.a, t1.a, t6.b, t3.b, t1.b}
	v.agree = 0
	for i, c := range v.candidates[1:] {
		if c == t6.a {
			v.agree |= 1 << i
		}
	}
}

// pc codes a PC that may be any.
func (m *mixedModel) pc(pc uint32) uint32 {
	v := &m.pcView
next:
	for k, c := range v.candidates {
		for _, d := range v.candidates[:k] {
			if c == d {
				continue next
			}
		}
		y := 0
		if c == pc {
			y = 1
		}
		key := uint64(k)<<5 | v.agree
		y = m.decide(1+k,
			&m.contexts[0][hash(join(v.h1, key), mixCtxBits)],
			&m.contexts[1][hash(join(v.h6, key), mixCtxBits)],
			&m.contexts[2][hash(join(uint64(m.joint&0xff), key)+1, mixCtxBits)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffff), join(v.h1, key)), mixCtxBits)], y)
		if y != 0 {
			return c
		}
	}
	return uint32(m.literal(uint64(pc), uint64(m.pcs[0]), 3, 1))
}

func (m *mixedModel) viewED(pc uint32) {
	v := &m.edView
	v.here = uint64(pc)
	s := &m.slots[hash(v.here, mixSlotBits)]
	d3 := &m.dfcm3[hash(join(join(s.strides[0], s.strides[1]), s.strides[2]), mixValueBits)]
	d1 := &m.dfcm1[hash(join(s.strides[0], v.here), mixValueBits)]
	f3 := &m.fcm3[hash(join(s.values, v.here), mixValueBits)]
	f1 := &m.fcm1[hash(join(s.last[0], v.here), mixValueBits)]
	v.slot, v.pairs = s, [4]*pair[uint64]{d3, d1, f3, f1}
	v.global = &m.global[hash(join(v.here, uint64(m.pcs[0])), mixPCBits)]
	v.after = &m.after[hash(join(m.lastED, v.here), mixValueBits)]
	last := s.last[0]
	v.candidates = [mixEDs]uint64{
		last + d3.a, last + d1.a, f3.a, f1.a, last, m.lastED + *v.global, *v.after,
		last + d3.b, last + d1.b, f3.b, f1.b, s.last[1],
	}
	v.first = s.history & 15
	if v.first >= mixEDs {
		v.first = 0
	}
	v.agree = v.equal(v.first)
}

// equal gives, as bits, the candidates that are equal to one of them.
func (v *edView) equal(id uint32) (mask uint64) {
	value := v.candidates[id]
	for i, c := range v.candidates {
		if c == value {
			mask |= 1 << i
		}
	}
	return mask
}

// ed codes extended data, and gives the predictor that was right; known says
// that it is not the first candidate.
func (m *mixedModel) ed(ed uint64, known bool) (uint32, uint64) {
	v := &m.edView
	history := uint64(v.slot.history)
	id, tried := v.first, v.agree
	for k := uint32(0); ; k++ {
		if k > 0 || known {
			if id = nextCandidate(tried); id >= mixEDs {
				break
			}
			tried |= v.equal(id)
		}
		y := 0
		if v.candidates[id] == ed {
			y = 1
		}
		key := uint64(id) | uint64(min(k, 3))<<4 | 1<<6
		y = m.decide(8+int(id)+16*int(min(k, 2)),
			&m.contexts[0][hash(join(history&0xffff, key), mixCtxBits)],
			&m.contexts[1][hash(join(v.here, join(history&0xff, key)), mixCtxBits)],
			&m.contexts[2][hash(join(tried, join(v.here, key)), mixCtxBits)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffffff), join(v.here, key)), mixCtxBits)], y)
		if y != 0 {
			return id, v.candidates[id]
		}
	}
	return mixNone, m.literal(ed, v.slot.last[0], 7, v.here<<1)
}

// update enters the record everywhere.
func (m *mixedModel) update(pc uint32, ed uint64, id uint32) {
	for _, line := range m.pcView.lines {
		line.update(pc)
	}
	m.pcs = [6]uint32{pc, m.pcs[0], m.pcs[1], m.pcs[2], m.pcs[3], m.pcs[4]}
	v := &m.edView
	s := v.slot
	stride := ed - s.last[0]
	v.pairs[0].update(stride)
	v.pairs[1].update(stride)
	v.pairs[2].update(ed)
	v.pairs[3].update(ed)
	*v.global = ed - m.lastED
	*v.after = ed
	s.strides = [3]uint64{stride, s.strides[0], s.strides[1]}
	s.last = [2]uint64{ed, s.last[0]}
	s.values = s.values<<21 ^ ed*0x9e3779b97f4a7c15>>20
	s.history = s.history<<4 | id
	m.ids = m.ids<<4 | id
	m.lastED = ed
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
	if e.m.run.open {
		e.m.endRun()
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
	d.m.run.open, d.m.run.left = false, 0 // a run ends with its chunk
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
