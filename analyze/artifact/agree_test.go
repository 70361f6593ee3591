package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"hindsight/analyze/race"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/tracefmt/event"
)

// TestAgreesWithForwardTracking compares, for every program of the gallery,
// the racy reads that the walk back from each racing access finds with those
// whose labels a plain tracker carries forward to it.
func TestAgreesWithForwardTracking(t *testing.T) {
	for _, p := range examples.Programs() {
		if !p.Races || p.Group == examples.Kernel {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			elf, err := examples.ELF(p.Name)
			if err != nil {
				t.Fatal(err)
			}
			compared, depend := 0, 0
			for seed := range uint64(2) {
				c, d := compareForward(t, elf, p.Args, seed)
				compared, depend = compared+c, depend+d
			}
			t.Logf("%d accesses compared, %d depend on racy reads", compared, depend)
		})
	}
}

// compareForward runs a program and compares both ways. It returns the number of
// accesses compared, and of those that depend on a racy read.
func compareForward(t *testing.T, elf []byte, args []string, seed uint64) (compared, depend int) {
	t.Helper()
	var l log
	r := recordRun(t, elf, args, seed, recorder.Options{Budget: 64 << 10 << (seed % 3 * 8)}, &l)
	wanted, pairs := racing(r)
	plain := l.collect(wanted)
	if len(plain.execs) > 6000 || l.insts > 3_000_000 {
		t.Logf("seed %d: too long for the plain tracker: %d executions, %d instructions", seed, len(plain.execs), l.insts)
		return 0, 0
	}
	racy := plain.racyReads(pairs)
	e := explainerOf(t, r)
	skipped := 0
	for _, by := range []By{ByAddress, ByBranch} {
		k := newTracker(&l, r.img, plain, racy, wanted, by == ByBranch)
		k.run()
		for _, x := range plain.execs {
			got, whole, err := e.reads(x, by)
			if errors.Is(err, errBudget) || err == nil && !whole {
				skipped++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, id := range k.members[k.found[x.execKey]] {
				want = append(want, fmt.Sprintf("%+v", k.names[id]))
			}
			slices.Sort(want)
			compared++
			if len(want) > 0 {
				depend++
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, by %v: %+v depends on\n%v, forward:\n%v", seed, by, x.execKey, got, want)
			}
		}
	}
	if skipped > compared/10+4 {
		t.Errorf("seed %d: %d accesses could not be followed, %d could", seed, skipped, compared)
	}
	return compared, depend
}

// racing lists the sites of plain sides of races, and which of them race.
func racing(r *run) (wanted map[format.Site]bool, pairs map[[2]format.Site]bool) {
	wanted, pairs = map[format.Site]bool{}, map[[2]format.Site]bool{}
	at := func(p race.Place) (list []format.Site) {
		for id := range r.trace.NumSites() {
			s := r.trace.Site(format.SiteID(id))
			if s.PC == p.PC && p.Op.Plain() && p.Op.Writes() == (s.Access == event.Write) {
				list = append(list, s)
			}
		}
		return list
	}
	for i := range r.res.Races {
		f := &r.res.Races[i].First
		for _, a := range at(f.Later.Place) {
			wanted[a] = true
			for _, b := range at(f.Earlier.Place) {
				pairs[[2]format.Site{a, b}] = true
			}
		}
		for _, b := range at(f.Earlier.Place) {
			wanted[b] = true
		}
	}
	return wanted, pairs
}

// explainerOf makes what Analyze works with.
func explainerOf(t *testing.T, r *run) *explainer {
	t.Helper()
	opts := Options{Steps: 5_000_000, TotalSteps: 5_000_000}
	opts.defaults()
	e, err := newExplainer(context.Background(), r.trace, r.img, r.res, &opts)
	if err != nil {
		t.Fatal(err)
	}
	e.budget = opts.Steps
	return e
}

// reads names the racy reads that an execution depends on.
func (e *explainer) reads(x *plainExec, by By) (names []string, whole bool, err error) {
	id := format.SiteID(0)
	for e.trace.Site(id) != x.site {
		id++
	}
	at, ok := e.index.at(x.thread, id, x.ordinal)
	if !ok {
		return nil, false, nil
	}
	if at.addr != x.addr {
		return nil, false, fmt.Errorf("%+v: address %#x, want %#x", x.execKey, at.addr, x.addr)
	}
	s, err := e.slice(&at, by)
	if err != nil {
		return nil, false, err
	}
	for more := true; more; {
		if more, err = e.grow(s); err != nil {
			return nil, false, err
		}
	}
	for _, h := range s.hits {
		names = append(names, fmt.Sprintf("%+v", execKey{h.read.thread(), e.trace.Site(h.read.site), h.read.ordinal}))
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names, s.missing == "", nil
}
