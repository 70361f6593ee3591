package artifact

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// A race is explained by order if each of its examined instances is ordered by
// happens-before together with the edges that correcting its causes would add. Such an
// edge leads from a racy write to what a thread does after it has read that value by a
// racy read and has used it (see [graph.looked]).
//
//  1. [explainer.mayHelp] uses the clocks of whole segments to find out whether
//     any race could explain another in this way.
//  2. A walk in the order of the run finds which writes the reads read from
//     ([reads]).
//  3. [orderer.pass] walks along S_synch with a Publish after each of those
//     writes and an Observe after each of those reads, and notes the clocks of
//     the instances: with the edges of each race by itself, and with all edges.
type orderer struct {
	*explainer
	src     replay.Source
	links   []link
	sides   []sideProbe // two for each instance
	from    [][2]int    // instances of race i: from[i][0] to from[i][1] (exclusive)
	perRace [][]int     // links of race i
	events  int
}

// link is an edge that correcting the race cause adds.
type link struct {
	cause int
	write position // takes effect after it
	read  position // takes effect before it
	id    uint64   // of the write
	found readFrom
}

// position is a position in a thread's execution.
type position struct {
	point
	segment uint64 // events of the thread before it
}

// sideProbe is a side of an instance, and its place in happens-before.
type sideProbe struct {
	at    position
	clock hb.Clock
	epoch uint64
	by    event.StrandID
}

const (
	// orderInstances is the number of instances of a race that are examined, and
	// firstLook is how many of them are examined before the others. Most races are not
	// ordered, which a few instances show.
	orderInstances = 512
	firstLook      = 8
	// unusedReads is the number of consecutive unused reads after which the reads of a
	// pair of instructions count as unused.
	unusedReads = 64
	// maxEvery limits the distance between examined instances. Beyond it, only the first
	// instances are examined.
	maxEvery = 64
	// maxOrderWork limits the events that all passes process.
	maxOrderWork = 1 << 22
	// maxCoarse limits the records that are examined to see whether one race could
	// explain another.
	maxCoarse = 1 << 12
)

// mayHelp reports whether other races, if corrected, could order the first instance of
// race i, by segments: a write of such a race comes after one side, and a read of one
// comes before the other.
func (e *explainer) mayHelp(i int) bool {
	r := &e.res.Races[i].First
	c, ok := e.index.side(&r.Earlier)
	d, ok2 := e.index.side(&r.Later)
	if !ok || !ok2 {
		return false
	}
	for _, p := range [][2]*exec{{&c, &d}, {&d, &c}} {
		writes, reads := false, false
		for k := range e.index.byRace {
			if k == i {
				continue
			}
			for a, b := range e.index.writesAndReads(k) {
				writes = writes || e.index.sites[a].some(func(u *unit) bool { return u == p[0].unit || p[0].unit.precedes(u) })
				reads = reads || e.index.sites[b].some(func(u *unit) bool { return u == p[1].unit || u.precedes(p[1].unit) })
				if writes && reads {
					return true
				}
			}
		}
	}
	return false
}

// precedes reports whether something in x may be before something in y, in their
// strand or by happens-before.
func (x *unit) precedes(y *unit) bool {
	if x.strand == y.strand {
		return x.end <= y.end
	}
	return x.before(y)
}

// some reports whether accept accepts a segment that executes the site, or whether there
// are too many to examine.
func (s *siteIndex) some(accept func(*unit) bool) bool {
	n := 0
	for _, strand := range s.inOrder() {
		list := s.strands[strand]
		for i := range list.records {
			if n++; n > maxCoarse || accept(list.records[i].unit) {
				return true
			}
		}
	}
	return false
}

// wanting returns the races that others could explain by order.
func (e *explainer) wanting() (list []int) {
	for i := range e.res.Races {
		if e.mayHelp(i) {
			list = append(list, i)
		}
	}
	return list
}

