package race

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/recorder"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

// strided is a run that a thread of a strided program executes.
type strided struct {
	pc     uint64
	size   uint8
	access event.Access
	offset uint64
	stride int64
	count  uint64
}

// stridedProgram is a random program that repeats itself, at the same place and at
// others: loops over arrays with strides and widths of all kinds, in up to 16 threads.
func stridedProgram(c *chooser, steps int) *fake {
	f := newFake(2 + c.n(15))
	var bodies [][]strided
	for range 1 + c.n(4) {
		var body []strided
		for range 1 + c.n(4) {
			size := uint8(1 << c.n(4))
			body = append(body, strided{pc: 0x1000 + uint64(c.n(6))*4 + uint64(size)<<8, size: size, access: event.Access(c.n(2)),
				offset: uint64(c.n(64)), stride: []int64{8, 4, 16, 1, 0, -8, 24, 3, -5, 40, 128, 264, 1024}[c.n(13)], count: uint64(1 + c.n(20))})
		}
		bodies = append(bodies, body)
	}
	bases := []uint64{0x10000, 0x103c0, 0x10800, 0x11ff0, 0x13fe0}[:1+c.n(5)]
	held := map[uint64]event.ThreadID{}
	for !c.done(&steps) {
		th := event.ThreadID(c.n(len(f.segments)))
		switch c.n(12) {
		case 0:
			f.event(th, event.Event{Kind: event.AtomicRMW, Mode: event.Mode(c.n(4)), Size: 4, Obj: 0x10000 + uint64(c.n(200))*4, PC: 0x5000})
		case 1, 2:
			obj := 0x100 + uint64(c.n(3))*16
			if owner, ok := held[obj]; !ok {
				held[obj] = th
				f.do(th, event.MutexLock, obj, 0)
			} else {
				delete(held, obj)
				f.do(owner, event.MutexUnlock, obj, 0)
			}
		case 3:
			f.do(th, []event.Kind{event.Alloc, event.Free, event.SemPost, event.SemWait}[c.n(4)], 0x10000+uint64(c.n(64))*24, uint64(1+c.n(3000)))
		case 4: // all wait for each other
			for t := range f.segments {
				f.do(event.ThreadID(t), event.BarrierEnter, 0x700, f.barriers)
			}
			for t := range f.segments {
				f.do(event.ThreadID(t), event.BarrierLeave, 0x700, f.barriers)
			}
			f.barriers++
		default:
			body := bodies[c.n(len(bodies))]
			base, shift := bases[c.n(len(bases))], []uint64{0, 0, 8, 64, 1, 128, 256}[c.n(7)]
			for i := range uint64(1 + c.n(6)) {
				for _, s := range body {
					f.run(th, f.site(s.pc, s.size, s.access), base+i*shift+s.offset, s.stride, s.count)
				}
			}
		}
	}
	return f
}

// file writes the run into a trace.
func (f *fake) file(t testing.TB, budget uint64) []byte {
	t.Helper()
	var file bytes.Buffer
	rec, err := recorder.New(&file, recorder.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	blocks := make([]event.Block, len(f.sites))
	for id, s := range f.sites {
		blocks[id] = event.Block{ID: event.BlockID(id), PC: s.PC, Bytes: 4, Insts: 1, Sites: []event.Site{event.Site(s)}}
	}
	if err := rec.Define(blocks); err != nil {
		t.Fatal(err)
	}
	left := make([][]fakeSegment, len(f.segments))
	copy(left, f.segments)
	put := func(th event.ThreadID, place uint64, events ...event.Event) {
		b := event.Batch{Thread: th}
		for segs := left[th]; len(segs) > 0 && segs[0].place <= place; segs = segs[1:] {
			for _, r := range segs[0].runs {
				for k := range r.Count {
					b.Blocks = append(b.Blocks, event.BlockID(r.Site))
					b.Addrs = append(b.Addrs, r.Base+k*uint64(r.Stride))
				}
			}
			left[th] = segs[1:]
		}
		b.Insts = uint64(len(b.Blocks))
		for _, e := range events {
			e.At = uint32(len(b.Blocks))
			b.Events = append(b.Events, e)
		}
		if err := rec.Batch(&b); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range f.events {
		put(e.Thread, e.Index, e.Event)
	}
	for th := range f.segments {
		put(event.ThreadID(th), 1<<63)
	}
	if err := rec.Finish(event.Outcome{}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// recorded returns the run as a trace, and with the trace's site numbers.
func (f *fake) recorded(t testing.TB, budget uint64) (*cdr.Trace, *fake) {
	t.Helper()
	file := f.file(t, budget)
	trace, err := cdr.OpenReaderAt(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	same := &fake{sites: slices.Clone(f.sites), events: f.events, segments: make([][]fakeSegment, len(f.segments))}
	for th, segs := range f.segments {
		for _, s := range segs {
			same.segments[th] = append(same.segments[th], fakeSegment{s.place, slices.Clone(s.runs)})
		}
	}
	if err := (&collector{f: same}).renumber(trace); err != nil {
		t.Fatal(err)
	}
	return trace, same
}

// TestStridedProgramsAgree compares the results for the traces of strided programs, and
// for the programs themselves, with the plain detector.
func TestStridedProgramsAgree(t *testing.T) {
	n, pairs := max(*programs/8, 50), uint64(0)
	if !cross.Long() {
		n /= 5
	}
	for seed := range uint64(n) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		f := stridedProgram(&chooser{rnd: rnd}, 10+rnd.IntN(25))
		if !f.small(6000) {
			continue
		}
		trace, same := f.recorded(t, seed%3*4<<10)
		for i, opts := range variants {
			if !t.Run(fmt.Sprintf("seed=%d/variant=%d", seed, i), func(t *testing.T) {
				compareSources(t, replay.FromTrace(trace), same, opts)
				compareWithPlain(t, f, opts)
			}) {
				return
			}
		}
		for _, p := range plainDetect(f, Relaxed) {
			pairs += p.dynamic
		}
	}
	if pairs < 10_000 {
		t.Errorf("%d dynamic pairs: nothing is tested", pairs)
	}
}

// small reports whether the plain detector is fast enough.
func (f *fake) small(limit uint64) bool {
	n := uint64(0)
	for _, segs := range f.segments {
		for _, s := range segs {
			for _, r := range s.runs {
				n += r.Count
			}
		}
	}
	return n < limit
}

func FuzzStridedProgramsAgree(f *testing.F) {
	f.Add([]byte{3, 2, 1, 3, 1, 0, 0, 8, 1, 1, 2, 6, 0, 0, 5, 5, 5, 5, 5, 6, 7, 8, 1, 2, 3}, byte(0))
	f.Add([]byte("sixteen threads, many strides and a barrier or two, and so on and on"), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, variant byte) {
		if len(data) > 300 {
			return
		}
		p := stridedProgram(&chooser{bytes: data}, 40)
		if !p.small(1000) {
			return
		}
		trace, same := p.recorded(t, uint64(variant&8)<<9)
		compareSources(t, replay.FromTrace(trace), same, variants[int(variant)%len(variants)])
	})
}
