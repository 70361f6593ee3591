package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/analyze/artifact"
)

// verdicts says that of six races, counted from 0, races 2 and 3 are artifacts of race 0,
// race 4 is one of race 3, and nothing is known about race 5.
func verdicts() *artifact.Result {
	chain := []artifact.Step{
		{Kind: artifact.RacyWrite, Thread: 2, PC: 0x110c, Address: 0x8008, Size: 8},
		{Kind: artifact.RacyRead, Thread: 1, PC: 0x1110, Address: 0x8008, Size: 8},
		{Kind: artifact.Compute, Thread: 1, PC: 0x1112},
		{Kind: artifact.Compute, Thread: 1, PC: 0x1114},
		{Kind: artifact.Store, Thread: 1, PC: 0x1210, Address: 0x30000, Size: 8},
		{Kind: artifact.Decide, Thread: 1, PC: 0x1214},
		{Kind: artifact.Access, Thread: 1, PC: 0x1118, Address: 0x30000, Size: 8},
	}
	return &artifact.Result{Verdicts: []artifact.Verdict{
		{},
		{Behind: []int{0}, Controlled: []int{0}},
		{Status: artifact.Artifact, Causes: []int{0}, By: artifact.ByAddress, Chain: chain[:2], Checked: 1, Explained: 1},
		{Status: artifact.Artifact, Causes: []int{0, 1}, By: artifact.ByOrder, Chain: chain, Checked: 1, Explained: 1},
		{Status: artifact.Artifact, Causes: []int{3}, By: artifact.ByAddress, Chain: chain[:2], Checked: 1, Explained: 1},
		{Status: artifact.Unknown, Reason: "the data flow is too long"},
	}}
}

func explained(t *testing.T, rules string) *Report {
	rep := build(t, rules)
	rep.Explain(verdicts(), fakeImage{})
	return rep
}

func TestArtifactsText(t *testing.T) {
	hidden := explained(t, "")
	hidden.HideArtifacts()
	for _, tt := range []struct {
		name string
		rep  *Report
		opts TextOptions
	}{
		{"artifacts-fold.txt", explained(t, ""), TextOptions{}},
		{"artifacts-list.txt", explained(t, ""), TextOptions{List: true}},
		{"artifacts-hide.txt", hidden, TextOptions{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := tt.rep.WriteText(&out, tt.opts); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, out.Bytes())
			if !strings.Contains(out.String(), "hindsight: 3 races are artifacts of others\n"+
				"hindsight: 1 race may be an artifact: the data flow is too long\n  (R") {
				t.Error("no counts at the end")
			}
		})
	}
}

// TestArtifactsOfSuppressed checks that an artifact whose cause is not reported is listed
// by itself.
func TestArtifactsOfSuppressed(t *testing.T) {
	rep := explained(t, "race:account")
	var out bytes.Buffer
	if err := rep.WriteText(&out, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"reported 3 warnings", "of a race that is not reported", "1 race is an artifact of this one"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	rep.HideArtifacts()
	if len(rep.Races) != 3 || rep.Hidden != 1 || rep.Artifacts() != 3 {
		t.Errorf("%d races, %d hidden, %d artifacts", len(rep.Races), rep.Hidden, rep.Artifacts())
	}
}

func TestArtifactsJSON(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := explained(t, "").WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "artifacts.json", out.Bytes())
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}