// newOrderer finds the edges.
func (e *explainer) newOrderer(src replay.Source, found []readFrom) (*orderer, error) {
	o := &orderer{explainer: e, src: src, from: make([][2]int, len(e.res.Races)), perRace: make([][]int, len(e.res.Races))}
	for t := range e.index.seqs {
		o.events += len(e.index.seqs[t])
	}
	ids := map[Execution]uint64{}
	unused := map[pairKey]int{} // consecutive reads that led to nothing
	for _, f := range found {
		pair := keyOf(f.write.Site, f.read.Site)
		cause, ok := e.index.pairs[pair]
		if !ok || unused[pair] >= unusedReads {
			continue
		}
		w, ok := e.index.at(f.write.Thread, f.write.Site, f.write.Ordinal)
		r, ok2 := e.index.at(f.read.Thread, f.read.Site, f.read.Ordinal)
		if !ok || !ok2 || !e.index.races(&w, &r) {
			continue
		}
		l, ok, err := o.link(&w, &r)
		if err != nil {
			return nil, err
		}
		unused[pair]++
		if !ok {
			continue
		}
		unused[pair] = 0
		if ids[f.write] == 0 {
			ids[f.write] = uint64(len(ids) + 1)
		}
		l.cause, l.id, l.found = cause, ids[f.write], f
		o.perRace[cause] = append(o.perRace[cause], len(o.links))
		o.links = append(o.links, l)
	}
	return o, nil
}

// probeAll prepares to examine n instances of each race in a list, and of no other race.
func (o *orderer) probeAll(list []int, most int) error {
	clear(o.from)
	o.sides = o.sides[:0]
	for _, i := range list {
		if err := o.probe(i, most); err != nil {
			return err
		}
	}
	return nil
}

func (o *orderer) link(w, r *exec) (l link, ok bool, err error) {
	at, err := o.place(r)
	if err != nil {
		return l, false, err
	}
	from, ok, err := o.looked(at)
	if !ok || err != nil {
		return l, false, err
	}
	if l.read, err = o.position(from); err != nil {
		return l, false, err
	}
	store, err := o.place(w)
	if err != nil {
		return l, false, err
	}
	if l.write, err = o.position(store); err != nil {
		return l, false, err
	}
	ok, err = o.led(w, r, store, at)
	return l, ok, err
}

func (o *orderer) position(p point) (position, error) {
	n, err := o.history[p.thread].Segment(p.block)
	return position{p, n}, err
}

// probe prepares to examine at most n instances of race i.
func (o *orderer) probe(i, most int) error {
	o.from[i][0] = len(o.sides) / 2
	every := min(max(o.res.Races[i].Dynamic/orderInstances, 1), maxEvery)
	n := uint64(0)
	for p := range o.instances(i) {
		if n++; n > 2 && n%every != 0 { // the first two are the first and the last
			continue
		}
		for _, x := range []*exec{&p.c, &p.d} {
			at := position{point{x.thread(), math.MaxUint64, 0}, x.ordinal} // just before an event
			if !x.event {
				q, err := o.place(x)
				if err != nil {
					return err
				}
				if at, err = o.position(q); err != nil {
					return err
				}
			}
			o.sides = append(o.sides, sideProbe{at: at})
		}
		if len(o.sides)/2-o.from[i][0] == most {
			break
		}
	}
	o.from[i][1] = len(o.sides) / 2
	return nil
}

// orderStep is what a pass does at a position in a thread's execution.
type orderStep struct {
	position
	kind stepOf
	id   uint64 // of the write
	side int
}

type stepOf uint8

const (
	observeStep stepOf = iota
	probeStep
	publishStep
)

// pass is a walk along S_synch with the edges of some races.
type pass struct {
	*orderer
	order *hb.Order
	steps [][]orderStep // of each thread, in order
	next  []int
	where map[uint64]writeStep // the writes
}

// writeStep is a step that publishes.
type writeStep struct {
	thread event.ThreadID
	at     int
}

var errOrder = errors.New("the writes that racy reads read from are in no order")

// pass sets the clocks of the instances, with the edges of the given races.
func (o *orderer) pass(causes []int) error {
	n := len(o.index.seqs)
	p := &pass{orderer: o, order: hb.New(), steps: make([][]orderStep, n), next: make([]int, n), where: map[uint64]writeStep{}}
	p.order.Threads(n)
	for t := range n {
		if _, created := o.index.creates[event.ThreadID(t)]; !created {
			p.order.Root(event.ThreadID(t))
		}
	}
	p.prepare(causes)
	for ev, err := range o.src.Events() {
		if err != nil {
			return err
		}
		if err := p.advance(ev.Thread, ev.Index); err != nil {
			return err
		}
		if err := p.order.Acquire(ev.Thread, &ev.Event); err != nil {
			return err
		}
		if err := p.order.Release(ev.Thread, &ev.Event); err != nil {
			return err
		}
	}
	for t := range n {
		if err := p.advance(event.ThreadID(t), math.MaxUint64); err != nil {
			return err
		}
	}
	return nil
}

