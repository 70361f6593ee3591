package cdr

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
)

func openBytes(b []byte) (*Trace, error) {
	return OpenReaderAt(bytes.NewReader(b), int64(len(b)))
}

// TestRoundTrip records made-up runs and checks what every view returns.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(30) {
		for _, alphabet := range []format.Alphabet{format.AlphabetPath, format.AlphabetBlock} {
			for _, budget := range []uint64{0, 40 << 10} {
				t.Run(fmt.Sprintf("seed=%d/alphabet=%s/budget=%d", seed, alphabet, budget), func(t *testing.T) {
					s := newSynthetic(seed, 1+int(seed%4))
					s.run(4000)
					image := bytes.Repeat([]byte("elf"), 5000)
					file := s.record(t, recorder.Options{Meta: format.Meta{Alphabet: alphabet, Program: "p", Seed: seed}, Budget: budget, Image: image}, s.batches)
					tr, err := openBytes(file)
					if err != nil {
						t.Fatal(err)
					}
					if m := tr.Info(); !m.Complete || m.Program != "p" || m.Outcome == nil || budget != 0 && m.Epochs < 2 || budget == 0 && m.Epochs != 1 {
						t.Errorf("meta %+v", m)
					}
					if got, err := tr.Image(); err != nil || !bytes.Equal(got, image) {
						t.Errorf("image: %d bytes, %v", len(got), err)
					}
					if err := tr.Verify(); err != nil {
						t.Errorf("verify: %v", err)
					}
					s.compare(t, tr, nil)
				})
			}
		}
	}
}

// TestEpochsByInstructions checks that an epoch ends after a number of instructions,
// however little memory it takes, and that the run stays the same.
func TestEpochsByInstructions(t *testing.T) {
	s := newSynthetic(1, 3)
	s.run(4000)
	insts := uint64(0)
	for _, th := range s.threads {
		insts += th.insts
	}
	for _, parts := range []uint64{1, 5} {
		tr, err := openBytes(s.record(t, recorder.Options{Insts: insts / parts}, s.batches))
		if err != nil {
			t.Fatal(err)
		}
		if n := uint64(tr.Info().Epochs); n > parts || n < parts-1 || tr.Verify() != nil {
			t.Errorf("%d epochs, want about %d; %v", n, parts, tr.Verify())
		}
		s.compare(t, tr, nil)
	}
}

// compare checks everything that a trace says of the run. keep says which accesses were
// recorded.
func (s *synthetic) compare(t *testing.T, tr *Trace, keep func(granule uint64) bool) {
	t.Helper()
	var events []format.Event
	for e, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if !slices.Equal(events, s.order) {
		t.Fatalf("S_synch: %d events, want %d; or they differ", len(events), len(s.order))
	}
	for _, th := range s.threads {
		if len(th.pcs) > 0 {
			s.compareThread(t, tr, th, keep)
		}
	}
}

func (s *synthetic) compareThread(t *testing.T, tr *Trace, th *synthThread, keep func(uint64) bool) {
	t.Helper()
	info := tr.Threads()[th.id]
	if info.Blocks != uint64(len(th.pcs)) || info.Insts != th.insts || info.Events != uint64(len(th.events)) {
		t.Errorf("thread %d: %+v, want %d blocks, %d instructions, %d events", th.id, info, len(th.pcs), th.insts, len(th.events))
	}
	i := 0
	for pc, err := range tr.Blocks(th.id) {
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(th.pcs) || pc != th.pcs[i] {
			t.Fatalf("thread %d: block %d is %#x", th.id, i, pc)
		}
		i++
	}
	if i != len(th.pcs) {
		t.Fatalf("thread %d: %d blocks, want %d", th.id, i, len(th.pcs))
	}
	for id := range tr.NumSites() {
		site := tr.Site(format.SiteID(id))
		var want []uint64
		for _, a := range th.addrs[site] {
			if keep == nil || keeps(keep, a, site.Size) {
				want = append(want, a)
			}
		}
		var got []uint64
		for a, err := range tr.Accesses(th.id, format.SiteID(id)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, a)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("thread %d site %d: addresses %x, want %x", th.id, id, got, want)
		}
	}
	s.compareSegments(t, tr, th, keep)
	s.comparePlaces(t, tr, th)
}

