package event

import (
	"errors"
	"slices"
	"testing"
)

// TestKinds checks that every kind has a row of its own in the table.
func TestKinds(t *testing.T) {
	names := map[string]Kind{}
	for k := None; k < NumKinds; k++ {
		info := k.Info()
		if info.Name == "" {
			t.Errorf("kind %d has no row", k)
		}
		if other, twice := names[info.Name]; twice {
			t.Errorf("kinds %d and %d are both called %s", other, k, info.Name)
		}
		names[info.Name] = k
		if k != None && info.Class == ClassNone {
			t.Errorf("%v has no class", k)
		}
	}
	if got := NumKinds.Info(); got != None.Info() {
		t.Errorf("a number that is no kind has the row %+v", got)
	}
}

func TestCallStack(t *testing.T) {
	var s CallStack
	for _, ret := range []uint64{10, 20, 30, 20, 40} {
		s.Call(ret)
	}
	for _, step := range []struct {
		target uint64
		popped int
		left   []uint64
	}{
		{40, 1, []uint64{10, 20, 30, 20}}, // an ordinary return
		{99, 0, []uint64{10, 20, 30, 20}}, // no frame expects it
		{30, 2, []uint64{10, 20}},         // a long jump
		{10, 2, nil},
		{10, 0, nil},
	} {
		if got := s.Return(step.target); got != step.popped || !slices.Equal(s.Frames, step.left) {
			t.Errorf("return to %d popped %d and left %v, want %d and %v", step.target, got, s.Frames, step.popped, step.left)
		}
	}
}

// failing is an observer with an error; counting one without.
type failing struct{ counting }

type counting struct{ defined, batches, finished int }

var errFull = errors.New("full")

func (c *counting) Define([]Block) error { c.defined++; return nil }
func (c *counting) Batch(*Batch) error   { c.batches++; return nil }
func (c *counting) Finish(Outcome) error { c.finished++; return nil }
func (f *failing) Batch(*Batch) error    { return errFull }
func (f *failing) Finish(Outcome) error  { f.finished++; return errFull }

// TestTee checks that an error ends a batch at once, but that every observer is finished.
func TestTee(t *testing.T) {
	bad, good := &failing{}, &counting{}
	o := Tee(bad, good)
	if err := o.Define(nil); err != nil || good.defined != 1 {
		t.Errorf("Define: %v, the second was told %d times", err, good.defined)
	}
	if err := o.Batch(&Batch{}); !errors.Is(err, errFull) || good.batches != 0 {
		t.Errorf("Batch: %v, the second was told %d times", err, good.batches)
	}
	if err := o.Finish(Outcome{}); !errors.Is(err, errFull) || good.finished != 1 || bad.finished != 1 {
		t.Errorf("Finish: %v, told %d and %d times", err, bad.finished, good.finished)
	}
	if one := Tee(good); one != Observer(good) {
		t.Error("a tee of one is not that one")
	}
}
