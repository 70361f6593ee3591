package main

import (
	"context"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/artifact"
	"hindsight/analyze/local"
	"hindsight/analyze/place"
	"hindsight/analyze/written"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// TestLocalsFromTrace records programs whose threads use local variables of others. The
// report must name the variables, with the member. The names found from the trace alone
// must agree with those from a rerun, which knows the registers.
func TestLocalsFromTrace(t *testing.T) {
	const compiler = "riscv64-linux-gnu-g++"
	needTools(t, compiler, "riscv64-linux-gnu-gcc")
	for _, tt := range []struct{ source, names string }{
		{"captured.cc", "cache.hits_ sum"},
		{"passed.c", "even.seen[] node.hits odd.hits"},
		{"regions.c", "all.part[].hits grid[] sum"},
	} {
		for _, flags := range []string{"-O0", "-O2", "-O2 -static"} {
			t.Run(tt.source+flags, func(t *testing.T) {
				elf := filepath.Join(t.TempDir(), "program")
				with := "riscv64-linux-gnu-gcc"
				if filepath.Ext(tt.source) == ".cc" {
					with = compiler
				}
				args := append(strings.Fields(flags), "-g", "-pthread", "-fopenmp", "-o", elf, filepath.Join(sourceDir, "testdata/locals", tt.source))
				if text, err := exec.Command(with, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				r, err := session.Load(elf, "")
				if err != nil {
					t.Fatal(err)
				}
				r.Policy, r.Seed, r.Mode, r.Out = mpsim.Random, 1, "cdr", filepath.Join(t.TempDir(), "t.hst")
				if _, err := r.Record(context.Background(), session.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
					t.Fatal(err)
				}
				checkNames(t, r.Out, tt.names)
				checkLocals(t, r.Out)
			})
		}
	}
}

// checkNames requires exactly these variables in the report of a trace.
func checkNames(t *testing.T, file, want string) {
	t.Helper()
	rep, err := reportOf(context.Background(), cli.Streams{Out: io.Discard, Err: io.Discard}, file, "", analyze.RaceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range rep.Races {
		l := &rep.Races[i].Location
		if l.Kind != "stack" {
			continue
		}
		if l.Local == nil {
			t.Errorf("%s: %v is not named", rep.Races[i].ID, l.Words())
			continue
		}
		name, _, _ := strings.Cut(strings.Trim(l.Words(), "'"), "'")
		names[name] = true
	}
	if got := strings.Join(slices.Sorted(maps.Keys(names)), " "); got != want {
		t.Errorf("names are %q, want %q", got, want)
	}
}

// checkLocals compares the names for some accesses of each instruction of the program to
// memory on stacks, from the trace and from a rerun.
func checkLocals(t *testing.T, file string) {
	t.Helper()
	tr, err := cdr.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	img, err := tr.Space()
	if err != nil {
		t.Fatal(err)
	}
	places := stackAccesses(t, tr, img)
	found, err := local.NewFinder(tr, img).Find(context.Background(), places)
	if err != nil {
		t.Fatal(err)
	}
	seen := written.New(img, tr.Site, nil, nil, places)
	if err := new(session.Rerun).Observe(context.Background(), tr, seen); err != nil {
		t.Fatal(err)
	}
	both, known, others := 0, 0, 0
	for n, want := range seen.Locals() {
		got := found[n]
		p := &places[n]
		if want.Name != "" {
			known++
		}
		if want.Name == "" || got.Name == "" {
			continue
		}
		both++
		if p.Owner != p.Access.Thread {
			others++
		}
		if got.Path != want.Path || got.Offset != want.Offset || got.Size != want.Size {
			t.Errorf("T%d at %v: %#x on the stack of T%d is %+v, in a second run %+v", p.Access.Thread, img.Frames(tr.Site(p.Access.Site).PC), p.Address, p.Owner, got, want)
		}
	}
	t.Logf("%d places, %d known to the second run, of them %d from the trace, %d by other threads", len(places), known, both, others)
	if both < 20 || others < 3 || both*10 < known*9 {
		t.Errorf("of %d places %d are known from the trace, %d by other threads", known, both, others)
	}
}

// stackAccesses returns some accesses to stacks of each site of the user's code.
func stackAccesses(t *testing.T, tr *cdr.Trace, img *image.Space) (out []local.Place) {
	t.Helper()
	m := place.NewMap(img.TLSSize())
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		m.Apply(ev.Thread, ev.Index, &ev.Event)
	}
	for _, th := range tr.Threads() {
		for id := range tr.NumSites() {
			site := tr.Site(format.SiteID(id))
			if !img.User(site.PC) {
				continue
			}
			ordinal := uint64(0)
			for addr, err := range tr.Accesses(th.ID, format.SiteID(id)) {
				if err != nil {
					t.Fatal(err)
				}
				if owner, ok := m.Stack(addr); ok && (ordinal < 4 || ordinal%7 == 0) {
					out = append(out, local.Place{Access: artifact.Execution{Thread: th.ID, Site: format.SiteID(id), Ordinal: ordinal},
						Owner: owner, Address: addr, Size: uint64(site.Size)})
				}
				ordinal++
			}
		}
	}
	return out
}
