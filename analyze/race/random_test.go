package race

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

var programs = flag.Int("programs", 2000, "random programs to compare with the plain detector")

// chooser takes decisions from bytes, or at random after their end.
type chooser struct {
	bytes []byte
	rnd   *rand.Rand
}

func (c *chooser) n(n int) int {
	if len(c.bytes) > 0 {
		v := c.bytes[0]
		c.bytes = c.bytes[1:]
		return int(v) % n
	}
	if c.rnd == nil {
		return 0
	}
	return c.rnd.IntN(n)
}

func (c *chooser) done(steps *int) bool {
	*steps--
	return *steps < 0 || c.rnd == nil && len(c.bytes) == 0
}

// programState keeps a random program plausible.
type programState struct {
	*chooser
	f        *fake
	state    []int // 0 not created, 1 created, 2 running, 3 at a barrier, 4 ended
	owner    map[uint64]int
	readers  map[[2]uint64]int
	sems     map[uint64]int
	blocks   map[uint64]uint64
	arrived  []event.ThreadID
	gen      uint64
	leaving  map[event.ThreadID]uint64
	anchors  []uint64
	maxBurst int
	// Only in some programs: see strand_test.go.
	withTasks bool
	tasks     tasks
}

func randomProgram(c *chooser, steps int) *fake {
	p := newProgram(c)
	for !c.done(&steps) {
		p.step(event.ThreadID(c.n(len(p.state))))
	}
	return p.f
}

func newProgram(c *chooser) *programState {
	threads := 2 + c.n(4)
	roots := 1 + c.n(threads)
	p := &programState{chooser: c, f: newFake(threads), state: make([]int, threads), owner: map[uint64]int{}, readers: map[[2]uint64]int{},
		sems: map[uint64]int{}, blocks: map[uint64]uint64{}, leaving: map[event.ThreadID]uint64{},
		anchors: []uint64{0x1ff0, 0x1ff8, 0x2000, 0x2008, 0x2ff8, 0x3000, 0x3ff8}[:1+c.n(7)], maxBurst: 1 + c.n(6)}
	for t := range roots {
		p.state[t] = 2
	}
	return p
}

func (p *programState) addr() uint64 {
	return p.anchors[p.n(len(p.anchors))] + uint64(p.n(8))
}

func (p *programState) mode() event.Mode { return event.Mode(p.n(4)) }

func (p *programState) step(t event.ThreadID) {
	switch p.state[t] {
	case 1:
		p.f.do(t, event.ThreadStart, 0, 0)
		p.state[t] = 2
		return
	case 3:
		if g, ok := p.leaving[t]; ok {
			p.f.do(t, event.BarrierLeave, 0x580, g)
			delete(p.leaving, t)
			p.state[t] = 2
		}
		return
	case 0, 4:
		return
	}
	if p.withTasks && p.n(3) == 0 {
		p.task(t)
		return
	}
	obj := uint64(0x100 + p.n(3)*0x10)
	switch p.n(24) {
	case 0, 1, 2, 3, 4, 5:
		p.burst(t)
	case 6, 7, 8:
		p.mutex(t, obj)
	case 9, 10:
		p.rwlock(t, obj+0x200)
	case 11:
		p.barrier(t)
	case 12:
		p.sems[obj]++
		p.f.do(t, event.SemPost, obj+0x400, 0)
	case 13:
		if p.sems[obj] > 0 {
			p.sems[obj]--
			p.f.do(t, event.SemWait, obj+0x400, 0)
		}
	case 14:
		p.f.do(t, []event.Kind{event.OnceDone, event.OnceSeen}[p.n(2)], obj+0x500, 0)
	case 15, 16, 17:
		p.atomic(t)
	case 18:
		p.f.event(t, event.Event{Kind: event.Fence, Mode: p.mode()})
	case 19:
		p.life(t)
	case 20, 21, 22:
		p.heap(t)
	case 23:
		p.odd(t, obj)
	}
}

func (p *programState) burst(t event.ThreadID) {
	for range 1 + p.n(3) {
		size := uint8(1 << p.n(4))
		site := p.f.site(0x1000+uint64(p.n(3))*4+uint64(size)<<8, size, event.Access(p.n(2)))
		stride := []int64{0, 1, 4, 8, -8, 3, -1}[p.n(7)]
		p.f.run(t, site, p.addr(), stride, uint64(1+p.n(p.maxBurst)))
	}
}