func (s *synthetic) compareSegments(t *testing.T, tr *Trace, th *synthThread, keep func(uint64) bool) {
	t.Helper()
	type access struct {
		site    format.Site
		ordinal uint64
	}
	seen := map[access]bool{}
	segments := uint64(0)
	skipSome := th.id%2 == 1 // ask only for the runs of some segments
	for seg, err := range tr.Segments(th.id) {
		if err != nil {
			t.Fatal(err)
		}
		if seg.Index != segments || seg.Thread != th.id {
			t.Fatalf("segment %d comes as %d", segments, seg.Index)
		}
		segments++
		if skipSome && seg.Index%3 == 1 {
			continue
		}
		for r, err := range seg.Runs() {
			if err != nil {
				t.Fatal(err)
			}
			site := tr.Site(r.Site)
			for k := range r.Count {
				i := r.First + k
				if i >= uint64(len(th.addrs[site])) || th.addrs[site][i] != r.Base+k*uint64(r.Stride) || th.segments[site][i] != seg.Index {
					t.Fatalf("thread %d segment %d: run %+v: access %d is wrong", th.id, seg.Index, r, k)
				}
				if seen[access{site, i}] {
					t.Fatalf("access twice: %+v", r)
				}
				seen[access{site, i}] = true
			}
		}
	}
	if segments != uint64(len(th.events))+1 {
		t.Fatalf("thread %d: %d segments, want %d", th.id, segments, len(th.events)+1)
	}
	for site, addrs := range th.addrs {
		for i, a := range addrs {
			if skipSome && th.segments[site][i]%3 == 1 {
				continue
			}
			if want := keep == nil || keeps(keep, a, site.Size); seen[access{site, uint64(i)}] != want {
				t.Fatalf("thread %d site %#x access %d: in a run %v, want %v", th.id, site.PC, i, !want, want)
			}
		}
	}
}

func (s *synthetic) comparePlaces(t *testing.T, tr *Trace, th *synthThread) {
	t.Helper()
	for id := range tr.NumSites() {
		site := tr.Site(format.SiteID(id))
		for i := 0; i < len(th.addrs[site]); i += 1 + s.rng.IntN(20) {
			stack, err := tr.AccessStack(th.id, format.SiteID(id), uint64(i))
			if err != nil || !slices.Equal(stack, th.stacks[site][i]) {
				t.Fatalf("thread %d site %d access %d: stack %x, want %x (%v)", th.id, id, i, stack, th.stacks[site][i], err)
			}
			seg, err := tr.Locate(th.id, format.SiteID(id), uint64(i))
			if err != nil || seg != th.segments[site][i] {
				t.Fatalf("thread %d site %d access %d: segment %d, want %d (%v)", th.id, id, i, seg, th.segments[site][i], err)
			}
		}
		if _, err := tr.AccessStack(th.id, format.SiteID(id), uint64(len(th.addrs[site]))); !errors.Is(err, ErrNoSuch) {
			t.Fatalf("access that never was: %v", err)
		}
	}
	for i, e := range th.events {
		if th.evStacks[i] == nil {
			continue
		}
		stack, err := tr.EventStack(th.id, uint64(i))
		if err != nil || !slices.Equal(stack, th.evStacks[i]) {
			t.Fatalf("thread %d event %d (%v): stack %x, want %x (%v)", th.id, i, e.Kind, stack, th.evStacks[i], err)
		}
	}
}

// TestBatches checks that the file depends neither on where batches are cut nor on
// whether the run is recorded twice.
func TestBatches(t *testing.T) {
	for seed := range uint64(10) {
		s := newSynthetic(seed, 3)
		s.run(5000)
		opts := recorder.Options{Budget: 50 << 10}
		want := s.record(t, opts, s.batches)
		if again := s.record(t, opts, s.batches); !bytes.Equal(again, want) {
			t.Fatalf("seed %d: two recordings differ", seed)
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		if got := s.record(t, opts, rechop(rng, s.batches, s.siteCount)); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: batch boundaries show in the file", seed)
		}
	}
}

// TestLateRuns asks for the runs of segments in any order, and for those of two segments
// at once.
func TestLateRuns(t *testing.T) {
	s := newSynthetic(6, 2)
	s.run(3000)
	tr, err := openBytes(s.record(t, recorder.Options{Budget: 60 << 10}, s.batches))
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range s.threads {
		var segs []*Segment
		var want [][]fold.Run
		for seg, err := range tr.Segments(th.id) {
			if err != nil {
				t.Fatal(err)
			}
			segs, want = append(segs, seg), append(want, runs(t, seg))
		}
		for range 500 {
			a, b := s.rng.IntN(len(segs)), s.rng.IntN(len(segs))
			i := 0
			for r, err := range segs[a].Runs() {
				if err != nil || r != want[a][i] {
					t.Fatalf("segment %d, run %d: %+v, want %+v (%v)", a, i, r, want[a][i], err)
				}
				if i++; i == 1 && !slices.Equal(runs(t, segs[b]), want[b]) {
					t.Fatalf("segment %d inside %d: other runs", b, a)
				}
				if i == 5 && a%2 == 0 {
					break
				}
			}
		}
	}
}

func runs(t *testing.T, seg *Segment) (out []fold.Run) {
	t.Helper()
	for r, err := range seg.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// keeps reports whether an access is recorded, which it is if one of its granules is.
func keeps(keep func(uint64) bool, addr uint64, size uint8) bool {
	for a := addr; a < addr+uint64(size); a++ {
		if keep(a >> 3) {
			return true
		}
	}
	return false
}
