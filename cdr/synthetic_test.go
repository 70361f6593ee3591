package cdr

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/internal/madeup"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// synthetic is a made-up program with threads that run it at random, and a plain record
// of what they did.
type synthetic struct {
	rng     *rand.Rand
	static  []event.Block     // basic blocks
	blocks  []event.Block     // blocks of the simulator: one beginning at each basic block
	pieces  [][]event.BlockID // their basic blocks
	byPC    map[uint64]event.BlockID
	funcs   [][]event.BlockID
	flow    *madeup.Program // nil: every basic block is a block of the simulator
	threads []*synthThread
	batches []event.Batch
	order   []format.Event // S_synch
	unwinds bool           // batches report frames that are gone and frames that were added
}

type synthThread struct {
	id       event.ThreadID
	pc       uint64
	stack    event.CallStack
	pcs      []uint64
	addrs    map[format.Site][]uint64
	segments map[format.Site][]uint64 // segment of each access
	stacks   map[format.Site][][]uint64
	events   []format.Event
	evStacks [][]uint64
	insts    uint64
	last     map[format.Site]uint64
}

func newSynthetic(seed uint64, threads int) *synthetic {
	s := &synthetic{rng: rand.New(rand.NewPCG(seed, 7)), byPC: map[uint64]event.BlockID{}}
	if seed%5 != 4 {
		s.flow = madeup.New()
	}
	for range 3 + s.rng.IntN(5) {
		s.function()
	}
	for i := range threads {
		s.threads = append(s.threads, &synthThread{id: event.ThreadID(i), pc: s.blocks[s.funcs[0][0]].PC,
			addrs: map[format.Site][]uint64{}, segments: map[format.Site][]uint64{}, stacks: map[format.Site][][]uint64{}, last: map[format.Site]uint64{}})
	}
	return s
}

// function places a function of a few blocks after the others.
func (s *synthetic) function() {
	pc := uint64(0x10000 + 0x1000*len(s.funcs))
	var ids []event.BlockID
	n := 2 + s.rng.IntN(8)
	for i := range n {
		b := event.Block{ID: event.BlockID(len(s.static)), PC: pc, Insts: uint32(1 + s.rng.IntN(6))}
		b.Bytes = 4 * b.Insts
		for k := range b.Insts {
			if s.rng.IntN(3) == 0 {
				b.Sites = append(b.Sites, event.Site{PC: pc + 4*uint64(k), Size: 1 << s.rng.IntN(4), Access: event.Access(s.rng.IntN(2))})
			}
		}
		b.End = []event.End{event.EndFall, event.EndFall, event.EndBranch, event.EndBranch, event.EndBranch, event.EndCall, event.EndCallInd, event.EndAtomic, event.EndJump, event.EndIndirect}[s.rng.IntN(10)]
		if i == n-1 {
			b.End = event.EndReturn
		}
		pc += uint64(b.Bytes)
		s.byPC[b.PC] = b.ID
		s.static = append(s.static, b)
		ids = append(ids, b.ID)
	}
	s.funcs = append(s.funcs, ids)
	for _, id := range ids {
		s.simulated(id)
	}
	if s.flow != nil {
		s.flow.Add(s.rng, s.static[ids[0]:])
	}
}

// simulated builds the simulator's block that begins at a basic block: most of the time
// it continues through blocks that fall through.
func (s *synthetic) simulated(id event.BlockID) {
	b, pieces := s.static[id], []event.BlockID{id}
	b.Sites = slices.Clone(b.Sites)
	for s.flow != nil && b.End == event.EndFall && s.rng.IntN(4) > 0 {
		id++
		next := &s.static[id]
		b.Bytes, b.Insts, b.End = b.Bytes+next.Bytes, b.Insts+next.Insts, next.End
		b.Sites = append(b.Sites, next.Sites...)
		pieces = append(pieces, id)
	}
	s.blocks, s.pieces = append(s.blocks, b), append(s.pieces, pieces)
}

// run lets the threads execute this many blocks altogether.
func (s *synthetic) run(blocks int) {
	for blocks > 0 {
		t := s.threads[s.rng.IntN(len(s.threads))]
		n := 1 + s.rng.IntN(60)
		blocks -= n
		b := event.Batch{Thread: t.id}
		if len(t.pcs) == 0 && len(t.events) == 0 {
			s.event(t, &b, event.Event{Kind: event.ThreadStart, Obj: 0}, nil)
		}
		for range n {
			s.step(t, &b)
		}
		t.insts += b.Insts
		s.batches = append(s.batches, b)
	}
}

