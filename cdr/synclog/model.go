package synclog

import (
	"fmt"
	"math/bits"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/rangecode"
)

// model codes the events of an epoch in their total order as a string of decisions. Their
// probabilities come from the preceding decisions. Recorder and reader keep identical
// models. For each event it codes
//
//   - whether the thread of the previous event continues and, if not, which thread
//     comes next: the number of threads that ran since that one last did;
//   - the event's row (kind, mode, size, pc): the row that last followed the
//     thread's two previous rows, or a row number; a new row is followed by its
//     fields;
//   - the object: one of the candidates, or its number in the order in which the
//     objects of the row first occurred, or its difference from a candidate;
//   - the argument: that of the previous event of this row and thread, or of this
//     row and object, or its difference.
type model struct {
	*rangecode.Mixer
	chances [rangecode.Inputs][1 << chanceBits]rangecode.Chance

	rows    []eventRow
	rowIDs  map[eventRow]uint32
	objects []rowObjects           // by row
	follows [1 << tableBits]uint32 // the row that followed two rows
	after   [1 << tableBits]uint64 // the object that followed two objects, by row
	args    [1 << tableBits]uint64 // the argument, by row and object

	threads []*threadState
	recent  []uint32 // indices of threads, the most recent first
	run     uint32   // consecutive events of the most recent thread
	lags    map[uint64]int

	places, slots, numbered int // of all threads
	bad                     bool
}

const (
	chanceBits = 15
	tableBits  = 12
	maxRows    = 1 << 16
	maxPlaces  = 1 << 20 // threads times their rows
	maxObjects = 1 << 20 // of all rows
	maxEvents  = 1 << 20 // of an epoch; the recorder ends it at half of that
)

// Sets of contexts, one for each kind of decision. They are part of the file format,
// because another set would code a decision differently. A number takes two sets (its
// length, its bits). A choice takes two for each candidate (tried first, tried later).
const (
	setThread       = 0                      // which thread is next, by its rank; all further ranks share the last set
	threadSets      = 3                      //
	setFollow       = setThread + threadSets // whether the row is the one that followed last time
	setRow          = setFollow + 1          // the number of another row
	setKind         = setRow + numberSets    // the fields of a new row
	setMode         = setKind + numberSets
	setSize         = setMode + numberSets
	setPC           = setSize + numberSets
	setObject       = setPC + numberSets           // which candidate the object is
	setLagStep      = setObject + choiceSets       // its difference from the object one lag ago
	setObjectNumber = setLagStep + numberSets      // its number in the row; 0: it has none
	setObjectStep   = setObjectNumber + numberSets // its difference from the row's previous object
	setArgument     = setObjectStep + numberSets   // which candidate the argument is
	setArgumentStep = setArgument + choiceSets     // its difference from the row's previous argument

	numberSets    = 2
	choiceSets    = 2 * maxCandidates
	maxCandidates = 8
)

// Numbers that fill the contexts of decisions that have fewer than four. They are part of
// the file format too.
const (
	ctxNone1 = 1 + iota
	ctxNone2
	ctxNone3
)

// maxThreadSteps is the rank from which on threads share their contexts.
const maxThreadSteps = 40

// argumentRows distinguishes the contexts of arguments from those of objects at a row.
const argumentRows = 1 << 32

// eventRow has the fields that repeated events have in common.
type eventRow struct {
	pc   uint64
	size uint32
	kind event.Kind
	mode event.Mode
}

// rowObjects numbers the objects of a row.
type rowObjects struct {
	list []uint64
	ids  map[uint64]uint32
	last uint64 // of any thread
}

// threadState is what the model knows of a thread.
type threadState struct {
	id     event.ThreadID
	left   uint64 // remaining events
	rows   [3]uint32
	obj    uint64 // of the previous event
	places []*threadRow
}

// threadRow is what the model knows of a row of a thread.
type threadRow struct {
	obj, arg  uint64
	stride    uint64   // between the last two objects
	lagStep   uint64   // from the object one lag ago, the last time that this was not a candidate
	argStep   uint64   // between the last two arguments
	right     uint32   // the candidates that were right, the latest in the low four bits
	argsRight uint32   // the same for arguments
	lag       int      // the number of events of the row after which a similar one occurs; 0: none
	past      []uint64 // objects so far, if there is a lag
}

