package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakeImage is a program of functions of 0x100 bytes, with a line every 4 bytes.
type fakeImage struct{}

var functions = []string{"main", "worker", "helper<std::vector<a_very_long_type_name, std::allocator<a_very_long_type_name>>, and_another_one>", "memcpy", "start_thread"}

func (fakeImage) Func(pc uint64) (image.Symbol, bool) {
	i := pc>>8 - 0x10
	if i >= uint64(len(functions)) {
		return image.Symbol{}, false
	}
	return image.Symbol{Name: functions[i], Addr: pc &^ 0xff, Size: 0x100}, true
}

func (m fakeImage) Lookup(name string) (image.Symbol, bool) {
	for i, f := range functions {
		if f == name {
			return m.Func(uint64(0x1000 + i<<8))
		}
	}
	return image.Symbol{}, false
}

func (fakeImage) Object(addr uint64) (image.Symbol, uint64, bool) {
	switch {
	case addr-0x8000 < 64:
		return image.Symbol{Name: "account", Addr: 0x8000, Size: 64}, addr - 0x8000, true
	case addr-0x8100 < 40:
		return image.Symbol{Name: "lock", Addr: 0x8100, Size: 40}, addr - 0x8100, true
	}
	return image.Symbol{}, 0, false
}

func (m fakeImage) ObjectPathSize(addr, _ uint64) string {
	s, off, ok := m.Object(addr)
	if ok && s.Name == "account" {
		return fmt.Sprintf("account[%d].balance", off/8)
	}
	return s.Name
}

func (fakeImage) TLSPath(uint64, uint64) string { return "errno_copy" }

func (fakeImage) TLSObject(_, off uint64) (image.Symbol, uint64, bool) {
	return image.Symbol{Name: "errno_copy", Size: 16}, off, true
}

func (fakeImage) User(pc uint64) bool { return pc < 0x1300 }

func (m fakeImage) Frames(pc uint64) []image.Frame {
	s, ok := m.Func(pc)
	switch {
	case !ok:
		return nil
	case !m.User(pc):
		return []image.Frame{{Function: s.Name}}
	}
	return []image.Frame{{Function: s.Name, File: "/src/bank.c", Line: int(pc>>8-0x10)*100 + 1 + int(pc&0xff)/4}}
}

// fakeStacks has the same stack for every access of a site.
type fakeStacks struct{}

func (fakeStacks) AccessStack(t event.ThreadID, s replay.SiteID, _ uint64) ([]uint64, error) {
	outer := []uint64{0x1402}
	if t == 0 {
		outer = nil
	}
	switch s {
	case 9:
		return append([]uint64{0x1310, 0x1222, 0x1142}, outer...), nil // memcpy called by helper
	case 404:
		return nil, os.ErrNotExist
	}
	return append([]uint64{0x1100 + uint64(s)*4}, outer...), nil
}

func (fakeStacks) EventStack(t event.ThreadID, index uint64) ([]uint64, error) {
	if t == 0 {
		return []uint64{0x1000 + 4*index}, nil
	}
	return []uint64{0x1180 + 4*index, 0x1402}, nil
}

func side(t event.ThreadID, op replay.Op, site replay.SiteID, addr uint64, locks ...race.Lock) race.Side {
	return race.Side{Place: race.Place{PC: 0x1100 + uint64(site)*4, Op: op}, Thread: t, Site: site, Address: addr, Size: 8, Locks: locks}
}

// fakeResult returns a result with a race for each kind of location.
func fakeResult() *race.Result {
	mk := func(n uint64, a, b race.Side, loc place.Location) race.Race {
		loc.Address = a.Address
		i := race.Instance{Later: a, Earlier: b, Address: a.Address}
		return race.Race{Dynamic: n, First: i, Last: i, Location: loc}
	}
	m0 := race.Lock{Mutex: 0, Write: true}
	m1 := race.Lock{Mutex: 1}
	block := place.Block{Addr: 0x20000, Size: 48, Kind: event.Alloc, Thread: 1, Event: 3}
	freed := side(1, replay.Free, 0, 0x20000)
	freed.Size, freed.Segment, freed.PC = 48, 5, 0x1194
	return &race.Result{
		Races: []race.Race{
			mk(1234567, side(2, replay.Write, 3, 0x8008, m0), side(1, replay.Read, 4, 0x8008, m0, m1), place.Location{}),
			mk(10, side(2, replay.Write, 3, 0x8010), side(1, replay.Write, 4, 0x8010), place.Location{}),
			mk(1, side(0, replay.Read, 5, 0x20008), freed, place.Location{Kind: place.Heap, Offset: 8, Block: block}),
			mk(2, side(2, replay.Write, 9, 0x30000), side(1, replay.Read, 6, 0x30000), place.Location{Kind: place.Stack, Thread: 1}),
			mk(1, side(2, replay.Write, 7, 0x40000), side(1, replay.Write, 7, 0x40000), place.Location{Kind: place.TLS, Thread: 2}),
			mk(1, side(2, replay.Write, 8, 0x50000), side(1, replay.Read, 8, 0x50000), place.Location{}),
		},
		Mutexes: []race.Mutex{
			{Address: 0x8100, Init: race.EventRef{Thread: 0, Index: 1}, HasInit: true},
			{Address: 0x9000, FirstLock: race.EventRef{Thread: 1, Index: 2}},
		},
		Threads: []place.Thread{{Known: true}, {Known: true, HasParent: true, CreatedAt: 4, Ended: true}, {Known: true, HasParent: true, Parent: 1, CreatedAt: 7}},
	}
}

