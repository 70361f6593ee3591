package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// TestManyGoroutines checks that a report says when more goroutines were unordered than
// can be distinguished.
func TestManyGoroutines(t *testing.T) {
	img := buildGo(t, "testdata/golang/many.go")
	for _, c := range []struct {
		count string
		told  bool
	}{{"500", false}, {"3000", true}} {
		file := filepath.Join(t.TempDir(), "run.hst")
		var out, notes bytes.Buffer
		r := &session.Run{Image: image.NewSpace(img.Main), Program: "many", Args: []string{c.count}, Policy: mpsim.Random, Seed: 1, Out: file}
		if _, err := r.Record(t.Context(), session.Streams{}); err != nil {
			t.Fatal(err)
		}
		f := racesFlags{memory: defaultAnalysisMemory, format: "json", atomics: "relaxed", color: "never", order: "hb", artifacts: "off"}
		if _, err := f.report(t.Context(), cli.Streams{Out: &out, Err: &notes}, file); err != nil {
			t.Fatal(err)
		}
		var rep struct {
			Summary struct {
				Static  int
				Dynamic uint64
				Merged  uint64 `json:"merged_tasks"`
			}
		}
		if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s goroutines: %+v %s", c.count, rep.Summary, notes.String())
		if rep.Summary.Static == 0 || c.told != (rep.Summary.Merged > 0) || c.told != strings.Contains(notes.String(), "more than 1024 tasks") {
			t.Errorf("%s goroutines: %+v %s", c.count, rep.Summary, notes.String())
		}
	}
}
