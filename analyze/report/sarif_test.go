package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sarifSchema is the published schema. Formats (URIs) are checked too.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	c.AssertFormat()
	schema, err := c.Compile("testdata/sarif/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func sarifOf(t *testing.T, rep *Report) ([]byte, map[string]any) {
	t.Helper()
	var out bytes.Buffer
	if err := rep.WriteSARIF(&out, SARIFOptions{Arguments: []string{"races", "bank.hst"}, ExitCode: 66}); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), value.(map[string]any)
}

func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	for name, rules := range map[string]string{"races.sarif": "race_top:helper", "none.sarif": "race:*"} {
		rep := build(t, rules)
		out, value := sarifOf(t, rep)
		golden(t, "sarif/"+name, out)
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		delete(value, "version")
		if schema.Validate(value) == nil {
			t.Error("the schema accepts a log without a version")
		}
	}
	incomplete := build(t, "")
	incomplete.Info.Complete = false
	incomplete.Races[0].Accesses[0].Top.Path = "/a dir/50%/#1?.c"
	if _, value := sarifOf(t, incomplete); schema.Validate(value) != nil {
		t.Error(schema.Validate(value))
	}
}

// TestSARIFSays reads a log back as a viewer would.
func TestSARIFSays(t *testing.T) {
	rep := build(t, "race_top:helper")
	out, _ := sarifOf(t, rep)
	var log sarifLog
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if run.Invocations[0].ExitCode != 66 || len(run.Results) != len(rep.Races)+len(rep.Suppressed) {
		t.Fatalf("exit code %d, %d results", run.Invocations[0].ExitCode, len(run.Results))
	}
	seen := map[string]bool{}
	for i, res := range run.Results {
		x := &rep.Suppressed[0]
		if i < len(rep.Races) {
			x = &rep.Races[i]
		}
		if covered := i >= len(rep.Races); covered != (len(res.Suppressions) == 1) {
			t.Errorf("result %d: suppressions %v", i, res.Suppressions)
		}
		if res.OccurrenceCount != x.Dynamic || res.RuleID != run.Tool.Driver.Rules[res.RuleIndex].ID {
			t.Errorf("result %d: %d occurrences of rule %s", i, res.OccurrenceCount, res.RuleID)
		}
		if fp := res.PartialFingerprints[sarifFingerprint]; fp != x.Fingerprint || fp == "" || seen[fp] {
			t.Errorf("result %d: fingerprint %q", i, fp)
		}
		seen[x.Fingerprint] = true
		if l := res.Locations[0].Physical; l.Region.StartLine != x.Accesses[0].Top.Line {
			t.Errorf("result %d: later access on line %d", i, l.Region.StartLine)
		}
		if l := res.RelatedLocations[0]; l.ID != 1 || l.Physical.Region.StartLine != x.Accesses[1].Top.Line || !strings.Contains(res.Message.Text, "](1)") {
			t.Errorf("result %d: earlier access %+v, %s", i, l, res.Message.Text)
		}
		for k := range x.Accesses {
			if n := framesOf(t, res.Stacks[k].Frames); n != len(x.Accesses[k].Stack) {
				t.Errorf("result %d: stack %d has %d frames", i, k, n)
			}
		}
		checkFlow(t, x, res.CodeFlows[0])
	}
}

// framesOf counts frames, and the frames that they stand for.
func framesOf(t *testing.T, frames []sarifFrame) (n int) {
	t.Helper()
	for _, f := range frames {
		more := 1
		if m := f.Location.Message; m != nil {
			if got, err := fmt.Sscanf(m.Text, "%d frames of libraries", &more); got != 1 || more < 2 {
				t.Errorf("%q: %v", m.Text, err)
			}
		}
		n += more
	}
	return n
}

// TestSARIFFolds checks that consecutive frames of libraries become one, except for the
// innermost, and except if all frames are wanted.
func TestSARIFFolds(t *testing.T) {
	for _, tt := range []struct{ own, want string }{
		{"ooo", "111"}, {"lloo", "1111"}, {"olllo", "131"}, {"llllo", "131"}, {"olo", "111"}, {"ollol", "1211"}, {"", ""},
	} {
		var s sarifStack
		for _, c := range tt.own {
			s.Frames = append(s.Frames, sarifFrame{Location: &sarifLocation{}, foldable: c == 'l'})
		}
		s.fold()
		got := ""
		for _, f := range s.Frames {
			got += fmt.Sprint(framesOf(t, []sarifFrame{f}))
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.own, got, tt.want)
		}
	}
}

// checkFlow requires a flow for each thread, with steps in a global order that ends with
// the two accesses.
func checkFlow(t *testing.T, x *Race, flow sarifCodeFlow) {
	t.Helper()
	at := map[int]string{}
	for _, f := range flow.ThreadFlows {
		last := 0
		for _, s := range f.Locations {
			if s.ExecutionOrder <= last || at[s.ExecutionOrder] != "" {
				t.Errorf("step %d of %s after %d", s.ExecutionOrder, f.ID, last)
			}
			last = s.ExecutionOrder
			at[last] = f.ID + " " + s.Location.Message.Text
		}
	}
	n := len(at)
	for i, a := range []*Access{&x.Accesses[0], &x.Accesses[1]} {
		if !strings.Contains(at[n-i], a.what()) {
			t.Errorf("step %d is %q, want %q", n-i, at[n-i], a.what())
		}
	}
}

