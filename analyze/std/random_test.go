package std

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/order"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
)

// TestSpelling exports made-up runs with every kind of event, and compares the races of
// the text with those of the run.
func TestSpelling(t *testing.T) {
	found, more, messages := 0, 0, uint64(0)
	for seed := range uint64(1500) {
		m := madeup.Anything(rand.New(rand.NewPCG(seed, 5)), 120)
		res, err := race.Analyze(context.Background(), m, race.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, frees := map[pair]bool{}, map[pair]bool{}
		for _, r := range res.Races {
			a, b := r.First.Later, r.First.Earlier
			p := pair{min(a.PC, b.PC), max(a.PC, b.PC)}
			want[p] = true
			frees[p] = (a.Op == replay.Free) != (b.Op == replay.Free)
		}
		var text bytes.Buffer
		stats, err := Export(context.Background(), &text, m, Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		found += len(want)
		messages += stats.Messages
		got := detect(t, text.Bytes()).pairs
		for p := range got {
			// If the segment of an access spans two lives, and the byte is an atomic
			// variable in one of them, the analysis does not count the access. The text
			// has it in the other life.
			if !want[p] {
				delete(got, p)
				more++
			}
		}
		for p := range want {
			// The text has no accesses to atomic variables, with which a free races.
			if frees[p] && !got[p] {
				delete(want, p)
			}
		}
		same(t, fmt.Sprintf("seed %d", seed), got, want)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs, %d messages", found, messages)
	if more > found/200 {
		t.Errorf("%d pairs of %d are not races", more, found)
	}
	if found < 5000 || messages < 500 {
		t.Errorf("only %d pairs and %d messages", found, messages)
	}
}

// TestCounts exports made-up programs with accesses of different sizes to the same
// memory, and reads the text back. It compares the races with their exact counts and, if
// the order of accesses matters, which read obtained which write.
func TestCounts(t *testing.T) {
	found := 0
	for seed := range uint64(600) {
		m := madeup.Program(rand.New(rand.NewPCG(seed, 6)).IntN, 80)
		res, err := race.Analyze(t.Context(), m, race.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := Export(t.Context(), &text, m, Options{}); err != nil {
			t.Fatal(err)
		}
		back, _ := imported(t, text.Bytes())
		want := countsOf(res)
		if got := counts(t, back, nil); !maps.Equal(got, want) {
			t.Fatalf("seed %d: counts %v, want %v\n%v%s", seed, got, want, m, text.Bytes())
		}
		if got, want := schedulable(t, back), schedulable(t, m); !maps.Equal(got, want) {
			t.Fatalf("seed %d: schedulable %v, want %v\n%v%s", seed, got, want, m, text.Bytes())
		}
		found += len(want)
	}
	if found < 1000 {
		t.Errorf("only %d pairs", found)
	}
}

// schedulable returns the pairs that SHB reports.
func schedulable(t *testing.T, src order.Source) map[pair]bool {
	t.Helper()
	pairs, err := order.Find(t.Context(), src, order.Options{NoLockset: true})
	if err != nil {
		t.Fatal(err)
	}
	all := map[pair]bool{}
	for _, p := range pairs {
		if a, b := p.Places(); p.Orders.Has(order.SHB) {
			all[pair{min(a.PC, b.PC), max(a.PC, b.PC)}] = true
		}
	}
	return all
}
