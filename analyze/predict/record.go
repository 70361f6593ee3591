package predict

import (
	"math/bits"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/order"
	"hindsight/analyze/race"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// nodeID is the number of a node, which is its position in the run.
type nodeID int32

// none is not a node.
const none nodeID = -1

// laneID is the number of a strand of the hard order.
type laneID int32

type kind uint8

const (
	other  kind = iota // an event that orders, or only a position
	access             // to bytes of a granule
	lock
	unlock
)

// node is an event, or the part of an access that is in one granule.
type node struct {
	obj    uint64 // of an access: the granule; of lock and unlock: the mutex
	events uint64 // events of the thread that schedules count, up to and including the node
	count  uint64 // plain accesses of the thread, up to and including the node
	thread event.ThreadID
	lane   laneID
	pos    int32 // position in the lane
	// The nodes that must come before it, apart from the preceding nodes of its lane.
	// They end at needs in record.needs, and begin where those of the previous node end.
	// From reads on, they are the writes that an access reads from.
	reads, needs uint32
	kind         kind
	mask         uint8 // of an access
	read, write  bool
}

// record is the nodes of a run.
type record struct {
	full, hard *hb.Order
	nodes      []node
	needs      []nodeID
	lanes      [][]nodeID // the nodes of each lane
	states     []laneState
	granules   map[uint64]*granule
	pairs      map[pairKey]*pair
	met        []*pair  // in the order in which the run met them
	counts     []uint64 // by thread: plain accesses so far, as far as known
	events     []uint64 // by thread: events so far that schedules count
	signals    map[uint64]nodeID
	sets       map[string]int32 // sets of mutexes that are held
	locksOf    [][]uint64
	acquires   []*acquire // of mutexes while others are held, in the order of the run
	kinds      map[acquireKey]*acquire
}

// laneState is the current state of a lane.
type laneState struct {
	clock hb.Clock // by the hard order, as the lane's nodes already need it
	ends  []nodeID // by epoch: its last node, or that of an earlier epoch
	held  []uint64 // mutexes
	at    []taken  // where they were locked
	locks int32    // their set
	waits uint64   // the condition variable that it waits for; 0: none
	since nodeID   // its CondWait
}

// granule is what is stored about eight bytes.
type granule struct {
	writes [8]nodeID // the last write of each byte
	past   []past
}

// past is the last execution of a place by a lane while it held a set of mutexes.
type past struct {
	access       order.Access
	node         nodeID
	lane         laneID
	strand       event.StrandID // by happens-before
	epoch        uint64         // in that strand
	hard         uint64         // epoch of the hard order
	mask, atomic uint8
	locks        int32
}

type pairKey struct{ a, b race.Place }

// instance is two executions of a static pair.
type instance struct {
	nodes    [2]nodeID
	accesses [2]order.Access
	at       uint64
}

// pair is a static pair with some of its instances.
type pair struct {
	raced bool // raced in the run
	first []instance
	last  []instance // a ring buffer
	next  int
	more  bool // there are further instances
}

func newRecord() *record {
	return &record{granules: map[uint64]*granule{}, pairs: map[pairKey]*pair{}, signals: map[uint64]nodeID{},
		sets: map[string]int32{"": 0}, kinds: map[acquireKey]*acquire{}, locksOf: [][]uint64{nil}}
}

// Begin implements [order.Watcher].
func (r *record) Begin(full, hard *hb.Order) { r.full, r.hard = full, hard }

// lane returns the lane of what a thread acts as.
func (r *record) lane(t event.ThreadID) laneID {
	l := laneID(r.hard.Strand(t))
	for int(l) >= len(r.lanes) {
		r.lanes, r.states = append(r.lanes, nil), append(r.states, laneState{since: none})
	}
	return l
}

// add appends a node. What it needs was appended to r.needs, the hard edges first.
func (r *record) add(n node, reads int) (nodeID, error) {
	if len(r.nodes) >= MaxNodes || len(r.needs) > 4*MaxNodes {
		return none, ErrTooLarge
	}
	id := nodeID(len(r.nodes))
	n.needs = uint32(len(r.needs))
	n.reads = n.needs - uint32(reads)
	n.pos = int32(len(r.lanes[n.lane]))
	r.nodes = append(r.nodes, n)
	r.lanes[n.lane] = append(r.lanes[n.lane], id)
	return id, nil
}

// needed returns the hard edges into a node, and the writes that it reads from.
func (r *record) needed(id nodeID) (hard, reads []nodeID) {
	from := uint32(0)
	if id > 0 {
		from = r.nodes[id-1].needs
	}
	n := &r.nodes[id]
	return r.needs[from:n.reads], r.needs[n.reads:n.needs]
}

// order appends the hard edges that have come to the lane of a thread since its last
// node.
func (r *record) order(t event.ThreadID, l laneID) {
	st, now := &r.states[l], r.hard.Clock(t)
	for len(st.clock) < len(now) {
		st.clock = append(st.clock, 0)
	}
	for u, epoch := range now {
		if laneID(u) == l || epoch <= st.clock[u] {
			continue
		}
		st.clock[u] = epoch
		if u >= len(r.lanes) {
			continue
		}
		if last := r.endOf(laneID(u), epoch); last != none {
			r.needs = append(r.needs, last)
		}
	}
}

// endOf returns the last node of a lane up to an epoch, or none if there is none.
func (r *record) endOf(l laneID, epoch uint64) nodeID {
	ends := r.states[l].ends
	if epoch < uint64(len(ends)) {
		return ends[epoch]
	}
	if all := r.lanes[l]; len(all) > 0 {
		return all[len(all)-1]
	}
	return none
}

// Event implements [order.Watcher].
func (r *record) Event(ev *format.Event) error {
	k := ev.Kind
	events := r.step(ev)
	if class := k.Info().Class; !k.Info().Orders && class != event.ClassCond {
		return nil
	}
	l := r.lane(ev.Thread)
	r.order(ev.Thread, l)
	n := node{thread: ev.Thread, lane: l, events: events, count: r.count(ev.Thread)}
	st := &r.states[l]
	switch k {
	case event.MutexLock:
		n.kind, n.obj = lock, ev.Obj
		if c := st.waits; c != 0 {
			if s, ok := r.signals[c]; ok && s > st.since && r.nodes[s].lane != l {
				r.needs = append(r.needs, s) // it was woken up
			}
			st.waits = 0
		}
	case event.MutexUnlock:
		n.kind, n.obj = unlock, ev.Obj
	}
	id, err := r.add(n, 0)
	if err != nil {
		return err
	}
	switch k {
	case event.MutexLock:
		r.acquire(ev, l, id)
		st.held, st.at = append(st.held, ev.Obj), append(st.at, taken{ev.PC, ev.Thread, ev.Index})
		st.locks = r.set(st.held)
	case event.MutexUnlock:
		if i := slices.Index(st.held, ev.Obj); i >= 0 {
			st.held, st.at = slices.Delete(st.held, i, i+1), slices.Delete(st.at, i, i+1)
			st.locks = r.set(st.held)
		}
	case event.CondWait:
		st.waits, st.since = ev.Obj, id
	case event.CondSignal, event.CondBroadcast:
		r.signals[ev.Obj] = id
	}
	return nil
}

// step counts an event, and returns the number of events of its thread so far.
func (r *record) step(ev *format.Event) uint64 {
	n := r.eventsOf(ev.Thread)
	if ev.Kind.IsStep() {
		n++
		r.events[ev.Thread] = n
	}
	return n
}

// eventsOf returns the number of events of a thread so far.
func (r *record) eventsOf(t event.ThreadID) uint64 {
	for int(t) >= len(r.events) {
		r.events = append(r.events, 0)
	}
	return r.events[t]
}

// Done implements [order.Watcher]: it notes where the epochs of the lane end.
func (r *record) Done(ev *format.Event) error {
	l := r.lane(ev.Thread)
	st := &r.states[l]
	last := none
	if all := r.lanes[l]; len(all) > 0 {
		last = all[len(all)-1]
	}
	// The event ends the current epoch if it releases. If not, later nodes of the epoch
	// replace this one.
	epoch := r.hard.Epoch(event.StrandID(l))
	for uint64(len(st.ends)) <= epoch {
		before := none
		if n := len(st.ends); n > 0 {
			before = st.ends[n-1]
		}
		st.ends = append(st.ends, before)
	}
	st.ends[epoch] = last
	return nil
}

// count returns the number of plain accesses of a thread so far.
func (r *record) count(t event.ThreadID) uint64 {
	for int(t) >= len(r.counts) {
		r.counts = append(r.counts, 0)
	}
	return r.counts[t]
}

// set returns the number of a set of mutexes.
func (r *record) set(held []uint64) int32 {
	all := slices.Clone(held)
	slices.Sort(all)
	key := make([]byte, 0, 8*len(all))
	for _, obj := range all {
		for i := range 8 {
			key = append(key, byte(obj>>(8*i)))
		}
	}
	n, ok := r.sets[string(key)]
	if !ok {
		n = int32(len(r.locksOf))
		r.sets[string(key)], r.locksOf = n, append(r.locksOf, all)
	}
	return n
}

// common reports whether two sets have a mutex in common.
func (r *record) common(a, b int32) bool {
	if a == 0 || b == 0 {
		return false
	}
	return slices.ContainsFunc(r.locksOf[a], func(obj uint64) bool { return slices.Contains(r.locksOf[b], obj) })
}

// Life implements [order.Watcher]: accesses to memory before its new life do not race
// with anything in that life.
func (r *record) Life(addr, size uint64) {
	if size == 0 || addr+size < addr {
		return
	}
	first, last := addr>>3, (addr+size-1)>>3
	if last-first > uint64(len(r.granules)) {
		for g := range r.granules {
			if first <= g && g <= last {
				delete(r.granules, g)
			}
		}
		return
	}
	for g := first; g <= last; g++ {
		delete(r.granules, g)
	}
}

// Access implements [order.Watcher].
func (r *record) Access(a *order.Access, g uint64, mask, atomic uint8) error {
	l := r.lane(a.Thread)
	gr := r.granules[g]
	if gr == nil {
		gr = &granule{writes: [8]nodeID{none, none, none, none, none, none, none, none}}
		r.granules[g] = gr
	}
	n := node{kind: access, obj: g, mask: mask, read: a.Op.Reads(), write: a.Op.Writes(), thread: a.Thread, lane: l, events: r.eventsOf(a.Thread)}
	if a.Op.Plain() {
		r.count(a.Thread)
		r.counts[a.Thread] = a.Number + 1
	} else {
		r.order(a.Thread, l)
	}
	n.count = r.counts[a.Thread]
	reads := 0
	if a.Op.Reads() {
		reads = r.readsFrom(gr, l, mask)
	}
	id, err := r.add(n, reads)
	if err != nil {
		return err
	}
	p := past{access: *a, node: id, lane: l, strand: r.full.Strand(a.Thread), mask: mask, atomic: atomic, locks: r.states[l].locks,
		hard: r.hard.Epoch(event.StrandID(l))}
	p.epoch = r.full.Epoch(p.strand)
	r.compare(gr, &p, g)
	if a.Op.Writes() {
		for m := mask; m != 0; m &= m - 1 {
			gr.writes[bits.TrailingZeros8(m)] = id
		}
	}
	return nil
}

// readsFrom appends the writes of other lanes that bytes of a granule come from.
func (r *record) readsFrom(gr *granule, l laneID, mask uint8) (n int) {
	from := len(r.needs)
	for m := mask; m != 0; m &= m - 1 {
		w := gr.writes[bits.TrailingZeros8(m)]
		if w != none && r.nodes[w].lane != l && !slices.Contains(r.needs[from:], w) {
			r.needs = append(r.needs, w)
			n++
		}
	}
	return n
}

// maxLockSets is the number of executions of a place by a lane that are stored in
// addition to the last one: the last with each set of mutexes.
const maxLockSets = 4

// compare notes the pairs of an access with earlier ones, and then the access itself.
func (r *record) compare(gr *granule, p *past, g uint64) {
	clock, hard := r.full.Clock(p.access.Thread), r.hard.Clock(p.access.Thread)
	own, kept := -1, 0
	for i := range gr.past {
		o := &gr.past[i]
		if o.lane == p.lane {
			if o.access.Place == p.access.Place && o.mask == p.mask {
				if kept++; o.locks == p.locks || kept > maxLockSets {
					own = i
				}
			}
			continue
		}
		common := o.mask & p.mask
		if !p.access.Op.Call() || !o.access.Op.Call() {
			common &^= o.atomic & p.atomic
		}
		if common == 0 || !p.access.Op.Writes() && !o.access.Op.Writes() {
			continue
		}
		r.note(o, p, g<<3+uint64(bits.TrailingZeros8(common)), o.epoch > clock.At(o.strand), o.hard <= hard.At(event.StrandID(o.lane)))
	}
	if own < 0 {
		gr.past = append(gr.past, *p)
	} else {
		gr.past[own] = *p
	}
}

// note adds an instance of a static pair, which raced in the run, or is ordered by the
// hard order, or neither.
func (r *record) note(o, p *past, at uint64, raced, ordered bool) {
	k := pairKey{o.access.Place, p.access.Place}
	if comparePlaces(k.a, k.b) > 0 {
		k.a, k.b = k.b, k.a
	}
	if !raced && (ordered || r.common(o.locks, p.locks)) {
		return
	}
	all := r.pairs[k]
	if all == nil {
		all = &pair{}
		r.pairs[k] = all
		r.met = append(r.met, all)
	}
	if raced {
		all.raced = true
		all.first, all.last = nil, nil
	}
	if all.raced {
		return
	}
	in := instance{nodes: [2]nodeID{o.node, p.node}, accesses: [2]order.Access{o.access, p.access}, at: at}
	switch {
	case len(all.first) < instances/2:
		all.first = append(all.first, in)
	case len(all.last) < instances/2:
		all.last = append(all.last, in)
	default:
		all.more = true
		all.last[all.next] = in
		all.next = (all.next + 1) % len(all.last)
	}
}

// candidates returns the static pairs that did not race in the run, in the order in which
// the run met them.
func (r *record) candidates() (all []*pair) {
	for _, p := range r.met {
		if !p.raced && len(p.first) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// all returns the instances to examine, in the order of the run.
func (p *pair) all() []instance {
	return slices.Concat(p.first, p.last[p.next:], p.last[:p.next])
}