func TestSARIFArtifact(t *testing.T) {
	rep := build(t, "")
	rep.Races[1].Artifact = &Artifact{Of: []string{rep.Races[0].Fingerprint}}
	out, value := sarifOf(t, rep)
	if err := sarifSchema(t).Validate(value); err != nil {
		t.Error(err)
	}
	var log sarifLog
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	cause, res := log.Runs[0].Results[0], log.Runs[0].Results[1]
	if cause.Level != "error" || res.Level != "note" || !strings.Contains(res.Message.Text, "artifact") {
		t.Errorf("%s and %s: %s", cause.Level, res.Level, res.Message.Text)
	}
	if of, ok := res.Properties["artifactOf"].([]any); !ok || len(of) != 1 || of[0] != cause.PartialFingerprints[sarifFingerprint] {
		t.Errorf("artifact of %v", res.Properties["artifactOf"])
	}
}

// TestSARIFChain checks what a log says about an artifact: its cause, and the path of the
// value as a code flow.
func TestSARIFChain(t *testing.T) {
	rep := explained(t, "")
	out, value := sarifOf(t, rep)
	golden(t, "sarif/artifacts.sarif", out)
	if err := sarifSchema(t).Validate(value); err != nil {
		t.Error(err)
	}
	var log sarifLog
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	res := log.Runs[0].Results[3]
	if want := "a consequence of another race, R1, R2, of a [write](4) with a [read](5)"; !strings.Contains(res.Message.Text, want) {
		t.Errorf("message %q", res.Message.Text)
	}
	lines := map[int]int{}
	for _, l := range res.RelatedLocations {
		lines[l.ID] = l.Physical.Region.StartLine
	}
	chain := rep.Races[3].Artifact.Chain
	if lines[writeID] != chain[0].Frame.Line || lines[readID] != chain[1].Frame.Line {
		t.Errorf("related lines %v", lines)
	}
	if len(res.CodeFlows) != 2 || len(res.CodeFlows[1].ThreadFlows) != 2 {
		t.Fatalf("flows %+v", res.CodeFlows)
	}
	var steps [8]string
	for _, f := range res.CodeFlows[1].ThreadFlows {
		for _, s := range f.Locations {
			steps[s.ExecutionOrder] = s.Location.Message.Text
		}
	}
	for i, l := range []int{0, 1, 2, 3, 4, 5, 6} {
		if got, want := steps[i+1], chain[l].what(); got != want {
			t.Errorf("step %d is %q, want %q", i+1, got, want)
		}
	}
	if why := log.Runs[0].Results[5].Properties["artifactUnknown"]; why != "the data flow is too long" {
		t.Errorf("unknown because %v", why)
	}
}

func TestBaseline(t *testing.T) {
	all := build(t, "")
	var some bytes.Buffer
	if err := build(t, "race:account").WriteJSON(&some); err != nil {
		t.Fatal(err)
	}
	base, err := ReadBaseline("some.json", bytes.NewReader(some.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	base.Apply(all)
	if len(all.Races) != 2 || len(all.Known) != 4 || all.Races[0].ID != "R1" || all.Races[1].Group != "R1" {
		t.Fatalf("%d new, %d known: %+v", len(all.Races), len(all.Known), all.Races)
	}
	if all.Dynamic != all.Races[0].Dynamic+all.Races[1].Dynamic {
		t.Errorf("%d dynamic pairs", all.Dynamic)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := all.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	value, _ := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
	_, log := sarifOf(t, all)
	if err := sarifSchema(t).Validate(log); err != nil {
		t.Error(err)
	}
	// The report, with the known races, is the next baseline: nothing is new.
	next, err := ReadBaseline("next.json", bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	again := build(t, "")
	if next.Apply(again); len(again.Races) != 0 || len(again.Known) != 6 || again.Gone != 0 {
		t.Errorf("%d new, %d known, %d gone", len(again.Races), len(again.Known), again.Gone)
	}
	// What does not occur any more is counted, and what is suppressed is shown.
	fewer := build(t, "race:account")
	shown := len(fewer.Races) + len(fewer.Suppressed)
	fewer.Races = fewer.Races[1:]
	if next.Apply(fewer); fewer.Gone != 6-shown+1 || fewer.Gone == 0 {
		t.Errorf("%d gone", fewer.Gone)
	}
	out.Reset()
	if err := fewer.WriteText(&out, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "hindsight: 1 race in it did not show\n") {
		t.Errorf("no count of races that are gone in\n%s", &out)
	}
}

func TestBadBaselines(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", `{"version":2,"races":[]}`, `{"version":1,"races":[{}]}`, `{"version":1,"races":7}`} {
		if _, err := ReadBaseline("bad", strings.NewReader(text)); !errors.Is(err, ErrBaseline) {
			t.Errorf("%q: %v", text, err)
		}
	}
	data, err := os.ReadFile("testdata/races.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBaseline("good", bytes.NewReader(data)); err != nil {
		t.Error(err)
	}
}

// TestFreedBlock checks that the end of a block that had been freed before is shown.
func TestFreedBlock(t *testing.T) {
	res := fakeResult()
	r := &res.Races[2]
	r.First.Earlier.Op, r.First.Earlier.Site, r.First.Earlier.Segment = 0, 4, 0
	r.Location.Block.Freed, r.Location.Block.FreedBy, r.Location.Block.FreedAt = true, 1, 6
	rep, err := Build(res, fakeImage{}, fakeStacks{}, info, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := rep.WriteText(&out, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "    #1 start_thread (0x1402)\n  freed by thread T1 at:\n    #0 worker bank.c:139\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}