func (s *synthetic) event(t *synthThread, b *event.Batch, e event.Event, stack []uint64) {
	e.At = uint32(len(b.Blocks))
	b.Events = append(b.Events, e)
	e.At = 0
	x := format.Event{Event: e, Thread: t.id, Seq: uint64(len(s.order)), Index: uint64(len(t.events))}
	s.order = append(s.order, x)
	t.events = append(t.events, x)
	t.evStacks = append(t.evStacks, stack)
}

// callers returns a stack in the form of the views.
func callers(pc uint64, frames []uint64) []uint64 {
	out := append([]uint64{pc}, frames...)
	slices.Reverse(out[1:])
	return out
}

func (s *synthetic) step(t *synthThread, batch *event.Batch) {
	id := s.byPC[t.pc]
	b := &s.blocks[id]
	batch.Blocks = append(batch.Blocks, id)
	batch.Insts += uint64(b.Insts)
	for _, p := range s.pieces[id] {
		t.pcs = append(t.pcs, s.static[p].PC)
	}
	for _, site := range b.Sites {
		addr := s.address(t, format.Site(site))
		batch.Addrs = append(batch.Addrs, addr)
		key := format.Site(site)
		t.addrs[key] = append(t.addrs[key], addr)
		t.segments[key] = append(t.segments[key], uint64(len(t.events)))
		t.stacks[key] = append(t.stacks[key], callers(site.PC, t.stack.Frames))
	}
	last := b.Next() - 4
	switch b.End {
	case event.EndCall, event.EndCallInd:
		if s.rng.IntN(3) == 0 { // into a hooked function
			stack := callers(last, t.stack.Frames)
			kinds := []event.Kind{event.MutexLock, event.MutexUnlock, event.Alloc, event.BarrierEnter, event.Free}
			for range s.rng.IntN(3) {
				s.event(t, batch, event.Event{Kind: kinds[s.rng.IntN(len(kinds))], PC: last, Obj: s.object()}, stack)
			}
			s.event(t, batch, event.Event{Kind: kinds[s.rng.IntN(len(kinds))], Mode: event.Returns, PC: last, Obj: s.object(), Arg: s.rng.Uint64N(4)}, stack)
			batch.Insts += 17
			if t.pc = b.Next(); s.unwinds && s.rng.IntN(10) == 0 { // left by a long jump
				s.unwind(t, batch)
			}
			return
		}
		if len(t.stack.Frames) < 30 {
			t.stack.Call(b.Next())
			t.pc = s.blocks[s.funcs[s.rng.IntN(len(s.funcs))][0]].PC
			return
		}
		t.stack.Call(b.Next())
		t.pc = b.Next() // the callee was not recorded
		t.stack.Return(t.pc)
		// Such a call needs a returning event, or the stack would keep it.
		s.event(t, batch, event.Event{Kind: event.Free, Mode: event.Returns, PC: last}, callers(last, t.stack.Frames))
	case event.EndReturn:
		s.doReturn(t, batch)
	case event.EndAtomic:
		s.event(t, batch, event.Event{Kind: event.AtomicRMW, Mode: event.Acquire, Size: 4, PC: last, Obj: s.object()}, callers(last, t.stack.Frames))
		t.pc = b.Next()
	case event.EndBranch, event.EndJump, event.EndIndirect:
		f := s.funcOf(id)
		if s.unwinds && b.End == event.EndIndirect && s.rng.IntN(9) == 0 {
			s.unwind(t, batch)
			return
		}
		switch s.rng.IntN(5) {
		case 0:
			t.pc = s.blocks[f[s.rng.IntN(len(f))]].PC
		case 1:
			t.pc = b.PC
		default:
			t.pc = b.Next()
		}
	default:
		t.pc = b.Next()
	}
}

