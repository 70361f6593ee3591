package vpc3

import "hindsight/tracefmt/rangecode"

// mixSizes are sizes of the mixed profile's tables, as bits of a line number.
type mixSizes struct {
	slots   uint // first level: one line for each instruction, by a hash of its PC
	pcs     uint // FCMs of the PC, and the differences between two adjacent instructions
	values  uint
	chances uint // of decisions
	trees   uint // of numbers
}

// mixParams are the writer's choices for a trace, two bytes in the format.
type mixParams struct {
	smaller byte // how often the sizes of the tables are halved
	pcShift byte // shift of the hash of the PCs: how fast it forgets
}

// mixSmallest is the largest value of mixParams.smaller.
const mixSmallest = 7

func (p mixParams) valid() bool {
	return p.smaller <= mixSmallest && p.pcShift >= 1 && p.pcShift <= 16
}

func (p mixParams) sizes() mixSizes {
	k := uint(p.smaller)
	return mixSizes{slots: 14 - k/2, pcs: 15 - k, values: 17 - k, chances: 16 - k, trees: 18 - k}
}

// pair is two distinct values, the latest first.
type pair[T uint32 | uint64] struct{ a, b T }

func (p *pair[T]) update(v T) {
	if p.a != v {
		p.a, p.b = v, p.a
	}
}

// slot is what the model knows about an instruction.
type slot struct {
	last    [2]uint64 // values, the latest first
	stride  uint64    // the last stride
	strides uint64    // hash of the last three strides
	values  uint64    // hash of the last three values
	history uint32    // predictors that were right, the latest in the low four bits
	steady  uint32    // how often in a row the same predictor was right
}

// steadyAfter is how often in a row a predictor must be right before its instruction
// counts as steady. From then on, only its own table is used.
const steadyAfter = 3

// Predictors of a record's fields in the mixed profile. If several predict the same
// value, only the first that is tried counts.
const (
	mixPCs = 6 // FCM6a, FCM3a, FCM1a, FCM6b, FCM3b, FCM1b

	mixDFCM3a = iota - 1
	mixDFCM1a
	mixFCM3a
	mixFCM1a
	mixLast
	mixGlobal // the value of the previous record, plus the difference between the two last time
	mixAfter  // what last followed the extended data of the previous record at this instruction
	mixDFCM3b
	mixDFCM1b
	mixFCM3b
	mixFCM1b
	mixBefore // the last value but one
	mixEDs

	mixNone = 15 // in histories: no predictor was right
)

// mixedModel predicts with more contexts than the paper's profile. It codes which
// predictor is right, and values that none predicts, with mixed probabilities.
type mixedModel struct {
	*rangecode.Mixer

	params mixParams
	sizes  mixSizes
	pcView pcView
	edView edView

	pcs       [3]uint32 // the latest first
	pcHash    uint32    // of the last PCs, with less weight for older ones
	joint     uint32    // recent records, as bits: whether both fields were as expected
	streak    int       // consecutive records as expected so far
	run       run
	ids       uint32 // predictors of extended data in recent records, four bits each
	lastED    uint64
	pcTables  [3][]pair[uint32]
	slots     []slot
	dfcm3     []pair[uint64]
	dfcm1     []pair[uint64]
	fcm3      []pair[uint64]
	fcm1      []pair[uint64]
	global    []uint64
	after     []uint64
	contexts  [rangecode.Inputs][]rangecode.Chance
	byteTrees [rangecode.Inputs][]rangecode.Chance
}

func newMixedModel(params mixParams, decoding bool) *mixedModel {
	n := params.sizes()
	m := &mixedModel{Mixer: rangecode.NewMixer(decoding), params: params, sizes: n}
	for i := range m.pcTables {
		m.pcTables[i] = make([]pair[uint32], 1<<n.pcs)
	}
	m.slots = make([]slot, 1<<n.slots)
	for _, t := range []*[]pair[uint64]{&m.dfcm3, &m.dfcm1, &m.fcm3, &m.fcm1} {
		*t = make([]pair[uint64], 1<<n.values)
	}
	m.global, m.after = make([]uint64, 1<<n.pcs), make([]uint64, 1<<n.values)
	for i := range m.contexts {
		m.contexts[i], m.byteTrees[i] = make([]rangecode.Chance, 1<<n.chances), make([]rangecode.Chance, 1<<n.trees)
	}
	return m
}

// hash mixes v into n bits.
func hash(v uint64, n uint) uint32 {
	return uint32(v * 0x9e3779b97f4a7c15 >> (64 - n))
}

