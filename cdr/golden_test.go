package cdr

import (
	"flag"
	"os"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden reads a trace that an earlier build wrote, so that format version 2 stays
// readable. A new trace may differ in its bytes, because the zstd library may. Until a
// version is released, the golden file is rewritten when the format changes.
func TestGolden(t *testing.T) {
	const file = "testdata/v2.trace"
	s := newSynthetic(11, 3)
	s.run(1500)
	if *update {
		b := s.record(t, recorder.Options{Meta: format.Meta{Program: "golden", Args: []string{"a"}, Seed: 11}, Budget: 40 << 10, Image: []byte("no ELF")}, s.batches)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if err := tr.Verify(); err != nil {
		t.Fatal(err)
	}
	if m := tr.Info(); !m.Complete || m.Program != "golden" || m.Epochs < 2 {
		t.Errorf("meta %+v", m)
	}
	s.compare(t, tr, nil)
}
