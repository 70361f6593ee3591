package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// TestTasks: thread 2 creates tasks 1 and 2, begins task 2 and, in it, task 1, and leaves
// both. The accesses of race 0 are in segments before, between and after.
func TestTasks(t *testing.T) {
	events := []event.Event{
		{Kind: event.ThreadStart},
		{Kind: event.StrandCreate, Obj: 1},
		{Kind: event.StrandCreate, Obj: 2},
		{Kind: event.StrandBegin, Obj: 2},
		{Kind: event.MutexLock},
		{Kind: event.StrandBegin, Obj: 1},
		{Kind: event.StrandEnd, Obj: 1},
		{Kind: event.StrandEnd, Obj: 2},
		{Kind: event.StrandBegin, Obj: 1},
	}
	walk := func(yield func(format.Event, error) bool) {
		for i, e := range events {
			if !yield(format.Event{Event: e, Thread: 2, Seq: uint64(i), Index: uint64(i)}, nil) {
				return
			}
		}
	}
	for segment, want := range []uint64{0, 0, 0, 0, 2, 2, 1, 2, 0, 1} {
		res := fakeResult()
		res.Races[0].First.Earlier.Thread, res.Races[0].First.Earlier.Segment = 2, uint64(segment)
		rep, err := Build(res, fakeImage{}, fakeStacks{}, info, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Tasks(res, walk, fakeImage{}, fakeStacks{}); err != nil {
			t.Fatal(err)
		}
		var got uint64
		if task := rep.Races[0].Accesses[1].Task; task != nil {
			if got = task.ID; task.Thread != 2 || task.Stack[0].PC != 0x1180+4*task.ID {
				t.Errorf("segment %d: %+v", segment, task)
			}
		}
		if got != want {
			t.Errorf("segment %d is in task %d, want %d", segment, got, want)
		}
		if want == 2 {
			checkTaskForms(t, rep)
		}
	}
}

func checkTaskForms(t *testing.T, rep *Report) {
	t.Helper()
	var text, out bytes.Buffer
	if err := rep.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "  Task 2, of the " + rep.Races[0].Accesses[1].verb() + " by thread T2, created by thread T2 at:\n    #0 worker bank.c:"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, &text)
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
	if !strings.Contains(out.String(), `"task": {`) {
		t.Error("no task in the JSON form")
	}
	raw, log := sarifOf(t, rep)
	if err := sarifSchema(t).Validate(log); err != nil {
		t.Error(err)
	}
	var sarif sarifLog
	if err := json.Unmarshal(raw, &sarif); err != nil {
		t.Fatal(err)
	}
	related := sarif.Runs[0].Results[0].RelatedLocations
	if l := related[0].LogicalLocations; len(l) != 2 || l[1] != (sarifLogical{Name: "task 2", Kind: "task"}) {
		t.Errorf("logical locations %+v", l)
	}
	if last := related[len(related)-1]; last.ID != taskID+1 || last.Message.Text != "Task 2 was created by thread T2" {
		t.Errorf("related location %+v", last)
	}
}
