package sharing

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeImage is a program with a few variables, and a line every 4 bytes.
type fakeImage struct{}

var objects = []image.Symbol{
	{Name: "part", Addr: 0x8000, Size: 32},
	{Name: "queue", Addr: 0x8040, Size: 32},
	{Name: "flag", Addr: 0x8080, Size: 4},
	{Name: "hits", Addr: 0x8084, Size: 4},
	{Name: "grid", Addr: 0x9000, Size: 4096},
	{Name: "a_name_that_goes_on_and_on_as_names_of_templates_do_until_it_fills_the_line_by_itself", Addr: 0x80c0, Size: 8},
}

func (fakeImage) Object(addr uint64) (image.Symbol, uint64, bool) {
	for _, s := range objects {
		if addr-s.Addr < s.Size {
			return s, addr - s.Addr, true
		}
	}
	return image.Symbol{}, 0, false
}

func (m fakeImage) ObjectPathSize(addr, _ uint64) string {
	s, off, ok := m.Object(addr)
	var name string
	rest := off
	switch {
	case !ok:
		return ""
	case s.Name == "part" || s.Name == "grid":
		name, rest = fmt.Sprintf("%s[%d]", s.Name, off/8), off%8
	case s.Name == "queue":
		name, rest = []string{"queue.head", "queue.tail", "queue.full", "queue.empty"}[off/8], off%8
	default:
		name = s.Name
	}
	if rest > 0 {
		return fmt.Sprintf("%s+%d", name, rest)
	}
	return name
}

func (fakeImage) TLSPath(_, off uint64) string { return fmt.Sprintf("counters[%d]", off/8) }

func (fakeImage) User(pc uint64) bool { return pc < 0x2000 }

func (m fakeImage) Frames(pc uint64) []image.Frame {
	switch {
	case pc >= 0x3000:
		return nil
	case !m.User(pc):
		return []image.Frame{{Function: "memcpy"}}
	}
	return []image.Frame{{Function: "worker", File: "/src/pool.c", Line: int(pc-0x1000)/4 + 1}}
}

// fakeTrace has a main thread and two others, a heap block that is freed and allocated
// again elsewhere, and thread-local variables.
type fakeTrace struct{ err error }

const tlsSize = 64

func (f fakeTrace) Threads() []cdr.Thread { return make([]cdr.Thread, 3) }

func (f fakeTrace) Events() iter.Seq2[format.Event, error] {
	list := []format.Event{
		{Thread: 0, Event: event.Event{Kind: event.ThreadStart, Arg: 0x70000}},
		{Thread: 0, Event: event.Event{Kind: event.Alloc, PC: 0x1010, Obj: 0x20000, Arg: 64}},
		{Thread: 0, Event: event.Event{Kind: event.Create, Obj: 1}},
		{Thread: 1, Event: event.Event{Kind: event.ThreadStart, Arg: 0x71000}},
		{Thread: 1, Event: event.Event{Kind: event.StackMap, Obj: 0x60000, Arg: 0x10000}},
		{Thread: 0, Event: event.Event{Kind: event.Free, Obj: 0x20000, Arg: 64}},
		{Thread: 1, Event: event.Event{Kind: event.Alloc, PC: 0x1020, Obj: 0x20000, Arg: 48}},
		{Thread: 1, Event: event.Event{Kind: event.ThreadEnd}},
	}
	return func(yield func(format.Event, error) bool) {
		index := map[event.ThreadID]uint64{}
		for i, e := range list {
			e.Seq, e.Index = uint64(i), index[e.Thread]
			index[e.Thread]++
			if !yield(e, nil) {
				return
			}
		}
		if f.err != nil {
			yield(format.Event{}, f.err)
		}
	}
}

func (fakeTrace) EventStack(th event.ThreadID, index uint64) ([]uint64, error) {
	return []uint64{0x2100, 0x1000 + 0x10*uint64(th) + 4*index, 0x3100}, nil
}

// touched returns a line whose granules each thread reads and writes.
func touched(addr uint64, last uint64, words []archinfo.Word, uses ...archinfo.Touch) archinfo.Line {
	l := archinfo.Line{Address: addr, Threads: uses, Words: words, Last: last}
	for i, w := range words {
		l.Coherence += w.Coherence
		l.TrueSharing += w.TrueSharing
		l.FalseSharing += w.FalseSharing
		l.Upgrades += w.Upgrades
		l.ReadMisses += w.Coherence
		l.Invalidations += w.InvalidationsSent
		l.Sites = append(l.Sites,
			archinfo.Site{PC: 0x1000 + addr&0xff + uint64(i), Thread: uses[0].Thread, Word: w.Index, Read: true, Misses: w.Coherence, True: w.TrueSharing, False: w.FalseSharing},
			archinfo.Site{PC: 0x2004, Thread: uses[0].Thread, Word: w.Index, Write: true, Upgrades: w.Upgrades})
	}
	return l
}

