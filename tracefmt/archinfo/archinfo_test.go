package archinfo

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/wire"
)

func pack(bits []bool) []uint64 {
	words := make([]uint64, (len(bits)+63)/64)
	for i, b := range bits {
		if b {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return words
}

func expand(t *testing.T, h *History, s Stream) []bool {
	t.Helper()
	var out []bool
	for b, err := range h.Bits(s) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// bitStrings returns strings of bits of different kinds.
func bitStrings(rng *rand.Rand) map[string][]bool {
	fill := func(n int, f func(i int) bool) []bool {
		b := make([]bool, n)
		for i := range b {
			b[i] = f(i)
		}
		return b
	}
	return map[string][]bool{
		"empty":    nil,
		"one":      {true},
		"zeros":    fill(100000, func(int) bool { return false }),
		"ones":     fill(100000, func(int) bool { return true }),
		"loop":     fill(50000, func(i int) bool { return i%8 == 0 }),
		"random":   fill(5000, func(int) bool { return rng.IntN(2) == 0 }),
		"rare":     fill(200000, func(int) bool { return rng.IntN(5000) == 0 }),
		"frequent": fill(200000, func(int) bool { return rng.IntN(5000) != 0 }),
	}
}

func TestHistoryRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		for name, bits := range bitStrings(rng) {
			var e HistoryEncoder
			for epoch := range 2 { // the second as if the first had not existed
				for at := 0; at < len(bits); {
					n := min(1+rng.IntN(300), len(bits)-at)
					e.Append(Stores, pack(bits[at:at+n]), n)
					at += n
				}
				payload := e.Payload()
				h, err := DecodeHistory(payload)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := expand(t, h, Stores); !reflect.DeepEqual(got, bits) {
					t.Fatalf("%s, epoch %d: bits differ", name, epoch)
				}
				if n, _ := h.Count(Stores); n != uint64(len(bits)) {
					t.Fatalf("%s: %d bits, want %d", name, n, len(bits))
				}
				if n, _ := h.Count(Loads); n != 0 {
					t.Fatalf("%s: loads out of nowhere", name)
				}
				if limit := map[string]int{"zeros": 120, "ones": 120, "loop": 260}[name]; limit > 0 && len(payload) > limit {
					t.Errorf("%s: %d bytes for %d bits, want at most %d", name, len(payload), len(bits), limit)
				}
			}
		}
	}
}

// TestHistoryDamage cuts and flips payloads. The result must be an error or other bits,
// and an error whenever bytes are missing.
func TestHistoryDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var e HistoryEncoder
	for s := range Stream(NumStreams) {
		bits := bitStrings(rng)["random"]
		e.Append(s, pack(bits), len(bits))
	}
	good := e.Payload()
	read := func(b []byte) error {
		h, err := DecodeHistory(b)
		if err != nil {
			return err
		}
		for s := range Stream(NumStreams) {
			for _, err := range h.Bits(s) {
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if err := read(good[:n]); !errors.Is(err, wire.ErrMalformed) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	for range 2000 {
		b := append([]byte{}, good...)
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		if err := read(b); err != nil && !errors.Is(err, wire.ErrMalformed) {
			t.Fatal(err)
		}
	}
	if err := read([]byte{form, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 1, 0, 0, 0, 0, 0, 0, 0}); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("bits without number in a byte: %v", err)
	}
}

// fill sets every number that v holds, in slices of up to three elements.
func fill(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), rng)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(4), 3))
		for i := range v.Len() {
			fill(v.Index(i), rng)
		}
	case reflect.Uint64:
		v.SetUint(rng.Uint64() >> rng.IntN(64))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	}
}

