package mpsim

import (
	"sort"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Journal is a run as data: which thread ran for how many instructions, and what the system
// changed in between (registers, memory, mappings, threads). The effects of instructions
// are not in it; a [Replay] executes them again. The run of a machine whose Config names a
// Journal fills it. It can be read after the run has ended.
type Journal struct {
	image      *image.Space
	space      *mem.Space // as the run began
	first      newborn
	trampoline uint64
	items      []item
	insts      uint64 // sum over all items
	outcome    event.Outcome
	fault      *Fault
	byThread   map[event.ThreadID][]int32 // items in which the thread runs; computed on demand
	retired    map[event.ThreadID][]uint64
	bytes      uint64 // total content in effects

	// Used while it is filled.
	m      *Machine
	busy   bool // the kernel is at work
	now    *effect
	ranges []bytesAt
	pages  map[*mem.Page]mem.Page // pages that several mappings share, before the kernel works
}

// item is a stretch in which one thread runs, followed by an effect.
type item struct {
	begin  uint64 // instructions of all threads before it
	insts  uint64
	clock  uint64 // in nanoseconds, at its beginning
	thread event.ThreadID
	effect *effect // nil: none
}

// written is what the journal knows of a hart.
type written struct {
	context linux.Context
	insts   uint64
	name    string
}

// effect is a change that the system made.
type effect struct {
	changes []mem.Change
	bytes   []content
	regs    []registersSet
	born    []newborn
	gone    []event.ThreadID
	names   []named
}

type content struct {
	addr uint64
	data []byte
}

// registersSet holds the registers of a thread that the system set. PC and FCSR are always
// included.
type registersSet struct {
	thread event.ThreadID
	pc     uint64
	fcsr   uint32
	regs   []uint8 // numbered as in registers
	values []uint64
}

type newborn struct {
	thread  event.ThreadID
	context linux.Context
	name    string
}

type named struct {
	thread event.ThreadID
	name   string
}

// Insts returns the number of instructions of the run.
func (j *Journal) Insts() uint64 { return j.insts }

// Image returns the program with the shared objects that it loaded.
func (j *Journal) Image() *image.Space { return j.image }

// Fault returns what ended the run, if it was a crash.
func (j *Journal) Fault() *Fault { return j.fault }

// Signal returns the signal that ended the run, or 0 if none did.
func (j *Journal) Signal() int { return j.outcome.Signal }

// Bytes estimates the memory that the journal uses, in bytes.
func (j *Journal) Bytes() uint64 {
	const each = 200 // bytes of an item and the fixed part of its effect
	return j.bytes + uint64(len(j.items))*each
}

// begin is called when the machine has its first thread.
func (j *Journal) begin(m *Machine) {
	h := m.harts[0]
	*j = Journal{m: m, image: m.cfg.Image, space: m.space.Copy(), trampoline: m.kernel.Trampoline()}
	j.first = newborn{h.id, h.Context, h.task.Name}
	h.written = &written{h.Context, 0, h.task.Name}
	m.space.Record(func(c mem.Change) {
		if j.now != nil {
			j.now.changes = append(j.now.changes, c)
		}
	})
}

// touched notes what the kernel writes.
func (j *Journal) touched(addr, n uint64, acc mem.Access) {
	if j.busy && n > 0 && acc&mem.Write != 0 && addr < linux.StateBase {
		j.ranges = join(j.ranges, addr, n)
	}
}

// open starts an effect, unless one is open.
func (j *Journal) open() *effect {
	if j.now == nil {
		j.now = &effect{}
	}
	return j.now
}

// ran notes what h has run since the last call, and ends the effect before it.
func (j *Journal) ran(h *Hart) {
	known := h.written
	if known == nil {
		return
	}
	insts := h.Insts() - known.insts
	if insts == 0 {
		return
	}
	j.flush(h.id)
	clock := j.m.kernel.Now() + uint64(h.granted-h.left-h.ticked) - insts
	if n := len(j.items) - 1; n >= 0 && j.items[n].thread == h.id && j.items[n].effect == nil && j.items[n].clock+j.items[n].insts == clock {
		j.items[n].insts += insts
	} else {
		j.items = append(j.items, item{begin: j.insts, insts: insts, clock: clock, thread: h.id})
	}
	j.insts += insts
	known.insts += insts
	known.context = h.Context
}

// flush makes the open effect that of the last item.
func (j *Journal) flush(next event.ThreadID) {
	e := j.now
	j.now = nil
	if e == nil || e.empty() {
		return
	}
	n := len(j.items) - 1
	if n < 0 || j.items[n].effect != nil {
		j.items = append(j.items, item{begin: j.insts, thread: next})
		n++
	}
	j.items[n].effect = e
}

func (e *effect) empty() bool {
	return len(e.changes)+len(e.bytes)+len(e.regs)+len(e.born)+len(e.gone)+len(e.names) == 0
}

// registers notes which registers of h differ from what the journal knows.
func (j *Journal) registers(h *Hart) {
	known := h.written
	if known == nil || known.context == h.Context {
		return
	}
	set := registersSet{thread: h.id, pc: h.PC, fcsr: h.FCSR}
	for r := range h.X {
		if h.X[r] != known.context.X[r] {
			set.regs, set.values = append(set.regs, uint8(r)), append(set.values, h.X[r])
		}
	}
	for r := range h.F {
		if h.F[r] != known.context.F[r] {
			set.regs, set.values = append(set.regs, uint8(r+rv.RegF)), append(set.values, h.F[r])
		}
	}
	known.context = h.Context
	e := j.open()
	e.regs = append(e.regs, set)
}

// call notes what the kernel does for h, which is nil if it acts for nobody.
func (j *Journal) call(h *Hart, do func() linux.Outcome) linux.Outcome {
	if h != nil {
		j.ran(h)
		h.written.context.FCSR = h.FCSR // settled
	}
	j.open()
	j.keepShared()
	j.busy, j.ranges = true, j.ranges[:0]
	out := do()
	j.busy = false
	j.differShared()
	for _, r := range j.ranges {
		data := make([]byte, r.n)
		data = data[:j.m.space.Content(r.addr, data)]
		if len(data) > 0 {
			j.now.bytes = append(j.now.bytes, content{r.addr, data})
			j.bytes += r.n
		}
	}
	for _, other := range j.m.harts {
		if k := other.written; other == h || k != nil && (k.context.PC != other.PC || k.context.X[regA0] != other.X[regA0]) {
			j.registers(other)
		}
	}
	if h != nil {
		if known := h.written; known.name != h.task.Name {
			known.name = h.task.Name
			j.now.names = append(j.now.names, named{h.id, known.name})
		}
	}
	return out
}

// keepShared saves the content of pages that files and mappings share, because the kernel
// writes files without reporting where they are mapped.
func (j *Journal) keepShared() {
	for p := range j.pages {
		j.pages[p] = *p
	}
}

// differShared notes what the kernel changed in such pages.
func (j *Journal) differShared() {
	where := map[*mem.Page]uint64{}
	for _, c := range j.now.changes {
		for i, p := range c.Pages {
			if j.pages == nil {
				j.pages = map[*mem.Page]mem.Page{}
			}
			j.pages[p] = mem.Page{}
			where[p] = c.Addr + uint64(i)*mem.PageSize
		}
	}
	for p, addr := range where {
		j.pages[p] = *p
		j.ranges = append(j.ranges, bytesAt{addr, mem.PageSize})
	}
	for p, before := range j.pages {
		if before == *p {
			continue
		}
		if addr, ok := j.m.space.Where(p); ok {
			j.ranges = append(j.ranges, bytesAt{addr, mem.PageSize})
		}
	}
}

// born notes a new thread.
func (j *Journal) born(h *Hart) {
	h.written = &written{h.Context, 0, h.task.Name}
	e := j.open()
	e.born = append(e.born, newborn{h.id, h.Context, h.task.Name})
}

// left notes that a thread has ended.
func (j *Journal) left(h *Hart) {
	e := j.open()
	e.gone = append(e.gone, h.id)
}

// finish is called when the run has ended.
func (j *Journal) finish(out event.Outcome, fault *Fault) {
	if j.m == nil {
		return
	}
	for _, h := range j.m.harts {
		j.ran(h)
	}
	j.flush(0)
	j.outcome, j.fault = out, fault
	j.m, j.pages = nil, nil
	j.byThread, j.retired = map[event.ThreadID][]int32{}, map[event.ThreadID][]uint64{}
	total := map[event.ThreadID]uint64{}
	for n := range j.items {
		if it := &j.items[n]; it.insts > 0 {
			j.byThread[it.thread] = append(j.byThread[it.thread], int32(n))
			j.retired[it.thread] = append(j.retired[it.thread], total[it.thread])
			total[it.thread] += it.insts
		}
	}
}

// itemAt returns the index of the item that contains the instruction at that time, or
// len(items) at the end of the run.
func (j *Journal) itemAt(time uint64) int {
	return sort.Search(len(j.items), func(n int) bool { return j.items[n].begin+j.items[n].insts > time })
}

// Runs returns the thread that executes the instruction at that time. It reports false at
// the end of the run.
func (j *Journal) Runs(time uint64) (event.ThreadID, bool) {
	n := j.itemAt(time)
	if n == len(j.items) {
		return 0, false
	}
	return j.items[n].thread, true
}

// Next returns the time of the thread's first instruction at or after a time. It reports
// false if there is none.
func (j *Journal) Next(t event.ThreadID, time uint64) (uint64, bool) {
	list := j.byThread[t]
	i := sort.Search(len(list), func(i int) bool { it := &j.items[list[i]]; return it.begin+it.insts > time })
	if i == len(list) {
		return 0, false
	}
	return max(j.items[list[i]].begin, time), true
}

// Previous returns the time of the thread's last instruction before a time. It reports
// false if there is none.
func (j *Journal) Previous(t event.ThreadID, time uint64) (uint64, bool) {
	list := j.byThread[t]
	i := sort.Search(len(list), func(i int) bool { return j.items[list[i]].begin >= time }) - 1
	if i < 0 {
		return 0, false
	}
	it := &j.items[list[i]]
	return min(it.begin+it.insts, time) - 1, true
}

// TimeOf returns the time of instruction n of a thread, counted from 0. It reports false if
// the thread executed fewer.
func (j *Journal) TimeOf(t event.ThreadID, n uint64) (uint64, bool) {
	list, before := j.byThread[t], j.retired[t]
	i := sort.Search(len(list), func(i int) bool { return before[i] > n }) - 1
	if i < 0 || n-before[i] >= j.items[list[i]].insts {
		return 0, false
	}
	return j.items[list[i]].begin + n - before[i], true
}

// Retired returns how many instructions the thread had executed before a time.
func (j *Journal) Retired(t event.ThreadID, time uint64) uint64 {
	list, before := j.byThread[t], j.retired[t]
	i := sort.Search(len(list), func(i int) bool { return j.items[list[i]].begin >= time }) - 1
	if i < 0 {
		return 0
	}
	it := &j.items[list[i]]
	return before[i] + min(time-it.begin, it.insts)
}

// SystemWrote returns when the system last wrote to size bytes at addr before a time. at
// and t are the time and the thread of the preceding instruction.
func (j *Journal) SystemWrote(addr, size, time uint64) (at uint64, t event.ThreadID, ok bool) {
	for n := j.itemAt(time) - 1; n >= 0; n-- {
		it := &j.items[n]
		if it.effect == nil || it.begin+it.insts > time {
			continue
		}
		for i := range it.effect.bytes {
			if b := &it.effect.bytes[i]; b.addr < addr+size && addr < b.addr+uint64(len(b.data)) {
				if it.begin+it.insts == 0 {
					return 0, 0, false
				}
				at = it.begin + it.insts - 1
				t, ok = j.Runs(at)
				return at, t, ok
			}
		}
	}
	return 0, 0, false
}
