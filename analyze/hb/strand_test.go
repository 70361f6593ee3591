package hb

import (
	"testing"

	"hindsight/tracefmt/event"
)

func (o *Order) do(t *testing.T, kind event.Kind, obj, arg uint64) {
	t.Helper()
	e := event.Event{Kind: kind, Obj: obj, Arg: arg}
	if err := o.Acquire(0, &e); err != nil {
		t.Fatal(err)
	}
	if err := o.Release(0, &e); err != nil {
		t.Fatal(err)
	}
}

// TestStrands runs tasks one after another on one thread. Only what they publish and
// observe orders them.
func TestStrands(t *testing.T) {
	o := New()
	o.Root(0)
	o.Threads(1)
	o.do(t, event.StrandCreate, 1, 0)
	o.do(t, event.StrandCreate, 2, 0)
	creator := o.Epoch(0)
	o.do(t, event.StrandBegin, 1, 0)
	first := o.Strand(0)
	epoch := o.Epoch(first)
	if o.Clock(0).At(0) >= creator {
		t.Error("a task is ordered after what its creator did behind the creation")
	}
	o.do(t, event.Publish, 7, 1)
	o.do(t, event.StrandEnd, 1, 0)
	if o.Strand(0) != 0 || o.Clock(0).At(first) >= epoch {
		t.Error("the creator is ordered after a task that it has not waited for")
	}
	o.do(t, event.StrandBegin, 2, 0)
	if second := o.Strand(0); second == first || o.Clock(0).At(first) >= epoch {
		t.Error("tasks of one thread are ordered")
	}
	o.do(t, event.StrandEnd, 2, 0)
	o.do(t, event.Observe, 7, 0)
	if o.Clock(0).At(first) < epoch {
		t.Error("the creator is not ordered after a task that it has observed")
	}
	o.do(t, event.StrandCreate, 3, 0)
	o.do(t, event.StrandBegin, 3, 0)
	if o.Strand(0) != first || o.Epoch(first) <= epoch {
		t.Error("a task behind an observed one does not take over its number")
	}
}

// TestManyTasks checks that tasks that nobody waits for use a limited number of strands.
func TestManyTasks(t *testing.T) {
	o := New()
	o.Root(0)
	o.Threads(1)
	for id := uint64(1); id <= 10*MaxTasks; id++ {
		o.do(t, event.StrandCreate, id, 0)
		o.do(t, event.StrandBegin, id, 0)
		o.do(t, event.StrandEnd, id, 0)
	}
	if n := o.Strands(); n > MaxTasks+1 {
		t.Errorf("%d strands", n)
	}
	if n := o.Merged(); n != 9*MaxTasks {
		t.Errorf("%d tasks took over a number of another", n)
	}
	e := event.Event{Kind: event.StrandBegin, Obj: 1}
	if err := o.Acquire(0, &e); err == nil {
		t.Error("a task begins twice")
	}
}