func (s *synthetic) doReturn(t *synthThread, batch *event.Batch) {
	frames := t.stack.Frames
	entry := s.blocks[s.funcs[0][0]].PC
	switch {
	case s.unwinds && s.rng.IntN(12) == 0:
		s.unwind(t, batch)
		return
	case len(frames) == 0 || s.rng.IntN(20) == 0:
		t.pc = entry // to an address that no frame holds, unless by chance
	case s.rng.IntN(20) == 0:
		t.pc = frames[s.rng.IntN(len(frames))] // a long jump
	default:
		t.pc = frames[len(frames)-1]
	}
	t.stack.Return(t.pc)
}

// unwind reports what became of the stack after the last block, and continues anywhere.
// All frames may stay, some may be gone, and those of another stack may be added.
func (s *synthetic) unwind(t *synthThread, batch *event.Batch) {
	keep := s.rng.IntN(len(t.stack.Frames) + 1)
	tell := func(e event.Event) {
		e.At = uint32(len(batch.Blocks))
		batch.Events = append(batch.Events, e)
	}
	tell(event.Event{Kind: event.Unwound, Arg: uint64(keep)})
	t.stack.Frames = t.stack.Frames[:keep]
	for range s.rng.IntN(2) * s.rng.IntN(4) {
		ret := s.blocks[s.rng.IntN(len(s.blocks))].PC
		tell(event.Event{Kind: event.Rewound, Obj: ret})
		t.stack.Call(ret)
	}
	f := s.funcs[s.rng.IntN(len(s.funcs))]
	t.pc = s.blocks[f[s.rng.IntN(len(f))]].PC
}

func (s *synthetic) funcOf(id event.BlockID) []event.BlockID {
	for _, f := range s.funcs {
		if slices.Contains(f, id) {
			return f
		}
	}
	return nil
}

func (s *synthetic) object() uint64 { return 0x8000 + 64*s.rng.Uint64N(5) }

// address draws the next address of a site, in the pattern of that site.
func (s *synthetic) address(t *synthThread, site format.Site) uint64 {
	base := 0x100000 + site.PC<<8
	last, ok := t.last[site]
	next := base
	switch h := site.PC / 4 % 5; {
	case !ok || h == 0:
	case h == 1:
		next = last + 8
		if next > base+8*20 {
			next = base
		}
	case h == 2:
		next = s.rng.Uint64()
	case h == 3:
		next = last - 4*s.rng.Uint64N(2)
	default:
		next = base + 8*s.rng.Uint64N(4)
	}
	t.last[site] = next
	return next
}

// rechop cuts the batches elsewhere, without changing the run.
func rechop(rng *rand.Rand, in []event.Batch, siteCount func(event.BlockID) int) []event.Batch {
	var out []event.Batch
	for _, b := range in {
		addr, ev := 0, 0
		for from := 0; ; {
			to := min(len(b.Blocks), from+rng.IntN(9))
			c := event.Batch{Thread: b.Thread, Blocks: b.Blocks[from:to]}
			n := 0
			for _, id := range c.Blocks {
				n += siteCount(id)
			}
			c.Addrs = b.Addrs[addr : addr+n]
			addr += n
			for ev < len(b.Events) && (int(b.Events[ev].At) < to || int(b.Events[ev].At) == to && (to == len(b.Blocks) || rng.IntN(2) == 0)) {
				e := b.Events[ev]
				e.At -= uint32(from)
				c.Events = append(c.Events, e)
				ev++
			}
			c.Insts, b.Insts = b.Insts, 0
			out = append(out, c)
			if to == len(b.Blocks) && ev == len(b.Events) {
				break
			}
			if to == from && to == len(b.Blocks) {
				break
			}
			from = to
		}
	}
	return out
}

func (s *synthetic) siteCount(id event.BlockID) int { return len(s.blocks[id].Sites) }

// record feeds the run to a recorder.
func (s *synthetic) record(t testing.TB, opts recorder.Options, batches []event.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	if s.flow != nil {
		opts.Program = s.flow
	}
	r, err := recorder.New(&out, opts)
	if err != nil {
		t.Fatal(err)
	}
	s.feed(t, r, batches)
	return out.Bytes()
}

func (s *synthetic) feed(t testing.TB, o event.Observer, batches []event.Batch) {
	t.Helper()
	if err := o.Define(s.blocks); err != nil {
		t.Fatal(err)
	}
	for i := range batches {
		if err := o.Batch(&batches[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Finish(event.Outcome{Threads: len(s.threads)}); err != nil {
		t.Fatal(err)
	}
}
