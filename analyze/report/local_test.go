package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/analyze/local"
)

// TestLocal checks that each form names the local variable of a race on a stack.
func TestLocal(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		found local.Variable
		text  string
	}{
		{local.Variable{PC: 0x1110, Name: "args", Size: 8}, "'args' in worker"},
		{local.Variable{PC: 0x1110, Name: "args", Offset: 4, Size: 8}, "'args'+4 in worker"},
		{local.Variable{PC: 0x1110, Name: "args", Path: "args.hits[1]", Offset: 4, Size: 8}, "'args.hits[1]' in worker"},
		{local.Variable{PC: 0x1110}, "the frame of worker"},
		{local.Variable{}, ""},
	} {
		rep := build(t, "")
		found := make([]local.Variable, len(rep.Races))
		for i := range rep.Races {
			if rep.Races[i].Location.Kind == "stack" {
				found[i] = tt.found
			}
		}
		rep.Locals(found, fakeImage{})
		var text, out bytes.Buffer
		if err := rep.WriteText(&text, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if line := "    the access is to " + tt.text + " bank.c:105\n"; strings.Contains(text.String(), line) != (tt.text != "") {
			t.Errorf("%+v: no %q in\n%s", tt.found, line, &text)
		}
		if err := rep.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Error(err)
		}
		if has := strings.Contains(out.String(), `"local": {`); has != (tt.text != "") {
			t.Errorf("%+v: local in JSON is %v", tt.found, has)
		}
		if _, log := sarifOf(t, rep); sarifSchema(t).Validate(log) != nil {
			t.Error(sarifSchema(t).Validate(log))
		}
	}
}
