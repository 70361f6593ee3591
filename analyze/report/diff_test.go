package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestDiff(t *testing.T) {
	a, b := build(t, "race_top:helper"), build(t, "race:errno")
	b.Races[0].Dynamic = 5
	b.Info.File = "other.hst"
	d := Compare(a, b)
	if !d.Differ() || len(d.OnlyA) != 1 || len(d.OnlyB) != 1 || len(d.Both) != 4 {
		t.Fatalf("%d, %d, %d", len(d.OnlyA), len(d.OnlyB), len(d.Both))
	}
	if d.OnlyA[0].Location.Kind != "tls" || d.OnlyB[0].Location.Kind != "stack" {
		t.Errorf("only in a: %s, only in b: %s", d.OnlyA[0].Location.Kind, d.OnlyB[0].Location.Kind)
	}
	var out bytes.Buffer
	if err := d.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.txt", out.Bytes())
	out.Reset()
	if err := d.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/diff.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
	delete(value.(map[string]any), "both")
	if schema.Validate(value) == nil {
		t.Error("the schema accepts a comparison without both")
	}
	if same := Compare(a, build(t, "race_top:helper")); same.Differ() || len(same.Both) != 5 {
		t.Errorf("a report differs from itself: %+v", same)
	}
}

// TestDiffArtifacts checks that an artifact is reported as one, with its cause in its own
// run.
func TestDiffArtifacts(t *testing.T) {
	a, b := explained(t, ""), explained(t, "race:errno")
	d := Compare(a, b)
	var out bytes.Buffer
	if err := d.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), " (artifact, by "); n != 3 {
		t.Errorf("%d artifacts in\n%s", n, &out)
	}
	out.Reset()
	if err := d.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var form struct {
		Both []struct {
			A, B struct {
				ID         string   `json:"id"`
				ArtifactOf []string `json:"artifact_of"`
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &form); err != nil {
		t.Fatal(err)
	}
	for i, p := range form.Both {
		if len(p.A.ArtifactOf) != len(p.B.ArtifactOf) || (d.Both[i].A.Artifact != nil) != (len(p.A.ArtifactOf) > 0) {
			t.Errorf("%s is an artifact of %v, %s of %v", p.A.ID, p.A.ArtifactOf, p.B.ID, p.B.ArtifactOf)
		}
	}
}