// prepare lists the steps of each thread.
func (p *pass) prepare(causes []int) {
	add := func(s orderStep) { p.steps[s.thread] = append(p.steps[s.thread], s) }
	seen := map[uint64]bool{}
	for _, k := range causes {
		for _, i := range p.perRace[k] {
			l := &p.links[i]
			add(orderStep{position: l.read, kind: observeStep, id: l.id})
			if !seen[l.id] {
				seen[l.id] = true
				add(orderStep{position: l.write, kind: publishStep, id: l.id})
			}
		}
	}
	for i := range p.sides {
		add(orderStep{position: p.sides[i].at, kind: probeStep, side: i})
	}
	for t, list := range p.steps {
		slices.SortFunc(list, func(a, b orderStep) int {
			return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.block, b.block), cmp.Compare(a.inst, b.inst),
				cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
		})
		for i := range list {
			if list[i].kind == publishStep {
				p.where[list[i].id] = writeStep{event.ThreadID(t), i}
			}
		}
	}
}

// linkHandle marks handles of the added edges, which distinguishes them from those of the run.
const linkHandle = 1 << 63

// advance executes the steps of a thread before its event with that index. A step that
// observes a write comes after the write. The thread of the write has reached it by then,
// because it had in the run.
func (p *pass) advance(t event.ThreadID, index uint64) error {
	type goal struct {
		thread event.ThreadID
		until  int // steps
	}
	last := p.next[t]
	for last < len(p.steps[t]) && p.steps[t][last].segment <= index {
		last++
	}
	stack := []goal{{t, last}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if p.next[top.thread] >= top.until {
			stack = stack[:len(stack)-1]
			continue
		}
		s := &p.steps[top.thread][p.next[top.thread]]
		if s.kind == observeStep {
			if w := p.where[s.id]; p.next[w.thread] <= w.at {
				if len(stack) > len(p.steps) || slices.ContainsFunc(stack, func(g goal) bool { return g.thread == w.thread }) {
					return errOrder
				}
				stack = append(stack, goal{w.thread, w.at + 1})
				continue
			}
		}
		if err := p.step(top.thread, s); err != nil {
			return err
		}
		p.next[top.thread]++
	}
	return nil
}

func (p *pass) step(t event.ThreadID, s *orderStep) error {
	switch s.kind {
	case observeStep:
		return p.order.Acquire(t, &event.Event{Kind: event.Observe, Obj: s.id | linkHandle})
	case publishStep:
		return p.order.Release(t, &event.Event{Kind: event.Publish, Obj: s.id | linkHandle})
	}
	side := &p.sides[s.side]
	side.by = p.order.Strand(t)
	side.epoch = p.order.Epoch(side.by)
	side.clock = append(side.clock[:0], p.order.Clock(t)...)
	return nil
}

// ordered reports whether all examined instances of race i are ordered, according to the
// last pass.
func (o *orderer) ordered(i int) bool {
	for k := o.from[i][0]; k < o.from[i][1]; k++ {
		c, d := &o.sides[2*k], &o.sides[2*k+1]
		if c.clock.At(d.by) < d.epoch && d.clock.At(c.by) < c.epoch {
			return false
		}
	}
	return o.from[i][1] > o.from[i][0]
}