func (p *programState) mutex(t event.ThreadID, obj uint64) {
	switch owner, held := p.owner[obj]; {
	case !held:
		p.owner[obj] = int(t)
		p.f.do(t, event.MutexLock, obj, 0)
	case owner == int(t):
		delete(p.owner, obj)
		p.f.do(t, event.MutexUnlock, obj, 0)
	}
}

func (p *programState) rwlock(t event.ThreadID, obj uint64) {
	key := [2]uint64{obj, uint64(t)}
	owner, held := p.owner[obj]
	total := 0
	for k, n := range p.readers {
		if k[0] == obj {
			total += n
		}
	}
	switch {
	case held && owner == int(t):
		delete(p.owner, obj)
		p.f.do(t, event.WriteUnlock, obj, 0)
	case held:
	case p.readers[key] > 0:
		p.readers[key]--
		p.f.do(t, event.ReadUnlock, obj, 0)
	case total == 0 && p.n(2) == 0:
		p.owner[obj] = int(t)
		p.f.do(t, event.WriteLock, obj, 0)
	default:
		p.readers[key]++
		p.f.do(t, event.ReadLock, obj, 0)
	}
}

func (p *programState) barrier(t event.ThreadID) {
	if len(p.leaving) > 0 {
		return
	}
	p.f.do(t, event.BarrierEnter, 0x580, p.gen)
	p.state[t] = 3
	if p.arrived = append(p.arrived, t); len(p.arrived) == 2 {
		for _, u := range p.arrived {
			p.leaving[u] = p.gen
		}
		p.arrived = nil
		p.gen++
	}
}

func (p *programState) atomic(t event.ThreadID) {
	kind := event.AtomicLoad + event.Kind(p.n(3))
	size := uint32(4 << p.n(2))
	p.f.event(t, event.Event{Kind: kind, Mode: p.mode(), Size: size, Obj: p.addr() &^ uint64(p.n(8)), PC: 0x5000 + uint64(kind)})
}

func (p *programState) life(t event.ThreadID) {
	for u, s := range p.state {
		if s == 0 && p.n(2) == 0 {
			p.f.do(t, event.Create, uint64(u), 0)
			p.state[u] = 1
			return
		}
		if s == 4 && p.n(2) == 0 {
			p.f.do(t, event.Join, uint64(u), 0)
			return
		}
	}
	if p.n(3) == 0 && len(p.tasks.acting[t]) == 0 {
		p.f.do(t, event.ThreadEnd, 0, 0)
		p.state[t] = 4
	}
}

func (p *programState) heap(t event.ThreadID) {
	addr := p.addr()
	if p.n(2) == 0 {
		addr &^= 7
	}
	size, live := p.blocks[addr]
	switch {
	case live:
		delete(p.blocks, addr)
		p.f.do(t, event.Free, addr, size)
	default:
		size = uint64(1 + p.n(40))
		if p.n(4) == 0 {
			size = uint64(0x800 + p.n(16)*0x400)
		}
		p.blocks[addr] = size
		p.f.do(t, []event.Kind{event.Alloc, event.Alloc, event.Map, event.StackMap}[p.n(4)], addr, size)
	}
}

func (p *programState) odd(t event.ThreadID, obj uint64) {
	switch p.n(11) {
	case 8, 9:
		p.f.do(t, []event.Kind{event.RangeRead, event.RangeWrite}[p.n(2)], p.addr(), uint64(p.n(40)))
	case 10: // uses read what an initialisation writes
		p.f.do(t, event.RangeWrite, obj+uint64(p.n(6))*0x100, 32)
	case 4: // an object's memory becomes another's
		p.f.do(t, event.Renew, obj+uint64(p.n(6))*0x100, uint64(1+p.n(0x20)))
	case 5:
		p.f.do(t, event.Renew, 0x580, 8)
	case 0:
		if _, held := p.owner[obj]; !held {
			p.f.do(t, event.Init, obj, uint64(event.MutexLock))
		}
	case 1:
		p.f.do(t, event.CondSignal, obj, 0)
	case 2:
		p.f.do(t, event.Destroy, obj+0x400, 0)
	case 3: // a block whose allocation was not recorded
		p.f.do(t, event.Free, p.addr(), uint64(1+p.n(0x3000)))
	}
}

