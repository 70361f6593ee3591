package cdr

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// everything reads all that a trace contains and returns the first error.
func everything(b []byte, limit int) (*Trace, error) {
	tr, err := openBytes(b)
	if err != nil {
		return nil, err
	}
	first := tr.Verify()
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	tr.Sizes()
	left := limit
	for _, err := range tr.Events() {
		note(err)
		if left--; left < 0 {
			break
		}
	}
	for _, th := range tr.Threads() {
		left := limit
		for _, err := range tr.Blocks(th.ID) {
			note(err)
			if left--; left < 0 {
				break
			}
		}
		for seg, err := range tr.Segments(th.ID) {
			note(err)
			if err != nil {
				break
			}
			for r, err := range seg.Runs() {
				note(err)
				if left--; left < 0 {
					break
				}
				if left%16 == 0 && err == nil {
					_, err := tr.AccessStack(th.ID, r.Site, r.First)
					note(err)
					_, err = tr.Locate(th.ID, r.Site, r.First)
					note(err)
				}
			}
			if left%8 == 0 {
				_, err := tr.EventStack(th.ID, seg.Index)
				_ = err // the last segment has no event
			}
			if left--; left < 0 {
				break
			}
		}
		for site := range min(tr.NumSites(), 50) {
			left := 1000
			for _, err := range tr.Accesses(th.ID, format.SiteID(site)) {
				note(err)
				if left--; left < 0 {
					break
				}
			}
		}
	}
	return tr, first
}

func damaged(t testing.TB) (s *synthetic, file []byte) {
	s = newSynthetic(3, 3)
	s.run(6000)
	return s, s.record(t, recorder.Options{Budget: 40 << 10, Image: bytes.Repeat([]byte{1, 2, 3}, 3000)}, s.batches)
}

// TestCut cuts a trace as a killed recording would: the committed part must be there, and
// must equal the beginning of the run.
func TestCut(t *testing.T) {
	s, file := damaged(t)
	whole, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	partial := 0
	for i := range 50 {
		n := len(file) * i / 50
		tr, err := openBytes(file[:n])
		if err != nil {
			continue
		}
		if tr.Info().Complete {
			t.Fatalf("cut at %d of %d: complete", n, len(file))
		}
		if err := tr.Verify(); err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		var events []format.Event
		for e, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		if !slices.Equal(events, s.order[:len(events)]) {
			t.Fatalf("cut at %d: other events", n)
		}
		want := 0
		for e := range whole.epochs {
			if commitEnd(whole, e) <= int64(n) {
				want++
			}
		}
		if tr.Info().Epochs != want {
			t.Fatalf("cut at %d: %d epochs, want %d", n, tr.Info().Epochs, want)
		}
		if want > 0 {
			partial++
		}
		for _, th := range tr.Threads() {
			k := 0
			for pc, err := range tr.Blocks(th.ID) {
				if err != nil || pc != s.threads[th.ID].pcs[k] {
					t.Fatalf("cut at %d: thread %d block %d: %#x %v", n, th.ID, k, pc, err)
				}
				k++
			}
			if uint64(k) != th.Blocks {
				t.Fatalf("cut at %d: thread %d: %d blocks, want %d", n, th.ID, k, th.Blocks)
			}
		}
	}
	if partial < 10 {
		t.Errorf("only %d of the cut files have an epoch", partial)
	}
}

func commitEnd(t *Trace, epoch int) int64 {
	for _, h := range t.r.Blocks() {
		if h.Kind == tracefmt.KindCommit && h.Epoch == uint32(epoch) {
			return h.Offset + h.Size()
		}
	}
	return -1
}

// TestFlip changes bytes, which must lead to an error or to a trace that is marked as
// partial.
func TestFlip(t *testing.T) {
	_, file := damaged(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		b := bytes.Clone(file)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
		}
		if tr, err := everything(b, 2000); err == nil && tr.Info().Complete {
			t.Fatal("damage unnoticed")
		}
	}
}