func randomSummary(rng *rand.Rand) *Summary {
	s := new(Summary)
	fill(reflect.ValueOf(s).Elem(), rng)
	s.Config.Line, s.Config.Granule = 64, 1
	s.Harts = append(s.Harts, HartCounts{Loads: 3}, HartCounts{})
	for i := range s.Lines {
		l := &s.Lines[i]
		l.Address &^= 63
		for j := range l.Threads {
			l.Threads[j].Thread = event.ThreadID(rng.IntN(len(s.Harts)))
		}
		for j := range l.Words {
			l.Words[j].Index = rng.IntN(8)
		}
		for j := range l.Sites {
			l.Sites[j].Word = rng.IntN(8)
			l.Sites[j].Thread = event.ThreadID(rng.IntN(len(s.Harts)))
		}
	}
	return s
}

func TestSummaryRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		want := randomSummary(rng)
		payload := want.Encode()
		got, err := DecodeSummary(payload)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		for range 20 {
			if _, err := DecodeSummary(payload[:rng.IntN(len(payload))]); !errors.Is(err, wire.ErrMalformed) {
				t.Fatalf("cut: %v", err)
			}
		}
	}
}

// TestFields checks that the lists of fields leave none out.
func TestFields(t *testing.T) {
	for _, k := range []interface{ Fields() []*uint64 }{new(HartCounts), new(LineCounts), new(WordCounts)} {
		if got, want := len(k.Fields()), reflect.TypeOf(k).Elem().NumField(); got != want {
			t.Errorf("%T: %d fields, want %d", k, got, want)
		}
		seen := map[*uint64]bool{}
		for _, f := range k.Fields() {
			if seen[f] {
				t.Errorf("%T: a field twice", k)
			}
			seen[f] = true
		}
	}
}

func TestSummaryLimits(t *testing.T) {
	s := &Summary{Config: Config{Line: 64, Granule: 1}, Lines: make([]Line, MaxLines+5)}
	for i := range s.Lines {
		s.Lines[i].Address = uint64(i) * 64
	}
	got, err := DecodeSummary(s.Encode())
	if err != nil || len(got.Lines) != MaxLines || got.Dropped != 5 {
		t.Fatalf("%v, %d lines, %d dropped", err, len(got.Lines), got.Dropped)
	}
	for name, bad := range map[string]*Summary{
		"no line size": {},
		"line of 3":    {Config: Config{Line: 3, Granule: 1}},
		"granule 0":    {Config: Config{Line: 64}},
		"unaligned":    {Config: Config{Line: 64, Granule: 1}, Lines: []Line{{Address: 8}}},
		"no such hart": {Config: Config{Line: 64, Granule: 1}, Lines: []Line{{Threads: []Touch{{}}}}},
		"no such word": {Config: Config{Line: 64, Granule: 1}, Lines: []Line{{Words: []Word{{Index: 8}}}}},
	} {
		if _, err := DecodeSummary(bad.Encode()); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeHistory(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, bits := range bitStrings(rng) {
		var e HistoryEncoder
		bits = bits[:min(len(bits), 3000)]
		e.Append(Loads, pack(bits), len(bits))
		f.Add(e.Payload())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHistory(b)
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		var again HistoryEncoder
		whole := true
		for s := range Stream(NumStreams) {
			for bit, err := range h.Bits(s) {
				if err != nil {
					whole = false
					break
				}
				again.Append(s, pack([]bool{bit}), 1)
			}
		}
		if !whole {
			return
		}
		g, err := DecodeHistory(again.Payload())
		if err != nil {
			t.Fatal(err)
		}
		for s := range Stream(NumStreams) {
			n, ones := h.Count(s)
			if gn, gones := g.Count(s); n != gn || ones != gones {
				t.Fatalf("stream %d: %d/%d bits, coded again %d/%d", s, ones, n, gones, gn)
			}
		}
	})
}

func FuzzDecodeSummary(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 5 {
		f.Add(randomSummary(rng).Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSummary(b)
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		again, err := DecodeSummary(s.Encode())
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%v: decoded, encoded and decoded again differs", err)
		}
	})
}