// join combines two values into one.
func join(a, b uint64) uint64 { return (a*0xd6e8feb86659fd93 ^ b) * 0xff51afd7ed558ccd }

// pcView contains the predictions of a PC.
type pcView struct {
	h1, h6     uint64 // hashes of the last PC and of the last six
	lines      [3]*pair[uint32]
	candidates [mixPCs]uint32
	agree      uint64 // candidates equal to the first, as bits
}

// edView contains the predictions of extended data, given a PC.
type edView struct {
	here       uint64
	slot       *slot
	pairs      [4]*pair[uint64] // DFCM3, DFCM1, FCM3, FCM1
	global     *uint64
	after      *uint64
	candidates [mixEDs]uint64
	first      uint32 // the candidate to try first: the one that was right last time
	agree      uint64 // candidates equal to it, as bits
}

// record codes a record and returns it. One decision says whether both fields are the
// first candidates. Only otherwise are there further decisions. After a number of
// expected records, one decision covers a run of them.
func (m *mixedModel) record(pc uint32, ed uint64) (uint32, uint64) {
	p, e := &m.pcView, &m.edView
	m.viewPC6()
	expected := p.lines[0].a
	steady := m.streak >= runAfter && m.viewSteady(expected)
	if !steady {
		m.viewPC()
		m.viewED(expected)
	}
	y := 0
	if pc == expected && ed == e.candidates[e.first] {
		y = 1
	}
	switch {
	case m.streak < runAfter:
		key := p.agree<<12 | e.agree
		y = m.Decide(0,
			&m.contexts[0][hash(join(p.h1, join(uint64(e.slot.history&0xff), e.agree)), m.sizes.chances)],
			&m.contexts[1][hash(p.h6+1, m.sizes.chances)],
			&m.contexts[2][hash(join(uint64(m.joint&0xff), key), m.sizes.chances)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffff), p.h1), m.sizes.chances)], y)
	case m.Decoding():
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
		if steady {
			m.advance(pc, ed, id)
			return pc, ed
		}
	} else {
		if steady {
			m.viewPC()
			m.viewED(expected)
		}
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
	runAfter = 32 // expected records before runs are counted
	runBits  = 5
	runMax   = 1 << runBits // records of a run at most
)

// run is a sequence of expected records that are counted together. When encoding, it is
// written when it ends. When decoding, it is read before its first record. In both cases
// its contexts are those before its first record.
type run struct {
	open bool
	full bool // has runMax records, so the next record may be expected too
	left int  // encoding: records so far; decoding: remaining records
	keys [3]uint64
	past uint64 // lengths of the previous runs
}

func (m *mixedModel) openRun() {
	r := &m.run
	r.open = true
	r.keys = [3]uint64{m.pcView.h6, m.pcView.h1, uint64(m.ids)}
}

// codeRun codes the length of a run, and returns it.
func (m *mixedModel) codeRun(n int) int {
	r := &m.run
	c0, c1, c2 := join(r.keys[0], r.past&0xfff), join(r.keys[1], r.past&0xffffff), join(r.past, 5)
	c3 := join(r.keys[0], join(r.keys[2], 6))
	y := 0
	if n == runMax {
		y = 1
	}
	y = m.Decide(7,
		&m.contexts[0][hash(c0, m.sizes.chances)], &m.contexts[1][hash(c1, m.sizes.chances)],
		&m.contexts[2][hash(c2, m.sizes.chances)], &m.contexts[3][hash(c3, m.sizes.chances)], y)
	if y != 0 {
		n = runMax
	} else {
		n = int(m.symbol(uint64(n), c0, c1, c2, c3, runBits, 55))
	}
	r.past = r.past<<6 | uint64(n)
	return n
}

// addToRun adds an expected record to the run, or ends the run.
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

// endRun writes the run.
func (m *mixedModel) endRun() {
	m.codeRun(m.run.left)
	m.run.open, m.run.left = false, 0
}

// nextOfRun reports whether the next record is as expected.
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

// viewPC6 computes the prediction of FCM6.
func (m *mixedModel) viewPC6() {
	v := &m.pcView
	v.h1, v.h6 = uint64(m.pcs[0]), uint64(m.pcHash)
	v.lines[0] = &m.pcTables[0][hash(v.h6, m.sizes.pcs)]
}

