package cdr_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// plainLog keeps everything that happens in a run, uncompressed.
type plainLog struct {
	blocks  []event.Block
	threads map[event.ThreadID]*plainThread
	events  []cdr.Event
	outcome event.Outcome
}

type plainThread struct {
	pcs     []uint64
	addrs   map[cdr.Site][]uint64
	segment map[cdr.Site][]uint64
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
		t = &plainThread{addrs: map[cdr.Site][]uint64{}, segment: map[cdr.Site][]uint64{}}
		l.threads[b.Thread] = t
	}
	t.insts += b.Insts
	events, addrs := b.Events, b.Addrs
	occur := func(upTo int) {
		for len(events) > 0 && int(events[0].At) <= upTo {
			e := events[0]
			events = events[1:]
			e.At = 0
			l.events = append(l.events, cdr.Event{Event: e, Thread: b.Thread, Seq: uint64(len(l.events)), Index: t.events})
			t.events++
		}
	}
	for i, id := range b.Blocks {
		occur(i)
		block := &l.blocks[id]
		t.pcs = append(t.pcs, block.PC)
		for k, s := range block.Sites {
			site := cdr.Site(s)
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

// simulate runs an example once for all observers.
func simulate(t *testing.T, name string, observers ...event.Observer) {
	t.Helper()
	p, ok := examples.Lookup(name)
	if !ok {
		t.Fatalf("no example %q", name)
	}
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{
		Image: img, Args: append([]string{name}, p.Args...), Seed: 3, Policy: mpsim.Random,
		Observer: event.Tee(observers...), Hooks: hooks, HookAt: at,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestPrograms simulates programs and compares their traces with a plain log
// of the same run: expanding every grammar gives back what was recorded.
func TestPrograms(t *testing.T) {
	names := []string{"bank", "lu", "sor", "water", "mp3d", "fft"}
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			log := &plainLog{threads: map[event.ThreadID]*plainThread{}}
			observers := []event.Observer{log}
			var files []*bytes.Buffer
			options := []cdr.Options{
				{},
				{Meta: cdr.Meta{Alphabet: cdr.AlphabetBlock}},
				{Budget: 256 << 10},
			}
			for _, o := range options {
				var out bytes.Buffer
				r, err := cdr.NewRecorder(&out, o)
				if err != nil {
					t.Fatal(err)
				}
				files, observers = append(files, &out), append(observers, r)
			}
			simulate(t, name, observers...)
			for i, f := range files {
				t.Run(fmt.Sprintf("options=%d", i), func(t *testing.T) {
					tr, err := cdr.OpenReaderAt(bytes.NewReader(f.Bytes()), int64(f.Len()))
					if err != nil {
						t.Fatal(err)
					}
					if err := tr.Verify(); err != nil {
						t.Fatal(err)
					}
					log.compare(t, tr)
				})
			}
		})
	}
}

func (l *plainLog) compare(t *testing.T, tr *cdr.Trace) {
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
		if th.Insts != want.insts || th.Blocks != uint64(len(want.pcs)) || th.Events != want.events {
			t.Errorf("thread %+v, want %d instructions, %d blocks, %d events", th, want.insts, len(want.pcs), want.events)
		}
		i := 0
		for pc, err := range tr.Blocks(th.ID) {
			if err != nil || i >= len(want.pcs) || want.pcs[i] != pc {
				t.Fatalf("thread %d: block %d: %#x, %v", th.ID, i, pc, err)
			}
			i++
		}
		if i != len(want.pcs) {
			t.Fatalf("thread %d: %d blocks, want %d", th.ID, i, len(want.pcs))
		}
		want.compareRuns(t, tr, th)
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