// byOrder returns the races in a list that are explained by order. For each it returns
// the races that suffice alone. If none does, it returns all that are needed, and
// together is set.
func (o *orderer) byOrder(list []int) (causes map[int][]int, together map[int]bool, err error) {
	causes, together = map[int][]int{}, map[int]bool{}
	var all []int
	for k, links := range o.perRace {
		if len(links) > 0 {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return causes, together, nil
	}
	left := maxOrderWork
	try := func(set []int) error {
		if left -= o.events + len(o.links) + len(o.sides); left < 0 {
			return errBudget
		}
		return o.pass(set)
	}
	some := list
	for _, most := range []int{firstLook, orderInstances} {
		if err := o.probeAll(some, most); err != nil {
			return nil, nil, err
		}
		if err := try(all); err != nil {
			return nil, nil, err
		}
		some = slices.DeleteFunc(slices.Clone(some), func(i int) bool { return !o.ordered(i) })
		if len(some) == 0 {
			return causes, together, nil
		}
	}
	some = slices.DeleteFunc(some, o.moved)
	some = o.wholeLines(some)
	if len(some) == 0 {
		return causes, together, nil
	}
	for _, k := range all {
		if err := try([]int{k}); err != nil {
			return nil, nil, err
		}
		for _, i := range some {
			if i != k && o.ordered(i) {
				causes[i] = append(causes[i], k)
			}
		}
	}
	for _, i := range some {
		if len(causes[i]) > 0 {
			continue
		}
		need := slices.DeleteFunc(slices.Clone(all), func(k int) bool { return k == i })
		for _, k := range slices.Clone(need) {
			fewer := slices.DeleteFunc(slices.Clone(need), func(x int) bool { return x == k })
			if err := try(fewer); err != nil {
				return nil, nil, err
			}
			if o.ordered(i) {
				need = fewer
			}
		}
		if err := try(need); err != nil {
			return nil, nil, err
		}
		if o.ordered(i) && len(need) > 0 {
			causes[i], together[i] = need, true
		}
	}
	return causes, together, nil
}

// line returns the place of an instruction in the source.
func (e *explainer) line(pc uint64) (file string, line int) {
	if f := e.img.Frames(pc); len(f) > 0 {
		return f[0].File, f[0].Line
	}
	return "", 0
}

// linePair identifies the two lines of source that race, and the memory.
type linePair struct {
	files [2]string
	lines [2]int
	addr  uint64
}

func (e *explainer) linePair(i int) (p linePair) {
	r := &e.res.Races[i].First
	p.files[0], p.lines[0] = e.line(r.Later.PC)
	p.files[1], p.lines[1] = e.line(r.Earlier.PC)
	if p.files[0] > p.files[1] || p.files[0] == p.files[1] && p.lines[0] > p.lines[1] {
		p.files[0], p.files[1], p.lines[0], p.lines[1] = p.files[1], p.files[0], p.lines[1], p.lines[0]
	}
	p.addr = r.Address
	return p
}

// wholeLines removes the races of two lines of source if another race of the same lines
// and memory is not ordered. The compiler may have moved the read of a count before the
// racy write and left the write of the count after it. If the cause is corrected, the
// compiler may not do that.
func (o *orderer) wholeLines(list []int) []int {
	apart := map[linePair]bool{}
	for i := range o.res.Races {
		if !slices.Contains(list, i) {
			apart[o.linePair(i)] = true
		}
	}
	return slices.DeleteFunc(list, func(i int) bool { return apart[o.linePair(i)] })
}

// moved reports whether the compiler seems to have moved a side of race i before a write
// that would order it: the side comes from a later line than the write, and is executed
// before it in the same block.
func (o *orderer) moved(i int) bool {
	for k := o.from[i][0]; k < o.from[i][1]; k++ {
		for _, s := range o.sides[2*k : 2*k+2] {
			for n := range o.links {
				w := &o.links[n].write
				if w.thread != s.at.thread || w.block != s.at.block || w.inst <= s.at.inst {
					continue
				}
				_, d, err := o.block(w.thread, w.block)
				if err != nil || w.inst >= len(d.pcs) {
					continue
				}
				file, line := o.line(d.pcs[s.at.inst])
				file2, line2 := o.line(d.pcs[w.inst])
				if file == file2 && line > line2 {
					return true
				}
			}
		}
	}
	return false
}

// chain returns the steps from the write of a cause to an access of race i.
func (o *orderer) chain(i, cause int) []Step {
	p := pairOf{}
	for p = range o.instances(i) {
		break
	}
	for _, n := range o.perRace[cause] {
		f := o.links[n].found
		w, _ := o.index.at(f.write.Thread, f.write.Site, f.write.Ordinal)
		r, _ := o.index.at(f.read.Thread, f.read.Site, f.read.Ordinal)
		step := func(kind StepKind, x *exec) Step {
			return Step{kind, x.thread(), o.index.sites[x.site].site.PC, x.addr, x.size}
		}
		steps := []Step{step(RacyWrite, &w), step(RacyRead, &r)}
		for _, x := range []*exec{&p.c, &p.d} {
			if !x.event && x.unit != nil && x.unit.thread == r.unit.thread {
				return append(steps, step(Access, x))
			}
		}
	}
	return nil
}
