package cdr

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/internal/madeup"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
)

// openFlow opens a trace without an image.
func openFlow(file []byte, program format.Program) (*Trace, error) {
	tr, err := openBytes(file)
	if err == nil {
		tr.loadProgram = func([]byte) (format.Program, error) { return program, nil }
	}
	return tr, err
}

// shelled sets the control flow of the run, to an empty one if it has none.
func (s *synthetic) shelled() {
	if s.flow == nil {
		s.flow = madeup.New()
	}
}

// TestFlowRoundTrip records made-up runs as arithmetic program paths and checks what
// every view returns.
func TestFlowRoundTrip(t *testing.T) {
	for seed := range uint64(12) {
		for _, alphabet := range []format.Alphabet{format.AlphabetPath, format.AlphabetBlock} {
			for _, o := range []recorder.Options{
				{Flow: app.Improved()},
				{Flow: app.Options{Local: 3, Global: 3, Checkpoint: 100}, Budget: 100 << 10},
				{Flow: app.Options{Local: 2, Global: 2, Scheme: app.Asymmetric, Intraprocedural: true}, Budget: 40 << 10},
			} {
				t.Run(fmt.Sprintf("seed=%d/alphabet=%s/budget=%d", seed, alphabet, o.Budget), func(t *testing.T) {
					s := newSynthetic(seed, 1+int(seed%4))
					s.run(4000)
					s.shelled()
					o.Meta = format.Meta{Alphabet: alphabet, Control: format.ControlAPP}
					file := s.record(t, o, s.batches)
					tr, err := openFlow(file, s.flow)
					if err != nil {
						t.Fatal(err)
					}
					if m := tr.Info(); !m.Complete || m.Control != format.ControlAPP || (o.Budget != 0) != (m.Epochs > 1) {
						t.Errorf("meta %+v", m)
					}
					if err := tr.Verify(); err != nil {
						t.Errorf("verify: %v", err)
					}
					s.compare(t, tr, nil)
					s.compareFrom(t, tr)
				})
			}
		}
	}
}

// compareFrom asks for blocks from places all over the run, in a trace that has not built
// any grammar yet.
func (s *synthetic) compareFrom(t *testing.T, tr *Trace) {
	t.Helper()
	for _, th := range s.threads {
		for n := 0; n <= len(th.pcs); n += 1 + len(th.pcs)/7 {
			want := th.pcs[n:min(n+50, len(th.pcs))]
			for pc, err := range tr.BlocksFrom(th.id, uint64(n)) {
				if err != nil {
					t.Fatal(err)
				}
				if len(want) == 0 {
					break
				}
				if pc != want[0] {
					t.Fatalf("thread %d from block %d on: %#x with %d to come", th.id, n, pc, len(want))
				}
				want = want[1:]
			}
			if len(want) > 0 {
				t.Fatalf("thread %d from block %d on: %d too few", th.id, n, len(want))
			}
		}
	}
}

// TestFlowGrammars compares the control strings built from a flow with those of the same
// run recorded as grammars. The terminals and the grammars must be the same, apart from
// the numbers of paths.
func TestFlowGrammars(t *testing.T) {
	for seed := range uint64(20) {
		s := newSynthetic(seed, 1+int(seed%4))
		s.run(4000)
		s.shelled()
		whole, err := openBytes(s.record(t, recorder.Options{}, s.batches))
		if err != nil {
			t.Fatal(err)
		}
		played, err := openFlow(s.record(t, recorder.Options{Meta: format.Meta{Control: format.ControlAPP}, Flow: app.Improved()}, s.batches), s.flow)
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range whole.Threads() {
			if th.Blocks == 0 {
				continue
			}
			want, err := whole.stretch(0, th.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := played.stretch(0, th.ID)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Grammar.AppendBinary(nil), want.Grammar.AppendBinary(nil)) || !slices.Equal(got.Base, want.Base) || len(got.Terms) != len(want.Terms) {
				t.Fatalf("seed %d, thread %d: the grammars differ", seed, th.ID)
			}
			for i, x := range want.Terms {
				y := got.Terms[i]
				if x.Kind == format.TermPath && y.Kind == format.TermPath {
					if !slices.Equal(whole.tab.PathBlocks(format.PathID(x.A)), played.tab.PathBlocks(format.PathID(y.A))) {
						t.Fatalf("seed %d, thread %d: terminal %d is another path", seed, th.ID, i)
					}
					x.A = y.A
				}
				if x != y {
					t.Fatalf("seed %d, thread %d: terminal %d is %+v, want %+v", seed, th.ID, i, y, x)
				}
			}
		}
	}
}

// TestFlowChosen records only some functions. The trace must have their blocks, all
// events, and the call stacks of a complete recording.
func TestFlowChosen(t *testing.T) {
	for seed := range uint64(16) {
		s := newSynthetic(seed, 1+int(seed%4))
		s.run(4000)
		if s.flow == nil {
			continue
		}
		chosen := func(pc uint64) bool {
			ref, ok := s.flow.At(pc)
			return ok && uint64(ref.Func)%2 == seed%2
		}
		whole, err := openBytes(s.record(t, recorder.Options{Meta: format.Meta{Mode: format.ModeCOR}}, s.batches))
		if err != nil {
			t.Fatal(err)
		}
		for _, budget := range []uint64{0, 200 << 10} {
			o := recorder.Options{Meta: format.Meta{Mode: format.ModeCOR, Control: format.ControlAPP}, Chosen: chosen, Budget: budget, Flow: app.Options{Local: 3, Global: 3}}
			tr, err := openFlow(s.record(t, o, s.batches), s.flow)
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.Verify(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, th := range s.threads {
				want := slices.DeleteFunc(slices.Clone(th.pcs), func(pc uint64) bool { return !chosen(pc) })
				var got []uint64
				for pc, err := range tr.Blocks(th.id) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, pc)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, thread %d: %d blocks, want %d; or they differ", seed, th.id, len(got), len(want))
				}
				for i := range th.events {
					got, err := tr.EventStack(th.id, uint64(i))
					if err != nil {
						t.Fatal(err)
					}
					if want, _ := whole.EventStack(th.id, uint64(i)); !slices.Equal(got, want) {
						t.Fatalf("seed %d, thread %d, event %d: stack %x, want %x", seed, th.id, i, got, want)
					}
				}
			}
		}
	}
}

// FuzzFlow feeds the playback of flow blocks.
func FuzzFlow(f *testing.F) {
	s := newSynthetic(4, 2)
	s.run(300)
	s.shelled()
	file := s.record(f, recorder.Options{Meta: format.Meta{Control: format.ControlAPP}, Flow: app.Options{Local: 2, Global: 2, Checkpoint: 100}}, s.batches)
	forge(f, file, func(h tracefmt.Handle, payload []byte) []byte {
		if h.Kind == tracefmt.KindFlow {
			f.Add(payload)
		}
		return payload
	})
	f.Fuzz(func(t *testing.T, payload []byte) {
		tr, err := openFlow(file, s.flow)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tr.player()
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.Control(payload, &format.Counts{Blocks: 5000, Events: 100}); err == nil {
			st := &stretch{ControlString: c, tab: tr.tab}
			st.walkBlocks(func(uint64, error) bool { return true })
		}
	})
}