func word(i int, yes, no, inv, upd uint64) archinfo.Word {
	return archinfo.Word{Index: i, WordCounts: archinfo.WordCounts{
		Reads: 10 * (yes + no), Writes: 12 * (yes + no), ReadMisses: yes + no, Coherence: yes + no, TrueSharing: yes, FalseSharing: no,
		Upgrades: yes + no, InvalidationsSent: yes + no, Runs: yes + no, LongestRun: 15, Intervals: 4 * yes, ReadIntervals: 2 * yes,
		IntervalReads: 5 * yes, InvalidateBus: inv, UpdateBus: upd}}
}

func bytesOf(first, n int) uint64 { return (1<<n - 1) << first }

func fakeSummary() *archinfo.Summary {
	t := func(th event.ThreadID, read, written uint64) archinfo.Touch {
		return archinfo.Touch{Thread: th, Read: read, Written: written}
	}
	return &archinfo.Summary{
		Config: archinfo.Config{Size: 32768, Ways: 8, Line: 64, Table: 4096, HistoryBits: 12, Granule: 1},
		Harts:  []archinfo.HartCounts{{Loads: 5000, LoadMisses: 90, Cold: 90, Branches: 800, Mispredicted: 13}, {Stores: 12345, StoreMisses: 3, Coherence: 3}, {Loads: 1}},
		Lines: []archinfo.Line{
			// Elements of an array, one a thread.
			touched(0x8000, 4, []archinfo.Word{word(0, 0, 500, 8, 9), word(1, 1, 480, 8, 9)},
				t(1, bytesOf(0, 8), bytesOf(0, 8)), t(2, bytesOf(8, 8), bytesOf(8, 8))),
			// Members of a struct, truly and falsely shared.
			touched(0x8040, 4, []archinfo.Word{word(0, 40, 40, 200, 90), word(1, 35, 45, 200, 90)},
				t(1, bytesOf(0, 16), bytesOf(0, 8)), t(2, bytesOf(8, 8), bytesOf(8, 8))),
			// Two variables in one word.
			touched(0x8080, 4, []archinfo.Word{word(0, 0, 30, 3, 3)}, t(1, 0, bytesOf(0, 4)), t(2, 0, bytesOf(4, 4))),
			touched(0x80c0, 4, []archinfo.Word{word(0, 29, 0, 10, 300)}, t(1, 0xff, 0xff), t(2, 0xff, 0xff)),
			// Borders between the threads' parts of a large array.
			touched(0x9100, 4, []archinfo.Word{word(3, 0, 9, 3, 3)}, t(1, bytesOf(0, 32), bytesOf(0, 32)), t(2, bytesOf(32, 32), bytesOf(32, 32))),
			touched(0x9200, 4, []archinfo.Word{word(3, 0, 8, 3, 3)}, t(1, bytesOf(0, 32), bytesOf(0, 32)), t(2, bytesOf(32, 32), bytesOf(32, 32))),
			// One address with two heap blocks in turn, the first 64 bytes long.
			touched(0x20000, 3, []archinfo.Word{word(0, 7, 0, 5, 2)}, t(0, 0, 0xff), t(1, 0xff, 0)),
			// A stack, thread-local storage, and unknown memory.
			touched(0x65000, 7, []archinfo.Word{word(2, 0, 3, 2, 2)}, t(1, bytesOf(16, 4), bytesOf(16, 4)), t(2, 0, bytesOf(20, 4))),
			touched(0x71000, 7, []archinfo.Word{word(1, 2, 0, 2, 2)}, t(1, bytesOf(8, 8), bytesOf(8, 8)), t(2, bytesOf(8, 8), 0)),
			touched(0xf0000, 7, []archinfo.Word{{Index: 0, WordCounts: archinfo.WordCounts{Upgrades: 1, InvalidationsSent: 1}}}, t(1, 1, 1), t(2, 1, 0)),
			// Invalidated, but no thread used it afterwards.
			touched(0x8100, 4, []archinfo.Word{{Index: 0}}, t(1, 1, 1), t(2, 0, 1)),
		},
		Touched: 400, SharedLines: 30, Dropped: 12,
	}
}

func fakeReport(t *testing.T, s *archinfo.Summary, top int) *Report {
	t.Helper()
	r, err := Build(t.Context(), s, fakeTrace{}, fakeImage{}, Info{Version: "1.2.3", File: "pool.hst", Program: "pool", Args: []string{"4"}, Threads: 3,
		Instructions: 123456, Seed: 7, Quantum: 50, Complete: true}, Options{Top: top, TLSSize: tlsSize})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s", file, got)
	}
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	if err := fakeReport(t, fakeSummary(), -1).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "sharing.txt", out.Bytes())
	if err := fakeReport(t, &archinfo.Summary{Config: archinfo.Config{Line: 64, Granule: 1}}, 0).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out.String(), "no thread took a line") {
		t.Error("a run without sharing is not called one")
	}
}