// viewPC computes the other predictions of the PC.
func (m *mixedModel) viewPC() {
	v := &m.pcView
	h3 := join(join(v.h1, uint64(m.pcs[1])), uint64(m.pcs[2]))
	t6, t3, t1 := v.lines[0], &m.pcTables[1][hash(h3, m.sizes.pcs)], &m.pcTables[2][hash(v.h1, m.sizes.pcs)]
	v.lines[1], v.lines[2] = t3, t1
	v.candidates = [mixPCs]uint32{t6.a, t3.a, t1.a, t6.b, t3.b, t1.b}
	v.agree = 0
	for i, c := range v.candidates[1:] {
		v.agree |= uint64(equal(c, t6.a)) << i
	}
}

// pc codes an unexpected PC.
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
		y = m.Decide(1+k,
			&m.contexts[0][hash(join(v.h1, key), m.sizes.chances)],
			&m.contexts[1][hash(join(v.h6, key), m.sizes.chances)],
			&m.contexts[2][hash(join(uint64(m.joint&0xff), key)+1, m.sizes.chances)],
			&m.contexts[3][hash(join(uint64(m.ids&0xffff), join(v.h1, key)), m.sizes.chances)], y)
		if y != 0 {
			return c
		}
	}
	return uint32(m.literal(uint64(pc), uint64(m.pcs[0]), 3, 1))
}

// viewSteady computes the first candidate of an instruction, and reports whether the
// instruction is steady.
func (m *mixedModel) viewSteady(pc uint32) bool {
	v := &m.edView
	v.here = uint64(pc)
	s := &m.slots[hash(v.here, m.sizes.slots)]
	v.slot = s
	if s.steady < steadyAfter {
		return false
	}
	v.first = s.history & 15
	var c uint64
	switch v.first {
	case mixDFCM3a:
		c = s.last[0] + m.dfcm3[hash(s.strides, m.sizes.values)].a
	case mixDFCM1a:
		c = s.last[0] + m.dfcm1[hash(join(s.stride, v.here), m.sizes.values)].a
	case mixFCM3a:
		c = m.fcm3[hash(join(s.values, v.here), m.sizes.values)].a
	case mixFCM1a:
		c = m.fcm1[hash(join(s.last[0], v.here), m.sizes.values)].a
	case mixLast:
		c = s.last[0]
	default:
		return false
	}
	v.candidates[v.first] = c
	return true
}