func newModel(decoding bool, threads []*threadState) *model {
	m := &model{
		Mixer: rangecode.NewMixer(decoding), rowIDs: map[eventRow]uint32{}, threads: threads,
		lags: map[uint64]int{},
	}
	for i := range threads {
		m.recent = append(m.recent, uint32(i))
	}
	return m
}

func lagKey(thread int, row uint32) uint64 { return uint64(thread)<<32 | uint64(row) }

// mix combines two numbers into a context.
func mix(a, b uint64) uint64 { return (a*0xd6e8feb86659fd93 ^ b) * 0xff51afd7ed558ccd }

// decide codes a decision in four contexts. set is its kind.
func (m *model) decide(set int, c0, c1, c2, c3 uint64, y int) int {
	const shift = 64 - chanceBits
	s := uint64(set) * 0x9e3779b97f4a7c15
	return m.Decide(set,
		&m.chances[0][(c0+s)*0x9e3779b97f4a7c15>>shift], &m.chances[1][(c1+s)*0x9e3779b97f4a7c15>>shift],
		&m.chances[2][(c2+s)*0x9e3779b97f4a7c15>>shift], &m.chances[3][(c3+s)*0x9e3779b97f4a7c15>>shift], y)
}

// number codes any number: its number of bits, then the bits from the top, each in
// contexts combined with the bits already known.
func (m *model) number(set int, v, c0, c1, c2, c3 uint64) uint64 {
	size := uint64(bits.Len64(v))
	node := uint64(1)
	for i := 6; i >= 0; i-- {
		y := m.decide(set, mix(c0, node), mix(c1, node), mix(c2, node), mix(c3, node), int(size>>i&1))
		node = node<<1 | uint64(y)
	}
	size = node & 127
	if size <= 1 {
		return size
	}
	out := uint64(1)
	for i := min(size, 64) - 1; i > 0; i-- {
		k := mix(out, node<<8|i)
		y := m.decide(set+1, mix(c0, k), mix(c1, k), mix(c2, k), mix(c3, k), int(v>>(i-1)&1))
		out = out<<1 | uint64(y)
	}
	return out
}

// event codes an event. th is the index of its thread, and e is the event. It returns
// both as they are decoded.
func (m *model) event(th int, e event.Event) (int, event.Event, error) {
	th = m.thread(th)
	t := m.threads[th]
	row, err := m.row(t, e)
	if err != nil {
		return th, e, err
	}
	p, err := m.place(th, t, row)
	if err != nil {
		return th, e, err
	}
	r := &m.rows[row]
	e.Obj = m.object(t, p, row, e.Obj)
	e.Arg = m.argument(p, row, e.Obj, e.Arg)
	e.Kind, e.Mode, e.Size, e.PC = r.kind, r.mode, r.size, r.pc
	t.rows = [3]uint32{row, t.rows[0], t.rows[1]}
	t.obj = e.Obj
	t.left--
	if m.bad {
		return th, e, fmt.Errorf("sync: object: %w", tracefmt.ErrMalformed)
	}
	return th, e, nil
}

// thread codes which thread is next. Threads without further events are left out.
func (m *model) thread(th int) int {
	t := m.threads[m.recent[0]]
	row, before := uint64(t.rows[0]), uint64(t.rows[1])
	length := uint64(bits.Len32(m.run))
	rank := 0
	for k, i := range m.recent {
		next := m.threads[i]
		if next.left == 0 {
			continue
		}
		rank = k
		if m.lastWithEvents(k) {
			break
		}
		step := uint64(min(k, maxThreadSteps))
		to := mix(uint64(next.rows[0])<<8|step, ctxNone1)
		comes := m.decide(setThread+min(k, threadSets-1), mix(row, length<<8|step),
			mix(mix(row, before<<8|step), uint64(min(m.run, 255))), mix(to, uint64(i)), mix(to, row), b2i(int(i) == th))
		if comes != 0 {
			break
		}
	}
	index := m.recent[rank]
	copy(m.recent[1:rank+1], m.recent[:rank])
	m.recent[0] = index
	m.run++
	if rank > 0 {
		m.run = 1
	}
	return int(index)
}