// compareWithPlain runs both detectors.
func compareWithPlain(t *testing.T, f *fake, opts Options) {
	t.Helper()
	f.meant = false
	compareSources(t, f, f, opts)
	f.meant = true
	compareSources(t, f, f, opts)
	f.meant = false
}

// compareSources compares the engine on src with the plain detector on f.
func compareSources(t *testing.T, src replay.Source, f *fake, opts Options) {
	t.Helper()
	if f.meant {
		opts.Program = f
	}
	want := plainDetect(f, opts.Atomics)
	res, err := Analyze(context.Background(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Races {
		r := &res.Races[i]
		key := sortedKey(r.First.Later.Place, r.First.Earlier.Place)
		w := want[key]
		if w == nil {
			t.Fatalf("race %v is not one", key)
		}
		if r.Dynamic != w.dynamic {
			t.Fatalf("%v: %d dynamic pairs, want %d", key, r.Dynamic, w.dynamic)
		}
		compareInstance(t, fmt.Sprint(key, " first"), &r.First, w.first)
		compareInstance(t, fmt.Sprint(key, " last"), &r.Last, w.last)
		delete(want, key)
	}
	for key, w := range want {
		t.Fatalf("race %v (%d dynamic pairs) is missing", key, w.dynamic)
	}
}

func compareInstance(t *testing.T, what string, got *Instance, want [7]uint64) {
	t.Helper()
	for i, s := range []*Side{&got.Later, &got.Earlier} {
		seq := want[i] / 2
		if want[i] >= unfinished {
			seq = 1<<64 - 1
			if s.Thread != event.ThreadID(want[i]-unfinished) {
				t.Fatalf("%s side %d: thread %d, want order %d", what, i, s.Thread, want[i])
			}
		}
		ordinal := s.Ordinal
		if !s.Op.Plain() {
			ordinal = s.Segment
		}
		if s.Seq != seq || ordinal != want[2+i] || s.Op.Plain() && uint64(s.Site) != want[4+i] {
			t.Fatalf("%s side %d: %+v, want %v", what, i, s, want)
		}
		if got.Address-s.Address >= s.Size {
			t.Fatalf("%s side %d: %#x is not in the access: %+v", what, i, got.Address, s)
		}
	}
	if got.Address != want[6] {
		t.Fatalf("%s: common byte %#x, want %#x", what, got.Address, want[6])
	}
}

// variants are the ways in which a program is analysed: with and without keeping the
// shadow small all the time.
var variants = []Options{
	{},
	{Atomics: Strict, Workers: 3},
	{SweepEvery: 1, columnsLimit: 1, staleAfter: 1, batchItems: 1, Workers: 1, layers: 1},
	{SweepEvery: 1, columnsLimit: 2, staleAfter: 7, Atomics: Strict, batchItems: 2, noSieve: true, Workers: 2},
	{columnsLimit: 1, staleAfter: 5, batchItems: 3, Workers: 8, layers: 3},
	{layers: 1, Workers: 1},
	{noSieve: true, Workers: 1},
}

func TestAgreesWithPlainDetector(t *testing.T) {
	n := *programs
	if !cross.Long() {
		n /= 10
	}
	for seed := range uint64(n) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f := randomProgram(&chooser{rnd: rnd}, 20+rnd.IntN(120))
		for i, opts := range variants {
			ok := t.Run(fmt.Sprintf("seed=%d/variant=%d", seed, i), func(t *testing.T) { compareWithPlain(t, f, opts) })
			if !ok {
				return
			}
		}
	}
}

func FuzzAgreesWithPlainDetector(f *testing.F) {
	f.Add([]byte("two threads and a word"), byte(0))
	f.Add([]byte{0, 1, 6, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 5, 7, 9, 11}, byte(2))
	f.Add([]byte{3, 3, 2, 20, 1, 2, 3, 20, 21, 22, 23, 24, 15, 16, 17, 18, 19, 20}, byte(3))
	f.Fuzz(func(t *testing.T, data []byte, variant byte) {
		if len(data) > 600 {
			return
		}
		p := randomProgram(&chooser{bytes: data}, 200)
		compareWithPlain(t, p, variants[int(variant)%len(variants)])
	})
}
