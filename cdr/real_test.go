package cdr_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// plainLog records a run without compression.
type plainLog struct {
	blocks  []event.Block
	threads map[event.ThreadID]*plainThread
	events  []format.Event
	outcome event.Outcome
}

type plainThread struct {
	ran     []event.BlockID
	addrs   map[format.Site][]uint64
	segment map[format.Site][]uint64
	events  uint64
	insts   uint64
}

func (l *plainLog) Define(b []event.Block) error {
	for _, b := range b {
		b.Sites = slices.Clone(b.Sites)
		l.blocks = append(l.blocks, b)
	}
	return nil
}

func (l *plainLog) Batch(b *event.Batch) error {
	t := l.threads[b.Thread]
	if t == nil {
		t = &plainThread{addrs: map[format.Site][]uint64{}, segment: map[format.Site][]uint64{}}
		l.threads[b.Thread] = t
	}
	t.insts += b.Insts
	events, addrs := b.Events, b.Addrs
	occur := func(upTo int) {
		for len(events) > 0 && int(events[0].At) <= upTo {
			e := events[0]
			events = events[1:]
			e.At = 0
			l.events = append(l.events, format.Event{Event: e, Thread: b.Thread, Seq: uint64(len(l.events)), Index: t.events})
			t.events++
		}
	}
	for i, id := range b.Blocks {
		occur(i)
		block := &l.blocks[id]
		t.ran = append(t.ran, id)
		for k, s := range block.Sites {
			site := format.Site(s)
			t.addrs[site] = append(t.addrs[site], addrs[k])
			t.segment[site] = append(t.segment[site], t.events)
		}
		addrs = addrs[len(block.Sites):]
	}
	occur(len(b.Blocks))
	return nil
}

func (l *plainLog) Finish(o event.Outcome) error {
	l.outcome = o
	return nil
}

func exampleImage(t testing.TB, name string) *image.Space {
	t.Helper()
	img := cross.Image(t, name)
	return img
}

// simulate runs an example once for all observers. If args is nil, it uses the example's
// own.
func simulate(t testing.TB, name string, args []string, img *image.Space, observers ...event.Observer) {
	t.Helper()
	if args == nil {
		p, ok := examples.Lookup(name)
		if !ok {
			t.Fatalf("no example %q", name)
		}
		args = p.Args
	}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{
		Image: img, Args: append([]string{name}, args...), Seed: 3, Policy: mpsim.Random,
		Observer: event.Tee(observers...), Hooks: hooks, HookAt: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestPrograms simulates programs and compares their traces with a plain log of the same
// run: expanding every grammar must return what was recorded.
func TestPrograms(t *testing.T) {
	names := []string{"bank", "lu", "sor", "water", "mp3d", "fft"}
	if !cross.Long() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			img := exampleImage(t, name)
			prog := cfg.New(img)
			log := &plainLog{threads: map[event.ThreadID]*plainThread{}}
			observers := []event.Observer{log}
			var files []*bytes.Buffer
			options := []recorder.Options{
				{Program: prog},
				{Program: prog, Meta: format.Meta{Alphabet: format.AlphabetBlock}},
				{Program: prog, Budget: 256 << 10},
				{},
			}
			for _, o := range options {
				var out bytes.Buffer
				r, err := recorder.New(&out, o)
				if err != nil {
					t.Fatal(err)
				}
				files, observers = append(files, &out), append(observers, r)
			}
			simulate(t, name, nil, img, observers...)
			for i, f := range files {
				t.Run(fmt.Sprintf("options=%d", i), func(t *testing.T) {
					tr, err := cdr.OpenReaderAt(bytes.NewReader(f.Bytes()), int64(f.Len()))
					if err != nil {
						t.Fatal(err)
					}
					if err := tr.Verify(); err != nil {
						t.Fatal(err)
					}
					log.compare(t, tr, options[i].Program)
				})
			}
		})
	}
}

func (l *plainLog) compare(t *testing.T, tr *cdr.Trace, prog format.Program) {
	t.Helper()
	if o := tr.Info().Outcome; o == nil || *o != l.outcome {
		t.Errorf("outcome %+v, want %+v", o, l.outcome)
	}
	i := 0
	for e, err := range tr.Events() {
		if err != nil || i >= len(l.events) || e != l.events[i] {
			t.Fatalf("event %d: %+v, %v", i, e, err)
		}
		i++
	}
	if i != len(l.events) {
		t.Fatalf("%d events, want %d", i, len(l.events))
	}
	for _, th := range tr.Threads() {
		want := l.threads[th.ID]
		if th.Insts != want.insts || th.Events != want.events {
			t.Errorf("thread %+v, want %d instructions, %d events", th, want.insts, want.events)
		}
		l.compareBlocks(t, tr, th, prog)
		want.compareRuns(t, tr, th)
	}
}

// compareBlocks checks that the blocks of the trace are the blocks that the simulator
// ran, divided at the boundaries of the program's basic blocks.
func (l *plainLog) compareBlocks(t *testing.T, tr *cdr.Trace, th cdr.Thread, prog format.Program) {
	t.Helper()
	ran := l.threads[th.ID].ran
	blocks, foreign, pc, end := uint64(0), 0, uint64(0), uint64(0)
	for got, err := range tr.Blocks(th.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if pc == end {
			if len(ran) == 0 {
				t.Fatalf("thread %d: block %d: %#x behind the last", th.ID, blocks, got)
			}
			b := &l.blocks[ran[0]]
			ran, pc, end = ran[1:], b.PC, b.Next()
		}
		if got != pc {
			t.Fatalf("thread %d: block %d: %#x, want %#x", th.ID, blocks, got, pc)
		}
		blocks++
		if prog == nil {
			pc = end
			continue
		}
		if ref, ok := prog.At(pc); ok && prog.Block(ref).Next() <= end {
			pc = prog.Block(ref).Next()
		} else {
			foreign++
			pc = end
		}
	}
	if pc != end || len(ran) != 0 || blocks != th.Blocks {
		t.Fatalf("thread %d: %d blocks, the trace says %d; %d of the simulator's are missing", th.ID, blocks, th.Blocks, len(ran))
	}
	t.Logf("thread %d: %d blocks, %d of them not basic blocks", th.ID, blocks, foreign)
	if uint64(foreign)*1000 > blocks {
		t.Errorf("thread %d: %d of %d blocks are no basic blocks", th.ID, foreign, blocks)
	}
}

func (want *plainThread) compareRuns(t *testing.T, tr *cdr.Trace, th cdr.Thread) {
	t.Helper()
	accesses, runs := uint64(0), 0
	next := make([]uint64, tr.NumSites())
	for seg, err := range tr.Segments(th.ID) {
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range seg.Runs() {
			if err != nil {
				t.Fatal(err)
			}
			site := tr.Site(r.Site)
			if r.First != next[r.Site] {
				t.Fatalf("thread %d: run %+v, want First %d", th.ID, r, next[r.Site])
			}
			next[r.Site] += r.Count
			for k := range r.Count {
				if want.addrs[site][r.First+k] != r.Base+k*uint64(r.Stride) || want.segment[site][r.First+k] != seg.Index {
					t.Fatalf("thread %d segment %d: run %+v, access %d", th.ID, seg.Index, r, k)
				}
			}
			accesses += r.Count
			runs++
		}
	}
	if accesses != th.Accesses {
		t.Fatalf("thread %d: %d accesses in runs, want %d", th.ID, accesses, th.Accesses)
	}
	t.Logf("thread %d: %d accesses in %d runs", th.ID, accesses, runs)
}
