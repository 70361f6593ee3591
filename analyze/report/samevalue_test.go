package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/analyze/written"
)

// TestSameValue checks that each form has the mark, and only for the races that have it.
func TestSameValue(t *testing.T) {
	rep := build(t, "")
	rep.SameValues([]written.Seen{
		{Writes: 12, Unchanged: 12, One: true, Value: 1, Size: 8},
		{Writes: 3, Unchanged: 2},
		{Writes: 1, Unchanged: 1, One: true, Value: 255, Size: 1},
		{Writes: 4, Equal: true, One: true, Value: 7, Size: 4},
		{Writes: 2000, Equal: true, All: true},
	})
	var text, out bytes.Buffer
	if err := rep.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"each of the 12 racing writes stored what was there already (0x1)", "",
		"the racing write stored what was there already (0xff)",
		"the 4 racing writes all stored the same (0x7)",
		"the 2,000 writes by these instructions stored the same wherever two met", "",
	}
	for i, w := range want {
		s := rep.Races[i].SameValue
		if (s == nil) != (w == "") || s != nil && s.text() != w {
			t.Errorf("race %d: %+v, want %q", i, s, w)
		}
	}
	shown := 0
	for _, w := range want {
		if w != "" && strings.Contains(text.String(), "  Same value: "+w+".\n") {
			shown++
		}
	}
	// Two of the races are shown as one, and only one of them is marked.
	if shown != 3 || !strings.HasSuffix(text.String(), "hindsight: 4 races are of writes of the same value\n") {
		t.Errorf("%d marks in\n%s", shown, &text)
	}
	if err := rep.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
	var form struct {
		Races []struct {
			Same *struct {
				How   string
				Value string
				All   bool
			} `json:"same_value"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &form); err != nil {
		t.Fatal(err)
	}
	if s := form.Races[3].Same; s == nil || s.How != "equal" || s.Value != "0x7" || s.All {
		t.Errorf("JSON has %+v", s)
	}
	raw, log := sarifOf(t, rep)
	if err := sarifSchema(t).Validate(log); err != nil {
		t.Error(err)
	}
	var sarif sarifLog
	if err := json.Unmarshal(raw, &sarif); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		res := sarif.Runs[0].Results[i]
		if marked := strings.Contains(res.Message.Text, "Same value: "); marked != (w != "") || marked != (res.Level == "warning") {
			t.Errorf("result %d: level %s, %s", i, res.Level, res.Message.Text)
		}
	}
}
