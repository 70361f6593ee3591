package artifact

import (
	"encoding/binary"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// log records a run as it happens, instruction by instruction.
type log struct {
	blocks  []event.Block
	batches []event.Batch
	insts   uint64
}

func (l *log) Define(blocks []event.Block) error {
	for _, b := range blocks {
		b.Sites = slices.Clone(b.Sites)
		l.blocks = append(l.blocks, b)
	}
	return nil
}

func (l *log) Batch(b *event.Batch) error {
	l.batches = append(l.batches, event.Batch{Thread: b.Thread, Blocks: slices.Clone(b.Blocks),
		Addrs: slices.Clone(b.Addrs), Events: slices.Clone(b.Events)})
	l.insts += b.Insts
	return nil
}

func (l *log) Finish(event.Outcome) error { return nil }

// execKey names an execution of an access.
type execKey struct {
	thread  event.ThreadID
	site    format.Site
	ordinal uint64
}

// plainExec is an execution with everything that determines whether it races.
type plainExec struct {
	execKey
	addr       uint64
	epoch      uint64
	clock      hb.Clock
	start, end int // positions of the events around its segment
}

// plainRun is what a walk along the whole run finds out about the racing sites by
// comparing all pairs.
type plainRun struct {
	execs  []*plainExec
	atomic map[uint64]bool
	allocs []plainAlloc
}

type plainAlloc struct {
	at         int
	addr, size uint64
}

// collect keeps the executions of some sites.
func (l *log) collect(wanted map[format.Site]bool) *plainRun {
	r := &plainRun{atomic: map[uint64]bool{}}
	order := hb.New()
	created := map[uint64]bool{}
	for _, b := range l.batches {
		for _, e := range b.Events {
			if e.Kind == event.Create {
				created[e.Obj] = true
			}
		}
	}
	counts := map[execKey]uint64{}
	begun := map[event.ThreadID]int{}
	open := map[event.ThreadID][]*plainExec{}
	n := 0
	for _, b := range l.batches {
		if !created[uint64(b.Thread)] {
			order.Root(b.Thread)
		}
		addrs, events := b.Addrs, b.Events
		for i := 0; i <= len(b.Blocks); i++ {
			for ; len(events) > 0 && int(events[0].At) == i; events = events[1:] {
				e := &events[0]
				n++ // positions from 1, so that 0 is before all
				for _, x := range open[b.Thread] {
					x.end = n
				}
				open[b.Thread] = nil
				if order.Acquire(b.Thread, e) != nil || order.Release(b.Thread, e) != nil {
					panic("order")
				}
				begun[b.Thread] = n
				switch e.Kind {
				case event.Create:
					begun[event.ThreadID(e.Obj)] = n
				case event.Alloc, event.Map, event.StackMap, event.Renew:
					r.allocs = append(r.allocs, plainAlloc{n, e.Obj, e.Arg})
				case event.AtomicLoad, event.AtomicStore, event.AtomicRMW:
					for k := range uint64(e.Size) {
						r.atomic[e.Obj+k] = true
					}
				}
			}
			if i == len(b.Blocks) {
				break
			}
			for _, s := range l.blocks[b.Blocks[i]].Sites {
				if site := format.Site(s); wanted[site] {
					key := execKey{b.Thread, site, 0}
					x := &plainExec{execKey: execKey{b.Thread, site, counts[key]}, addr: addrs[0], epoch: order.Epoch(b.Thread.Strand()),
						clock: slices.Clone(order.Clock(b.Thread)), start: begun[b.Thread], end: 1 << 40}
					counts[key]++
					r.execs = append(r.execs, x)
					open[b.Thread] = append(open[b.Thread], x)
				}
				addrs = addrs[1:]
			}
		}
	}
	return r
}

func (r *plainRun) race(x, y *plainExec) bool {
	if x.thread == y.thread || x.site.Access == event.Read && y.site.Access == event.Read ||
		y.clock.At(x.thread.Strand()) >= x.epoch || x.clock.At(y.thread.Strand()) >= y.epoch {
		return false
	}
	for k := range uint64(x.site.Size) {
		at := x.addr + k
		if at-y.addr < uint64(y.site.Size) && !r.atomic[at] {
			for _, a := range r.allocs {
				in := a.size > 0 && at>>3 >= a.addr>>3 && at>>3 <= (a.addr+a.size-1)>>3
				if in && (x.end <= a.at && y.start >= a.at || y.end <= a.at && x.start >= a.at) {
					return false
				}
			}
			return true
		}
	}
	return false
}

// racyReads returns the reads that race, in the pairs of sites that may race.
func (r *plainRun) racyReads(pairs map[[2]format.Site]bool) map[execKey]bool {
	racy := map[execKey]bool{}
	for _, x := range r.execs {
		if x.site.Access != event.Read {
			continue
		}
		for _, y := range r.execs {
			if y.site.Access == event.Write && (pairs[[2]format.Site{x.site, y.site}] || pairs[[2]format.Site{y.site, x.site}]) && r.race(x, y) {
				racy[x.execKey] = true
				break
			}
		}
	}
	return racy
}

// set numbers an interned set of labels; 0 is empty.
type set int

// sets interns sets of labels.
type sets struct {
	members [][]int32
	ids     map[string]set
	unions  map[[2]set]set
}

func newSets() *sets {
	return &sets{members: [][]int32{nil}, ids: map[string]set{"": 0}, unions: map[[2]set]set{}}
}

func (s *sets) intern(m []int32) set {
	key := make([]byte, 0, 4*len(m))
	for _, x := range m {
		key = binary.LittleEndian.AppendUint32(key, uint32(x))
	}
	id, ok := s.ids[string(key)]
	if !ok {
		id = set(len(s.members))
		s.members = append(s.members, m)
		s.ids[string(key)] = id
	}
	return id
}

func (s *sets) union(a, b set) set {
	if a == b || b == 0 {
		return a
	}
	if a == 0 {
		return b
	}
	key := [2]set{min(a, b), max(a, b)}
	id, ok := s.unions[key]
	if !ok {
		m := append(slices.Clone(s.members[a]), s.members[b]...)
		slices.Sort(m)
		id = s.intern(slices.Compact(m))
		s.unions[key] = id
	}
	return id
}

// tracker pushes the labels of racy reads forward through a run: through registers,
// through memory byte by byte in the order in which it happened, and, if it follows
// control, through regions between branches and their immediate post-dominators.
type tracker struct {
	*sets
	log     *log
	control bool
	racy    map[execKey]bool
	names   []execKey
	labels  map[execKey]set
	atomic  map[uint64]bool
	wanted  map[format.Site]bool
	prog    *cfg.Program
	read    rv.Code
	memory  map[uint64]set
	threads map[event.ThreadID]*taint
	counts  map[execKey]uint64
	found   map[execKey]set // of the addresses of wanted executions
}

// taint is the labels of a thread.
type taint struct {
	regs    [64]set
	stack   event.CallStack
	left    bool // a return happened; the next block shows where to
	regions []region
}

// region is code whose execution a branch decided.
type region struct {
	depth int
	until uint64 // the block that ends it; 0: the end of the activation
	set   set
}

func newTracker(l *log, img *image.Space, plain *plainRun, racy map[execKey]bool, wanted map[format.Site]bool, control bool) *tracker {
	k := &tracker{sets: newSets(), log: l, control: control, racy: racy, labels: map[execKey]set{}, atomic: plain.atomic, wanted: wanted,
		prog: cfg.New(img), memory: map[uint64]set{}, threads: map[event.ThreadID]*taint{}, counts: map[execKey]uint64{}, found: map[execKey]set{}}
	k.read = func(addr uint64) (uint16, bool) {
		b := img.Code(addr, 2)
		if len(b) < 2 {
			return 0, false
		}
		return binary.LittleEndian.Uint16(b), true
	}
	return k
}

func (k *tracker) label(x execKey) set {
	id, ok := k.labels[x]
	if !ok {
		id = k.intern([]int32{int32(len(k.names))})
		k.names = append(k.names, x)
		k.labels[x] = id
	}
	return id
}

func (k *tracker) thread(id event.ThreadID) *taint {
	t := k.threads[id]
	if t == nil {
		t = &taint{}
		k.threads[id] = t
	}
	return t
}

func (k *tracker) run() {
	for i := range k.log.batches {
		b := &k.log.batches[i]
		t := k.thread(b.Thread)
		addrs, events := b.Addrs, b.Events
		for n := 0; ; n++ {
			for ; len(events) > 0 && int(events[0].At) == n; events = events[1:] {
				k.event(t, &events[0])
			}
			if n == len(b.Blocks) {
				break
			}
			blk := &k.log.blocks[b.Blocks[n]]
			k.block(b.Thread, t, blk, addrs[:len(blk.Sites)])
			addrs = addrs[len(blk.Sites):]
		}
	}
}

func (k *tracker) event(t *taint, e *event.Event) {
	switch e.Kind {
	case event.Create:
		child := k.thread(event.ThreadID(e.Obj))
		child.regs[10] = t.regs[13]
		child.regions = []region{{depth: -1, set: t.top()}}
	case event.Alloc, event.Map, event.StackMap, event.Renew:
		if len(k.memory) > 0 {
			for at := range k.memory {
				if at>>3 >= e.Obj>>3 && e.Arg > 0 && at>>3 <= (e.Obj+e.Arg-1)>>3 {
					delete(k.memory, at)
				}
			}
		}
	}
	if e.Mode&event.Returns != 0 {
		for _, r := range []int{1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31,
			32, 33, 34, 35, 36, 37, 38, 39, 42, 43, 44, 45, 46, 47, 48, 49, 60, 61, 62, 63} {
			t.regs[r] = 0
		}
		if n := len(t.stack.Frames); n > 0 {
			t.stack.Frames = t.stack.Frames[:n-1]
		}
		t.leave()
	}
}

// leave removes the regions of activations that have ended.
func (t *taint) leave() {
	for n := len(t.regions); n > 0 && t.regions[n-1].depth > len(t.stack.Frames); n-- {
		t.regions = t.regions[:n-1]
	}
}

func (t *taint) top() set {
	if n := len(t.regions); n > 0 {
		return t.regions[n-1].set
	}
	return 0
}

func (k *tracker) block(th event.ThreadID, t *taint, b *event.Block, addrs []uint64) {
	if t.left {
		t.left = false
		t.stack.Return(b.PC)
		t.leave()
	}
	code := rv.Scan(b.PC, k.read, int(b.Insts))
	pc := b.PC
	sites := b.Sites
	for n, i := range code.Insts {
		for m := len(t.regions); m > 0 && t.regions[m-1].depth == len(t.stack.Frames) && t.regions[m-1].until == pc; m-- {
			t.regions = t.regions[:m-1]
		}
		if len(sites) > 0 && sites[0].PC == pc {
			k.access(th, t, i, format.Site(sites[0]), addrs[0])
			sites, addrs = sites[1:], addrs[1:]
		} else {
			k.compute(t, i)
		}
		if n == len(code.Insts)-1 {
			k.end(t, b, i, pc)
		}
		pc += uint64(i.Len)
	}
}

func (k *tracker) uses(t *taint, i rv.Inst) (s set) {
	for r, regs := 1, i.Uses().Regs; r < 64; r++ {
		if regs>>r&1 != 0 {
			s = k.union(s, t.regs[r])
		}
	}
	return s
}

func (k *tracker) define(t *taint, i rv.Inst, s set) {
	if k.control {
		s = k.union(s, t.top())
	}
	for r, regs := 1, i.Defs().Regs; r < 64; r++ {
		if regs>>r&1 != 0 {
			t.regs[r] = s
		}
	}
}

func (k *tracker) compute(t *taint, i rv.Inst) {
	_, _, plain := i.Mem()
	switch {
	case i.Op == rv.OpECALL:
		t.regs[10] = 0
		if k.control {
			t.regs[10] = t.top()
		}
	case i.Atomic():
		k.define(t, i, 0) // values that pass through atomic variables are not followed
	case plain: // an acquire load, likewise
		k.define(t, i, k.uses(t, i))
	case i.Op == rv.OpADDI && i.Rd == 2 && i.Rs1 == 2:
		// the stack pointer goes up again
	default:
		k.define(t, i, k.uses(t, i))
	}
}

func (k *tracker) access(th event.ThreadID, t *taint, i rv.Inst, site format.Site, addr uint64) {
	address := t.regs[i.Rs1]
	if k.wanted[site] {
		key := execKey{th, site, 0}
		x := execKey{th, site, k.counts[key]}
		k.counts[key]++
		k.found[x] = address
		if k.control {
			k.found[x] = k.union(address, t.top())
		}
		if k.racy[x] {
			k.define(t, i, k.union(address, k.label(x)))
			return
		}
	}
	if site.Access == event.Write {
		s := k.uses(t, i)
		if k.control {
			s = k.union(s, t.top())
		}
		for n := range uint64(site.Size) {
			k.memory[addr+n] = s
		}
		return
	}
	s, through := address, false
	for n := range uint64(site.Size) {
		through = through || k.atomic[addr+n]
	}
	for n := range uint64(site.Size) {
		if !through {
			s = k.union(s, k.memory[addr+n])
		}
	}
	k.define(t, i, s)
}

// end follows the last instruction of a block: calls, returns, branches.
func (k *tracker) end(t *taint, b *event.Block, i rv.Inst, pc uint64) {
	s := k.union(k.uses(t, i), t.top())
	depth := len(t.stack.Frames)
	switch b.End {
	case event.EndCall, event.EndCallInd:
		t.stack.Call(b.Next())
		if b.End == event.EndCallInd {
			t.regions = append(t.regions, region{depth: depth + 1, set: s})
		}
	case event.EndReturn:
		t.left = true
	case event.EndBranch, event.EndIndirect:
		ref, ok := k.prog.Find(pc)
		if !ok {
			return
		}
		f := k.prog.Func(ref.Func)
		if len(f.Blocks()[ref.Block].Succs) < 2 && !f.Blocks()[ref.Block].Leaves {
			return
		}
		until := uint64(0)
		if up := f.PostDominators().Parent(int(ref.Block)); up != cfg.None {
			until = f.Blocks()[up].PC
		}
		if n := len(t.regions); n > 0 && t.regions[n-1].depth == depth && t.regions[n-1].until == until {
			t.regions[n-1].set = s
			return
		}
		t.regions = append(t.regions, region{depth: depth, until: until, set: s})
	}
}