// lastWithEvents reports whether no thread after the k-th has remaining events.
func (m *model) lastWithEvents(k int) bool {
	for _, i := range m.recent[k+1:] {
		if m.threads[i].left > 0 {
			return false
		}
	}
	return true
}

func b2i(b bool) (i int) {
	if b {
		i = 1
	}
	return i
}

// row codes the row of an event of t. A new row is added.
func (m *model) row(t *threadState, e event.Event) (uint32, error) {
	r0, r1, r2 := uint64(t.rows[0]), uint64(t.rows[1]), uint64(t.rows[2])
	follows := &m.follows[mix(r0, r1)>>(64-tableBits)]
	key := eventRow{e.PC, e.Size, e.Kind, e.Mode}
	row := uint32(len(m.rows)) // a new row
	if known, ok := m.rowIDs[key]; ok {
		row = known
	}
	guess := uint64(*follows)
	if m.decide(setFollow, mix(r0, r1), mix(mix(r0, r1), r2), mix(guess, r0), guess, b2i(row == *follows)) != 0 {
		row = *follows
	} else {
		row = uint32(min(m.number(setRow, uint64(row), r0, mix(r0, r1), ctxNone1, guess), maxRows))
	}
	*follows = row
	if int(row) < len(m.rows) {
		return row, nil
	}
	if int(row) > len(m.rows) || len(m.rows) >= maxRows {
		return 0, fmt.Errorf("sync: row: %w", tracefmt.ErrMalformed)
	}
	last := uint64(0)
	if row > 0 {
		last = m.rows[row-1].pc
	}
	kind := m.number(setKind, uint64(key.kind), ctxNone1, r0, r1, ctxNone2)
	mode := m.number(setMode, uint64(key.mode), kind, ctxNone1, ctxNone2, ctxNone3)
	size := m.number(setSize, uint64(key.size), kind, ctxNone1, mode, ctxNone2)
	pc := last + uint64(unzigzag(m.number(setPC, zigzag(int64(key.pc-last)), ctxNone1, kind, ctxNone2, ctxNone3)))
	if kind >= uint64(event.NumKinds) || mode > 255 || size > 1<<32-1 {
		return 0, fmt.Errorf("sync: new row: %w", tracefmt.ErrMalformed)
	}
	key = eventRow{pc, uint32(size), event.Kind(kind), event.Mode(mode)}
	m.rows = append(m.rows, key)
	m.objects = append(m.objects, rowObjects{ids: map[uint64]uint32{}})
	if !m.Decoding() {
		m.rowIDs[key] = row
	}
	return row, nil
}

// place returns the state of a row of a thread.
func (m *model) place(th int, t *threadState, row uint32) (*threadRow, error) {
	for int(row) >= len(t.places) {
		t.places = append(t.places, nil)
		m.slots++
		if m.slots > 16*maxPlaces {
			return nil, fmt.Errorf("sync: threads times rows: %w", tracefmt.ErrTooLarge)
		}
	}
	if t.places[row] == nil {
		m.places++
		if m.places > maxPlaces {
			return nil, fmt.Errorf("sync: threads times rows: %w", tracefmt.ErrTooLarge)
		}
		t.places[row] = &threadRow{lag: m.lags[lagKey(th, row)]}
	}
	return t.places[row], nil
}

// The candidates of an object.
const (
	objLag    = iota // the object one lag ago
	objBefore        // the object of the thread's previous event
	objSame          // the previous object of this row
	objStride        // the previous object of this row, plus the last stride
	objFollow        // the object that followed the last two
	objOther         // the last object of this row in any thread
	numObjs
)

// none is the choice of no candidate. A choice fits in four bits.
const (
	none       = 1<<choiceBits - 1
	choiceBits = 4
)

