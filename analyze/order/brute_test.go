package order

import (
	"math/rand/v2"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/replay"
	"hindsight/examples/cross"
)

// TestSchedulableAgainstReorderings checks that the pairs that the definition of
// schedulable happens-before reports, with which the analysis agrees, are exactly those
// that are adjacent in some reordering that respects happens-before.
func TestSchedulableAgainstReorderings(t *testing.T) {
	n := 1500
	if !cross.Long() {
		n = 300
	}
	races, others, looked := 0, 0, 0
	for seed := range uint64(n) {
		m := madeup.Program(rand.New(rand.NewPCG(seed, 31)).IntN, 12+int(seed%18))
		all := m.Linear()
		_, hb, shb := madeup.Orders(all)
		b := madeup.NewReorderings(all, hb)
		shown := map[[2]int]bool{}
		b.Run(func(r *madeup.Reordering) {
			for t := range m.NumThreads() {
				for u := range t {
					i, j := b.Next(r, t), b.Next(r, u)
					if i < 0 || j < 0 || !all[i].Conflicts(&all[j]) || !b.Can(r, i) || !b.Can(r, j) {
						continue
					}
					// Each may read something else: nothing comes after it.
					shown[[2]int{min(i, j), max(i, j)}] = true
				}
			}
		})
		if b.TooMany {
			continue
		}
		looked++
		for j := range all {
			for i := range j {
				if !all[i].Conflicts(&all[j]) {
					continue
				}
				reported := schedulable(all, shb, i, j)
				if reported {
					races++
				} else {
					others++
				}
				if reported != shown[[2]int{i, j}] {
					t.Fatalf("seed %d: accesses %d and %d are reported: %v, and shown by a reordering: %v\n%v", seed, i, j, reported, !reported, m)
				}
			}
		}
		if agrees(t, m); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d runs, %d races, %d other pairs", looked, races, others)
	if looked < n/2 || races < n/10 || others < n/10 {
		t.Errorf("only %d runs of %d, %d races and %d other pairs", looked, n, races, others)
	}
}

// TestWeakAgainstReorderings checks that where weak causal precedence reports a pair and
// happens-before none, some correct reordering shows a race or a deadlock, and that it
// reports everything that happens-before does.
func TestWeakAgainstReorderings(t *testing.T) {
	n := 3000
	if !cross.Long() {
		n = 300
	}
	racy := 0
	for seed := range uint64(n) {
		m := madeup.Sections(rand.New(rand.NewPCG(seed, 32)), 2)
		var weak, hb bool
		for k, s := range found(t, m, Options{NoLockset: true}) {
			weak, hb = weak || s.Has(WCP), hb || s.Has(HB)
			if s.Has(HB) && !s.Has(WCP) {
				t.Fatalf("seed %d: %v is reported by happens-before alone\n%v", seed, k, m)
			}
		}
		if !weak || hb {
			continue // the other test is about happens-before
		}
		all := m.Linear()
		hard, _, _ := madeup.Orders(all)
		b := madeup.NewReorderings(all, hard)
		shown := false
		b.Run(func(r *madeup.Reordering) {
			shown = shown || b.Deadlocked(r)
			for t := range m.NumThreads() {
				for u := range t {
					i, j := b.Next(r, t), b.Next(r, u)
					shown = shown || i >= 0 && j >= 0 && all[i].Conflicts(&all[j]) && b.Can(r, i) && b.Can(r, j)
				}
			}
		})
		if b.TooMany && !shown {
			continue
		}
		racy++
		if !shown {
			t.Fatalf("seed %d: no reordering shows a race or a deadlock\n%v", seed, m)
		}
	}
	t.Logf("%d runs with races that happens-before does not see", racy)
	if racy < n/100 {
		t.Errorf("only %d runs with races that happens-before does not see", racy)
	}
}

// TestNoSchedule checks that for a run without the order of accesses, nothing is said to
// be schedulable, and that happens-before is the same.
func TestNoSchedule(t *testing.T) {
	m := madeup.New(2)
	m.Write(0, 0x10, 0x1000)
	m.Read(1, 0x20, 0x1000)
	m.Write(0, 0x14, 0x2000)
	for _, without := range []bool{false, true} {
		m.NoSchedule = without
		s := found(t, m, Options{})[pairOf(0x10, replay.Write, 0x20, replay.Read)]
		if !s.Has(HB) || !s.Has(WCP) || s.Has(SHB) == without {
			t.Errorf("without a schedule %v: %v", without, s.Names())
		}
	}
}
