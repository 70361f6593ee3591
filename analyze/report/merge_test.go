package report

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestMerge checks that a merged report has each race once, from the part that shows it,
// with the threads and mutexes of that part and the seeds of all parts.
func TestMerge(t *testing.T) {
	first, second := build(t, ""), build(t, "")
	first.Info.File, second.Info.File = "seed3.hst", "seed5.hst"
	// In the second run the same threads were created elsewhere.
	for id, th := range second.Threads {
		for i := range th.Stack {
			th.Stack[i].Function = "elsewhere"
		}
		second.Threads[id] = th
	}
	parts := []Part{{Report: first, Races: map[string]bool{}}, {Report: second, Races: map[string]bool{}}}
	seeds := map[string][]uint64{}
	for i := range first.Races {
		print := first.Races[i].Fingerprint
		if i%2 == 0 {
			parts[0].Races[print] = true
			seeds[print] = []uint64{5, 3}
		} else {
			parts[1].Races[print] = true
			seeds[print] = []uint64{5}
		}
	}
	rep := Merge(Info{Program: "p", Runs: 7}, parts, seeds)
	if len(rep.Races) != len(first.Races) || rep.Dynamic != first.Dynamic {
		t.Fatalf("%d races of %d pairs, want %d of %d", len(rep.Races), rep.Dynamic, len(first.Races), first.Dynamic)
	}
	for i := range rep.Races {
		r := &rep.Races[i]
		want, file := []uint64{3, 5}, "seed3.hst"
		if parts[1].Races[r.Fingerprint] {
			want, file = []uint64{5}, "seed5.hst"
		}
		if r.ID != fmt.Sprintf("R%d", i+1) || r.Trace != file || !reflect.DeepEqual(r.Seeds, want) {
			t.Errorf("%s in %s, seeds %v; want seeds %v in %s", r.ID, r.Trace, r.Seeds, want, file)
		}
	}
	var text, data bytes.Buffer
	if err := rep.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(text.String(), "WARNING") {
		if strings.Contains(block, "created by main thread") && strings.Contains(block, "shown as in seed3.hst") == strings.Contains(block, "elsewhere") {
			t.Errorf("threads of another run:\n%s", block)
		}
	}
	for _, want := range []string{"Seen with seeds 3, 5 (2 of 7 runs)", "Seen with seed 5 (1 of 7 runs); shown as in seed5.hst"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("nothing of %q:\n%s", want, &text)
		}
	}
	if err := rep.WriteJSON(&data); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(&data)
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestSeedsText(t *testing.T) {
	var seeds []uint64
	for i := range uint64(10) {
		seeds = append(seeds, i)
	}
	for n, want := range map[int]string{
		0: "", 1: "0", 3: "0, 1, 2", 9: "0, 1, 2, 3, 4, 5, 6, 7, 8", 10: "0, 1, 2, 3, 4, 5, 6, 7, …",
	} {
		if got := SeedsText(seeds[:n]); got != want {
			t.Errorf("%d seeds: %q, want %q", n, got, want)
		}
	}
}