// object codes the object of an event.
func (m *model) object(t *threadState, p *threadRow, row uint32, obj uint64) uint64 {
	r := uint64(row)
	all := &m.objects[row]
	follow := &m.after[mix(mix(r, p.obj), t.obj)>>(64-tableBits)]
	c := [numObjs]uint64{p.obj, t.obj, p.obj, p.obj + p.stride, *follow, all.last}
	lagging := p.lag > 0 && len(p.past) >= p.lag
	if lagging {
		c[objLag] = p.past[len(p.past)-p.lag]
	}
	first := p.right & none
	if first >= numObjs {
		first = 0
	}
	right := m.choose(setObject, c[:], obj, first, r, uint64(p.right), t.obj, mix(uint64(t.rows[0]), p.obj))
	switch {
	case right != none:
		obj = c[right]
	case lagging:
		base := c[objLag]
		step := uint64(0)
		if n := len(p.past) - 2*p.lag; n >= 0 {
			step = base - p.past[n]
		}
		obj = base + uint64(unzigzag(m.number(setLagStep, zigzag(int64(obj-base)), mix(r, p.lagStep), mix(r, base), mix(r, step), r)))
		p.lagStep = obj - base
	default:
		obj = m.knownObject(all, p, t, r, obj)
	}
	if right != objSame && right != objFollow && right != objOther {
		m.enter(all, obj)
	}
	if p.lag > 0 {
		p.past = append(p.past, obj)
	}
	p.right = p.right<<choiceBits | right
	p.stride, p.obj, all.last, *follow = obj-p.obj, obj, obj, obj
	return obj
}

// knownObject codes an object that is no candidate: its number among the objects of its
// row, or its difference from the previous one.
func (m *model) knownObject(all *rowObjects, p *threadRow, t *threadState, r, obj uint64) uint64 {
	id := uint64(0)
	if !m.Decoding() {
		if k, known := all.ids[obj]; known {
			id = uint64(k) + 1
		}
	}
	id = m.number(setObjectNumber, id, r, mix(r, p.obj), mix(r, t.obj), mix(r, uint64(len(all.list))))
	if id > 0 {
		if id <= uint64(len(all.list)) {
			return all.list[id-1]
		}
		m.bad = true
		return obj
	}
	return p.obj + uint64(unzigzag(m.number(setObjectStep, zigzag(int64(obj-p.obj)), r, mix(r, p.stride), ctxNone1, mix(uint64(m.rows[r].kind), ctxNone2))))
}

func (m *model) enter(all *rowObjects, obj uint64) {
	if m.numbered >= maxObjects {
		return
	}
	if _, known := all.ids[obj]; !known {
		all.ids[obj] = uint32(len(all.list))
		all.list = append(all.list, obj)
		m.numbered++
	}
}

// argument codes the argument of an event.
func (m *model) argument(p *threadRow, row uint32, obj, arg uint64) uint64 {
	r := uint64(row)
	at := &m.args[mix(r, obj)>>(64-tableBits)]
	c := [...]uint64{p.arg, p.arg + p.argStep, *at}
	first := p.argsRight & none
	if int(first) >= len(c) {
		first = 0
	}
	right := m.choose(setArgument, c[:], arg, first, r|argumentRows, uint64(p.argsRight), obj, p.arg)
	if right != none {
		arg = c[right]
	} else {
		arg = p.arg + uint64(unzigzag(m.number(setArgumentStep, zigzag(int64(arg-p.arg)), r, mix(r, obj), mix(r, p.argStep), mix(r, p.arg))))
	}
	p.argsRight = p.argsRight<<choiceBits | right
	p.argStep, p.arg, *at = arg-p.arg, arg, arg
	return arg
}

// choose codes which candidate a value is. It tries a likely one first. It returns none
// if the value is not a candidate.
func (m *model) choose(set int, c []uint64, v uint64, first uint32, row, right, near, nearer uint64) uint32 {
	var tried [numObjs]uint64
	n := 0
next:
	for k := range len(c) + 1 {
		id := first
		if k > 0 {
			id = uint32(k - 1)
		}
		for _, t := range tried[:n] {
			if t == c[id] {
				continue next
			}
		}
		later := uint64(min(n, 1))
		tried[n] = c[id]
		n++
		key := row<<8 | uint64(id)<<2 | later
		hit := m.decide(set+int(id)*2+int(later), mix(key, right&(1<<(3*choiceBits)-1)), mix(key, near), mix(key, nearer),
			mix(key, right&none), b2i(c[id] == v))
		if hit != 0 {
			return id
		}
	}
	return none
}