func (m *mixedModel) viewED(pc uint32) {
	v := &m.edView
	v.here = uint64(pc)
	s := &m.slots[hash(v.here, m.sizes.slots)]
	d3 := &m.dfcm3[hash(s.strides, m.sizes.values)]
	d1 := &m.dfcm1[hash(join(s.stride, v.here), m.sizes.values)]
	f3 := &m.fcm3[hash(join(s.values, v.here), m.sizes.values)]
	f1 := &m.fcm1[hash(join(s.last[0], v.here), m.sizes.values)]
	v.slot, v.pairs = s, [4]*pair[uint64]{d3, d1, f3, f1}
	v.global = &m.global[hash(join(v.here, uint64(m.pcs[0])), m.sizes.pcs)]
	v.after = &m.after[hash(join(m.lastED, v.here), m.sizes.values)]
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

// equal returns, as bits, the candidates that are equal to candidate id.
func (v *edView) equal(id uint32) (mask uint64) {
	value := v.candidates[id]
	for i, c := range v.candidates {
		mask |= uint64(equal(c, value)) << i
	}
	return mask
}

// ed codes extended data, and returns the predictor that was right. known says that it is
// not the first candidate.
func (m *mixedModel) ed(ed uint64, known bool) (uint32, uint64) {
	v := &m.edView
	history := uint64(v.slot.history)
	if !known {
		if y := m.tryED(v.first, 0, history, v.agree, ed); y != 0 {
			return v.first, v.candidates[v.first]
		}
	}
	tried := v.agree
	some := 0
	if !m.Decoding() {
		for _, c := range v.candidates {
			some |= equal(c, ed)
		}
	}
	if m.decideED(40, 1<<7, history, tried, some) == 0 {
		return mixNone, m.literal(ed, v.slot.last[0], 7, v.here<<1)
	}
	for k := 1; ; k++ {
		id := nextCandidate(tried)
		if id >= mixEDs {
			return mixNone, 0 // damaged input: no candidate is right, although one should be
		}
		tried |= v.equal(id)
		if tried == 1<<mixEDs-1 || m.tryED(id, k, history, tried, ed) != 0 {
			return id, v.candidates[id]
		}
	}
}

// tryED codes whether a candidate is right, as the kth that is tried.
func (m *mixedModel) tryED(id uint32, k int, history, tried, ed uint64) int {
	return m.decideED(8+int(id)+16*min(k, 1), uint64(id)|uint64(min(k, 3))<<4|1<<6, history, tried, equal(m.edView.candidates[id], ed))
}

// decideED codes a decision about extended data.
func (m *mixedModel) decideED(set int, key, history, tried uint64, y int) int {
	here := join(m.edView.here, key)
	return m.Decide(set,
		&m.contexts[0][hash(join(history&0xffff, key), m.sizes.chances)],
		&m.contexts[1][hash(join(here, history&0xff), m.sizes.chances)],
		&m.contexts[2][hash(join(tried, here), m.sizes.chances)],
		&m.contexts[3][hash(join(uint64(m.ids&0xffffff), here), m.sizes.chances)], y)
}

// equal returns 1 if a and b are the same.
func equal[T uint32 | uint64](a, b T) (bit int) {
	if a == b {
		bit = 1
	}
	return bit
}

// update adds the record to all tables.
func (m *mixedModel) update(pc uint32, ed uint64, id uint32) {
	for _, line := range m.pcView.lines {
		line.update(pc)
	}
	v := &m.edView
	stride := ed - v.slot.last[0]
	v.pairs[0].update(stride)
	v.pairs[1].update(stride)
	v.pairs[2].update(ed)
	v.pairs[3].update(ed)
	*v.global = ed - m.lastED
	*v.after = ed
	m.advance(pc, ed, id)
}

// advance adds the record to the histories.
func (m *mixedModel) advance(pc uint32, ed uint64, id uint32) {
	m.pcHash = m.pcHash<<(m.params.pcShift&31) ^ pc*0x9e3779b1
	m.pcs = [3]uint32{pc, m.pcs[0], m.pcs[1]}
	s := m.edView.slot
	stride := ed - s.last[0]
	s.stride = stride
	s.strides = s.strides<<21 ^ stride*0x9e3779b97f4a7c15>>20
	s.values = s.values<<21 ^ ed*0x9e3779b97f4a7c15>>20
	s.last[0], s.last[1] = ed, s.last[0]
	if id == s.history&15 {
		s.steady++
	} else {
		s.steady = 0
	}
	s.history = s.history<<4 | id
	m.ids = m.ids<<4 | id
	m.lastED = ed
}

// nextCandidate returns the first predictor that has not been tried.
func nextCandidate(tried uint64) uint32 {
	for i := range uint32(mixEDs) {
		if tried>>i&1 == 0 {
			return i
		}
	}
	return mixEDs
}

// literal codes a value that no predictor predicts: how many of its high bytes equal
// those of near, then the other bytes, high bytes first. where distinguishes the fields.
func (m *mixedModel) literal(v, near uint64, top int, where uint64) uint64 {
	equal := 0
	for equal < top && byte(v>>(8*(top-equal))) == byte(near>>(8*(top-equal))) {
		equal++
	}
	// The bytes above: none of them or all equal, by a code of eight.
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

// symbol codes a number of width bits in four contexts, four bits at a time. The chances
// of four bits are a line of sixteen.
func (m *mixedModel) symbol(v, c0, c1, c2, c3 uint64, width, set int) uint64 {
	const line = 4
	out := uint64(0)
	for width > 0 {
		n := min(width, line)
		width -= n
		b0, b1 := hash(c0, m.sizes.trees-line)<<line, hash(c1, m.sizes.trees-line)<<line
		b2, b3 := hash(c2, m.sizes.trees-line)<<line, hash(c3, m.sizes.trees-line)<<line
		t0 := (*[16]rangecode.Chance)(m.byteTrees[0][b0:])
		t1 := (*[16]rangecode.Chance)(m.byteTrees[1][b1:])
		t2 := (*[16]rangecode.Chance)(m.byteTrees[2][b2:])
		t3 := (*[16]rangecode.Chance)(m.byteTrees[3][b3:])
		node := uint64(1)
		for i := n - 1; i >= 0; i-- {
			k := node & 15
			y := m.Decide(set, &t0[k], &t1[k], &t2[k], &t3[k], int(v>>(width+i)&1))
			node = node<<1 | uint64(y)
		}
		out = out<<n | node&(1<<n-1)
		c0, c1, c2, c3 = join(c0, node), join(c1, node), join(c2, node), join(c3, node)
	}
	return out
}