var info = Info{Version: "test", File: "bank.hst", Program: "./bank", Args: []string{"-n", "3"}, Threads: 3, Instructions: 99, Seed: 7, Complete: true}

func build(t *testing.T, rules string) *Report {
	t.Helper()
	sup, err := ParseSuppressions("rules", strings.NewReader(rules))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Build(fakeResult(), fakeImage{}, fakeStacks{}, info, sup)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s", path, got)
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opts  TextOptions
		rules string
	}{
		{"plain.txt", TextOptions{}, ""},
		{"narrow.txt", TextOptions{Width: 60}, "race:account\nrace_top:helper"},
		{"color.txt", TextOptions{Color: true}, "race:worker\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := build(t, tt.rules).WriteText(&out, tt.opts); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, out.Bytes())
			if tt.opts == (TextOptions{}) {
				for _, line := range strings.Split(out.String(), "\n") {
					if n := len([]rune(line)); n > 100 {
						t.Errorf("%d columns: %s", n, line)
					}
				}
			}
		})
	}
}

func TestJSON(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]string{"races.json": "", "none.json": "race:*"} {
		rep := build(t, rules)
		var out bytes.Buffer
		if err := rep.WriteJSON(&out); err != nil {
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
		delete(value.(map[string]any), "summary")
		if schema.Validate(value) == nil {
			t.Error("the schema accepts a report without a summary")
		}
		var back struct {
			Summary struct{ Static, Dynamic, Suppressed int }
			Races   []struct{ ID, Fingerprint string }
		}
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if s := back.Summary; s.Static != len(back.Races) || s.Static+s.Suppressed != 6 {
			t.Errorf("summary %+v of %d races", s, len(back.Races))
		}
		seen := map[string]bool{}
		for _, r := range back.Races {
			if seen[r.Fingerprint] || seen[r.ID] {
				t.Errorf("%s or its fingerprint stands twice", r.ID)
			}
			seen[r.Fingerprint], seen[r.ID] = true, true
		}
	}
}

// moved is the same program after 1000 lines were added above all functions and the
// linker placed everything elsewhere.
type moved struct{ fakeImage }

const by = 0x100000

func (m moved) Func(pc uint64) (image.Symbol, bool) {
	s, ok := m.fakeImage.Func(pc - by)
	s.Addr += by
	return s, ok
}

func (m moved) Lookup(name string) (image.Symbol, bool) {
	s, ok := m.fakeImage.Lookup(name)
	s.Addr += by
	return s, ok
}

func (m moved) User(pc uint64) bool { return m.fakeImage.User(pc - by) }

func (m moved) Frames(pc uint64) []image.Frame {
	f := m.fakeImage.Frames(pc - by)
	for i := range f {
		if f[i].Line > 0 {
			f[i].Line += 1000
		}
	}
	return f
}

type movedStacks struct{ fakeStacks }

func shift(pcs []uint64, err error) ([]uint64, error) {
	for i := range pcs {
		pcs[i] += by
	}
	return pcs, err
}

func (s movedStacks) AccessStack(t event.ThreadID, site replay.SiteID, n uint64) ([]uint64, error) {
	return shift(s.fakeStacks.AccessStack(t, site, n))
}

func (s movedStacks) EventStack(t event.ThreadID, i uint64) ([]uint64, error) {
	return shift(s.fakeStacks.EventStack(t, i))
}

func TestFingerprintsSurvive(t *testing.T) {
	before := build(t, "")
	after, err := Build(fakeResult(), moved{}, movedStacks{}, info, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range before.Races {
		if a, b := before.Races[i].Fingerprint, after.Races[i].Fingerprint; a != b {
			t.Errorf("%s: %s became %s", before.Races[i].ID, a, b)
		}
	}
}

func TestLostStackIsAnError(t *testing.T) {
	res := fakeResult()
	res.Races[0].First.Later.Site = 404
	if _, err := Build(res, fakeImage{}, fakeStacks{}, info, nil); err == nil {
		t.Error("no error")
	}
}