// TestThreshold checks that the variables that are left out are those that cost less, and
// that they are counted.
func TestThreshold(t *testing.T) {
	all := fakeReport(t, fakeSummary(), -1)
	cost := uint64(0)
	for i := range all.Variables {
		cost += all.Variables[i].Cost()
	}
	for _, threshold := range []float64{1, 20, 100} {
		want := 0
		for i := range all.Variables {
			if 100*float64(all.Variables[i].Cost()) >= threshold*float64(cost) {
				want++
			}
		}
		r, err := Build(t.Context(), fakeSummary(), fakeTrace{}, fakeImage{}, Info{}, Options{Top: -1, TLSSize: tlsSize, Threshold: threshold})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Variables) != want || r.Below != len(all.Variables)-want {
			t.Errorf("threshold %g: %d variables and %d below, want %d of %d", threshold, len(r.Variables), r.Below, want, len(all.Variables))
		}
	}
}

// TestJSON checks the JSON form against its schema.
func TestJSON(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/sharing.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*archinfo.Summary{
		"sharing.json": fakeSummary(),
		"none.json":    {Config: archinfo.Config{Line: 64, Granule: 1}},
	} {
		var out bytes.Buffer
		if err := fakeReport(t, s, 0).WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if vs := value.(map[string]any)["variables"].([]any); len(vs) > 0 {
			vs[0].(map[string]any)["sharing"] = "perhaps"
		} else {
			delete(value.(map[string]any), "machine")
		}
		if schema.Validate(value) == nil {
			t.Errorf("%s: the schema accepts what it should not", name)
		}
	}
}

// TestNames says what each variable must be called and whose words it has.
func TestNames(t *testing.T) {
	r := fakeReport(t, fakeSummary(), -1)
	type row struct {
		kind, name string
		verdict    Verdict
		protocol   Protocol
		cost       uint64
	}
	var got []row
	for _, v := range r.Variables {
		got = append(got, row{v.Location.Kind, v.Location.Name, v.Verdict, v.Protocol, v.Cost()})
	}
	want := []row{
		{"global", "part", False, Invalidate, 1962},
		{"global", "queue", Mixed, Update, 320},
		{"global", "flag", False, Either, 60},
		{"global", objects[5].Name, True, Invalidate, 58},
		{"global", "grid", False, Either, 34},
		{"heap", "worker", True, Update, 14},
		{"stack", "", False, Either, 6},
		{"tls", "counters", True, Either, 4},
		{"unknown", "", Handover, Either, 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	// The block that was there at the time of the transactions, not the next one.
	if l := r.Variables[5].Location; l.Size != 64 || l.Thread != 0 {
		t.Errorf("heap block %+v", l)
	}
	sum := uint64(0)
	for _, v := range r.Variables {
		sum += v.Cost()
	}
	lines := uint64(0)
	for i := range r.Summary.Lines {
		lines += r.Summary.Lines[i].Cost()
	}
	if sum != lines {
		t.Errorf("variables cost %d, lines %d", sum, lines)
	}
	if r := fakeReport(t, fakeSummary(), 2); len(r.Variables) != 2 || r.More != 7 {
		t.Errorf("top 2: %d variables, %d more", len(r.Variables), r.More)
	}
}

func TestBrokenTrace(t *testing.T) {
	bad := errors.New("bad block")
	s := fakeSummary()
	s.Lines[0].Last = 1 << 40 // needs all events
	if _, err := Build(t.Context(), s, fakeTrace{bad}, fakeImage{}, Info{}, Options{}); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
}

// FuzzBuild adds names to any summary.
func FuzzBuild(f *testing.F) {
	f.Add(fakeSummary().Encode())
	odd := &archinfo.Summary{Config: archinfo.Config{Line: 16, Granule: 16}, Harts: make([]archinfo.HartCounts, 1)}
	odd.Lines = []archinfo.Line{touched(0x8000, 0, []archinfo.Word{word(1, 1, 1, 1, 1), word(1, 1, 1, 1, 1)}, archinfo.Touch{Read: 1 << 63, Written: 5})}
	f.Add(odd.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := archinfo.DecodeSummary(b)
		if err != nil {
			return
		}
		r, err := Build(t.Context(), s, fakeTrace{}, fakeImage{}, Info{}, Options{Top: -1, TLSSize: tlsSize})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("too long: %s", line)
			}
		}
		if err := r.WriteJSON(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}