// forge writes a file with correct checksums whose payloads are those of another file,
// modified by change.
func forge(t testing.TB, file []byte, change func(h tracefmt.Handle, payload []byte) []byte) []byte {
	t.Helper()
	r, err := tracefmt.NewReader(bytes.NewReader(file), int64(len(file)), tracefmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := tracefmt.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Blocks() {
		payload, err := r.Read(h)
		if err != nil {
			t.Fatal(err)
		}
		payload = change(h, payload)
		if h.Kind == tracefmt.KindCommit {
			err = w.Commit(payload)
		} else {
			err = w.Append(h.Kind, h.Thread, payload)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHostile changes payloads and corrects the checksums: the result may be an error or
// another trace, but not a panic.
func TestHostile(t *testing.T) {
	_, file := damaged(t)
	rng := rand.New(rand.NewPCG(2, 2))
	kinds := map[tracefmt.Kind]int{}
	errs := 0
	for range 200 {
		kind := tracefmt.Kind(1 + rng.IntN(7))
		b := forge(t, file, func(h tracefmt.Handle, payload []byte) []byte {
			if h.Kind != kind || rng.IntN(3) == 0 || len(payload) == 0 {
				return payload
			}
			payload = bytes.Clone(payload)
			switch rng.IntN(5) {
			case 0:
				payload = payload[:rng.IntN(len(payload))]
			case 1:
				i := rng.IntN(len(payload))
				payload = slices.Insert(payload, i, 0xff, 0xff, 0xff, 0xff, 0x7f)
			default:
				payload[rng.IntN(min(len(payload), 1+rng.IntN(2000)))] = byte(rng.IntN(256))
			}
			return payload
		})
		kinds[kind]++
		if _, err := everything(b, 2000); err != nil {
			errs++
		}
	}
	if errs < 50 {
		t.Errorf("%d errors only, over %v", errs, kinds)
	}
}

func FuzzTrace(f *testing.F) {
	s := newSynthetic(4, 2)
	s.run(200)
	for _, mode := range []format.Mode{format.ModeCDR, format.ModeCOR, format.ModeDOR} {
		f.Add(s.record(f, recorder.Options{Meta: format.Meta{Mode: mode}}, s.batches))
	}
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = everything(b, 500) })
}

// FuzzPayloads feeds the decoders of the payloads, past the checks of the container.
func FuzzPayloads(f *testing.F) {
	s := newSynthetic(4, 2)
	s.run(200)
	file := s.record(f, recorder.Options{}, s.batches)
	forge(f, file, func(h tracefmt.Handle, payload []byte) []byte {
		f.Add(byte(h.Kind), payload)
		return payload
	})
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		tab := format.NewTables()
		for i := range 4 {
			id := tab.Site(format.Site{PC: uint64(i), Size: 8})
			tab.Blocks = append(tab.Blocks, format.TableBlock{PC: uint64(i), Bytes: 4, Insts: 1, SiteFrom: uint32(i), SiteCount: 1, End: event.End(i + 3)})
			tab.SiteLists = append(tab.SiteLists, id)
			tab.Path = append(tab.Path, uint32(i))
			tab.PathOff = append(tab.PathOff, uint32(i+1))
		}
		switch tracefmt.Kind(kind) {
		case tracefmt.KindTables:
			_ = format.NewTables().Add(payload)
		case tracefmt.KindControl:
			_, _ = format.DecodeControl(payload, tab)
		case tracefmt.KindData:
			if d, err := format.DecodeData(payload, tab); err == nil {
				for i := range d.Streams {
					if x, err := fold.NewIndex(&d.Streams[i], d.Terms); err == nil {
						c := &fold.Cursor{Index: x}
						c.Seek(x.Total() / 2)
						n := 0
						c.Next(x.Total(), func(fold.Run) bool { n++; return n < 1000 })
					}
				}
			}
		case tracefmt.KindSync:
			threads := []format.Counts{{Thread: 0, Events: 3}, {Thread: 1, Events: 2000}, {Thread: 7, Events: 40}}
			if len(payload) > 0 {
				threads[2].Events = uint64(payload[0]) // any number that fits
			}
			c, err := format.ReplaySync(payload, threads)
			for ok := err == nil; ok; {
				if _, _, ok, err = c.Next(); err != nil {
					return
				}
			}
		case tracefmt.KindCommit:
			_, _ = format.DecodeCommit(payload)
		case tracefmt.KindMeta:
			_, _ = format.DecodeMeta(payload)
		default:
			_ = fmt.Sprint(tracefmt.Kind(kind))
		}
	})
}
