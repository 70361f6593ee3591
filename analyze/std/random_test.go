package std

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/race"
)

// TestSpelling exports made-up runs with every kind of event and compares the
// races of the text with those of the run.
func TestSpelling(t *testing.T) {
	found, messages := 0, uint64(0)
	for seed := range uint64(1500) {
		m := madeup.Anything(rand.New(rand.NewPCG(seed, 5)), 120)
		res, err := race.Analyze(context.Background(), m, race.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[pair]bool{}
		for _, r := range res.Races {
			a, b := r.First.Later.PC, r.First.Earlier.PC
			want[pair{min(a, b), max(a, b)}] = true
		}
		var text bytes.Buffer
		stats, err := Export(context.Background(), &text, m, Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		found += len(want)
		messages += stats.Messages
		same(t, fmt.Sprintf("seed %d", seed), detect(t, text.Bytes()).pairs, want)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs, %d messages", found, messages)
	if found < 5000 || messages < 500 {
		t.Errorf("only %d pairs and %d messages", found, messages)
	}
}
