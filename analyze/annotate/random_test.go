package annotate_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze/annotate"
	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/mpsim"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/wet"
)

// TestRandomPrograms writes slices of random programs without debug information in every
// form. Lines must keep to their columns, and the JSON must be valid and agree with the
// counts of the slice.
func TestRandomPrograms(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 5))
		img, log := randomRun(t, seed)
		for range 4 {
			i := log.Instance(rng.IntN(len(log.Statements())))
			opts := slice.Options{Direction: slice.Direction(rng.IntN(2)), Kinds: slice.Kinds(rng.IntN(4)), Depth: rng.IntN(12)}
			s, err := slice.Compute(t.Context(), log, []wet.Instance{i}, opts)
			if err != nil {
				t.Fatal(err)
			}
			rep := &annotate.Report{
				At: "here", Image: img, Sources: &annotate.Sources{},
				Parts: []annotate.Part{{Role: annotate.RoleSlice, Title: strings.Repeat("a long title ", 12), Slice: s}},
			}
			checkText(t, rep)
			checkJSON(t, rep, s)
			checkSheets(t, rep, s)
			if err := rep.WriteDOT(io.Discard); err != nil && !strings.Contains(err.Error(), "too big to draw") {
				t.Error(err)
			}
		}
	}
}

func randomRun(t *testing.T, seed uint64) (*image.Space, *slicetest.Log) {
	t.Helper()
	data, err := asm.Random(seed, asm.RandomOptions{Threads: int(seed % 3), Functions: 3, Statements: 8})
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	log := slicetest.New(img, linux.CallArgs)
	cfg := mpsim.Config{Image: img, Stdout: io.Discard, Stdin: strings.NewReader("input"), Policy: mpsim.Random, Seed: seed, Quantum: 50, MaxInsts: 1 << 14, Observer: log}
	cfg.Hooks, cfg.HookAt = hook.New(img)
	m, err := mpsim.New(cfg)
	if err == nil {
		_, err = m.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return img, log
}

func checkText(t *testing.T, rep *annotate.Report) {
	t.Helper()
	for _, instructions := range []bool{false, true} {
		var out strings.Builder
		if err := rep.WriteText(&out, annotate.TextOptions{Instructions: instructions, Width: 80}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if len([]rune(line)) > 81 {
				t.Errorf("a line is too long: %s", line)
			}
		}
	}
}

func checkJSON(t *testing.T, rep *annotate.Report, s *slice.Slice) {
	t.Helper()
	for _, summary := range []bool{false, true} {
		var out bytes.Buffer
		if err := rep.WriteJSON(&out, annotate.JSONOptions{Summary: summary}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Slices []struct {
				Count     uint64            `json:"instance_count"`
				Instances []json.RawMessage `json:"instances"`
			}
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := s.Len()
		if summary {
			want = 0
		}
		if len(got.Slices) != 1 || got.Slices[0].Count != s.Len() || uint64(len(got.Slices[0].Instances)) != want {
			t.Errorf("JSON has %d instances of %d", len(got.Slices[0].Instances), s.Len())
		}
	}
}

// checkSheets checks that each row stands for statements of the slice, and that each link
// leads from one row to another that links back, as far as links are shown.
func checkSheets(t *testing.T, rep *annotate.Report, s *slice.Slice) {
	t.Helper()
	sheets, err := rep.Sheets()
	if err != nil || len(sheets) != len(rep.Parts) {
		t.Fatalf("%d sheets of %d parts: %v", len(sheets), len(rep.Parts), err)
	}
	rows := sheets[0].Rows
	begun := false
	for i, r := range rows {
		begun = begun || r.Begun
		for _, l := range r.In {
			if l.Row < 0 || l.Row >= len(rows) || l.Row == i {
				t.Fatalf("row %d depends on row %d of %d", i, l.Row, len(rows))
			}
			from := rows[l.Row]
			back := slices.ContainsFunc(from.Out, func(x annotate.SheetLink) bool { return x.Row == i })
			if !back && from.More == 0 {
				t.Errorf("row %d depends on row %d, which does not say so", i, l.Row)
			}
		}
	}
	if len(rows) == 0 != (s.Len() == 0) || len(rows) > 0 && !begun {
		t.Errorf("%d rows of %d instances, begun %v", len(rows), s.Len(), begun)
	}
}
