package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestNotes checks that each form for other programs says what the report does not cover,
// and that none says anything if it covers everything.
func TestNotes(t *testing.T) {
	forms := map[string]func(*Report, *bytes.Buffer) error{
		"sarif":    func(r *Report, b *bytes.Buffer) error { return r.WriteSARIF(b, SARIFOptions{}) },
		"markdown": func(r *Report, b *bytes.Buffer) error { return r.WriteMarkdown(b, TextOptions{}) },
		"junit":    func(r *Report, b *bytes.Buffer) error { return r.WriteJUnit(b, TextOptions{}) },
	}
	for form, write := range forms {
		for _, told := range []bool{false, true} {
			rep := build(t, "")
			rep.Info.Complete = !told
			if told {
				rep.Merged = 7
			}
			var out bytes.Buffer
			if err := write(rep, &out); err != nil {
				t.Fatal(err)
			}
			for _, words := range []string{"more than 1024 tasks were unordered at the same time: 7 of them count", "the trace is incomplete"} {
				if strings.Contains(out.String(), words) != told {
					t.Errorf("%s: %q is there: %v, in\n%s", form, words, !told, &out)
				}
			}
		}
	}
	rep := build(t, "")
	rep.Info.Complete, rep.Merged = false, 2
	if _, log := sarifOf(t, rep); sarifSchema(t).Validate(log) != nil {
		t.Error(sarifSchema(t).Validate(log))
	}
	if merged := Merge(rep.Info, []Part{{Report: rep}, {Report: build(t, "")}}, nil); merged.Merged != 2 {
		t.Errorf("of several runs: %d", merged.Merged)
	}
}
