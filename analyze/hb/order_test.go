package hb

import (
	"errors"
	"testing"

	"hindsight/tracefmt/event"
)

// step is an event of a thread.
type step struct {
	t    event.ThreadID
	kind event.Kind
	obj  uint64
	mode event.Mode
	size uint32
	arg  uint64
}

// ordered reports whether what thread 0 does before the steps happens before what thread
// 1 does after them.
func ordered(t *testing.T, steps []step) bool {
	t.Helper()
	o := New()
	o.Root(0)
	epoch := o.Epoch(0)
	for _, s := range steps {
		e := event.Event{Kind: s.kind, Obj: s.obj, Mode: s.mode, Size: s.size, Arg: s.arg}
		if err := o.Acquire(s.t, &e); err != nil {
			t.Fatal(err)
		}
		if err := o.Release(s.t, &e); err != nil {
			t.Fatal(err)
		}
	}
	return o.Clock(1).At(0) >= epoch
}

func TestEdges(t *testing.T) {
	const x = 0x1000
	const rel, acq = event.Release, event.Acquire
	store := func(t event.ThreadID, m event.Mode) step {
		return step{t: t, kind: event.AtomicStore, obj: x, mode: m, size: 4}
	}
	load := func(t event.ThreadID, m event.Mode) step {
		return step{t: t, kind: event.AtomicLoad, obj: x, mode: m, size: 4}
	}
	rmw := func(t event.ThreadID, m event.Mode) step {
		return step{t: t, kind: event.AtomicRMW, obj: x, mode: m, size: 4}
	}
	fence := func(t event.ThreadID, m event.Mode) step { return step{t: t, kind: event.Fence, mode: m} }
	pair := func(a, b event.Kind) []step { return []step{{t: 0, kind: a, obj: x}, {t: 1, kind: b, obj: x}} }
	tests := []struct {
		name  string
		steps []step
		want  bool
	}{
		{"nothing", nil, false},
		{"mutex", pair(event.MutexUnlock, event.MutexLock), true},
		{"other mutex", []step{{t: 0, kind: event.MutexUnlock, obj: 1}, {t: 1, kind: event.MutexLock, obj: 2}}, false},
		{"mutex the wrong way round", pair(event.MutexLock, event.MutexUnlock), false},
		{"mutex initialised in between", []step{{t: 0, kind: event.MutexUnlock, obj: x}, {t: 0, kind: event.Init, obj: x}, {t: 1, kind: event.MutexLock, obj: x}}, false},
		{"write, read", pair(event.WriteUnlock, event.ReadLock), true},
		{"write, write", pair(event.WriteUnlock, event.WriteLock), true},
		{"read, write", pair(event.ReadUnlock, event.WriteLock), true},
		{"read, read", pair(event.ReadUnlock, event.ReadLock), false},
		{"semaphore", pair(event.SemPost, event.SemWait), true},
		{"once", pair(event.OnceDone, event.OnceSeen), true},
		{"barrier", []step{{t: 0, kind: event.BarrierEnter, obj: x}, {t: 1, kind: event.BarrierEnter, obj: x}, {t: 1, kind: event.BarrierLeave, obj: x}}, true},
		{"other generation", []step{{t: 0, kind: event.BarrierEnter, obj: x}, {t: 1, kind: event.BarrierEnter, obj: x, arg: 1}, {t: 1, kind: event.BarrierLeave, obj: x, arg: 1}}, false},
		{"barrier destroyed before the last leaves", []step{{t: 1, kind: event.BarrierEnter, obj: x}, {t: 0, kind: event.BarrierEnter, obj: x},
			{t: 0, kind: event.BarrierLeave, obj: x}, {t: 0, kind: event.Destroy, obj: x}, {t: 1, kind: event.BarrierLeave, obj: x}}, true},
		{"mutex in memory that was allocated in between", []step{{t: 0, kind: event.MutexUnlock, obj: x}, {t: 2, kind: event.Alloc, obj: x - 16, arg: 17}, {t: 1, kind: event.MutexLock, obj: x}}, false},
		{"memory beside it was", []step{{t: 0, kind: event.MutexUnlock, obj: x}, {t: 2, kind: event.Alloc, obj: x - 16, arg: 16}, {t: 1, kind: event.MutexLock, obj: x}}, true},
		{"atomic on a stack whose frame was left", []step{store(0, rel), {t: 0, kind: event.Renew, obj: x, arg: 8}, rmw(2, 0), load(1, acq)}, false},
		{"condition variable alone", pair(event.CondSignal, event.CondWait), false},
		{"create", []step{{t: 0, kind: event.Create, obj: 1}, {t: 1, kind: event.ThreadStart}}, true},
		{"created before", []step{{t: 1, kind: event.ThreadStart}, {t: 0, kind: event.Create, obj: 1}}, false},
		{"join", []step{{t: 0, kind: event.ThreadEnd}, {t: 1, kind: event.Join, obj: 0}}, true},
		{"through a third thread", []step{{t: 0, kind: event.MutexUnlock, obj: 1}, {t: 2, kind: event.MutexLock, obj: 1},
			{t: 2, kind: event.SemPost, obj: 2}, {t: 1, kind: event.SemWait, obj: 2}}, true},

		{"release, acquire", []step{store(0, rel), load(1, acq)}, true},
		{"release, relaxed", []step{store(0, rel), load(1, 0)}, false},
		{"relaxed, acquire", []step{store(0, 0), load(1, acq)}, false},
		{"overwritten", []step{store(0, rel), store(2, 0), load(1, acq)}, false},
		{"overwritten by another release", []step{store(0, rel), store(2, rel), load(1, acq)}, false},
		{"release sequence", []step{store(0, rel), rmw(2, 0), load(1, acq)}, true},
		{"joined release sequence", []step{store(0, rel), rmw(2, rel), load(1, acq)}, true},
		{"read-modify-write on both sides", []step{rmw(0, rel), rmw(1, acq)}, true},
		{"half the bytes", []step{store(0, rel), {t: 1, kind: event.AtomicLoad, obj: x + 2, mode: acq, size: 1}}, true},
		{"neighbouring bytes", []step{store(0, rel), {t: 1, kind: event.AtomicLoad, obj: x + 4, mode: acq, size: 4}}, false},
		{"half overwritten", []step{store(0, rel), {t: 2, kind: event.AtomicStore, obj: x, size: 2}, load(1, acq)}, true},
		{"across granules", []step{{t: 0, kind: event.AtomicStore, obj: x + 6, mode: rel, size: 4}, {t: 1, kind: event.AtomicLoad, obj: x + 8, mode: acq, size: 2}}, true},

		{"fences on both sides", []step{fence(0, rel), store(0, 0), load(1, 0), fence(1, acq)}, true},
		{"release fence only", []step{fence(0, rel), store(0, 0), load(1, 0)}, false},
		{"acquire fence only", []step{store(0, 0), load(1, 0), fence(1, acq)}, false},
		{"release fence too late", []step{store(0, 0), fence(0, rel), load(1, acq)}, false},
		{"acquire fence too early", []step{store(0, rel), fence(1, acq), load(1, 0)}, false},
		{"count down, then fence", []step{rmw(0, rel), rmw(1, rel), fence(1, acq)}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ordered(t, tt.steps); got != tt.want {
				t.Errorf("ordered: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAbsurdThreads(t *testing.T) {
	o := New()
	if err := o.Acquire(event.MaxThreads, &event.Event{}); !errors.Is(err, ErrThread) {
		t.Error(err)
	}
	if err := o.Release(0, &event.Event{Kind: event.Create, Obj: 1 << 40}); !errors.Is(err, ErrThread) {
		t.Error(err)
	}
}

func TestLive(t *testing.T) {
	o := New()
	o.Root(0)
	live := func() (ids []event.StrandID) {
		o.Live(func(s event.StrandID, _ Clock) { ids = append(ids, s) })
		return ids
	}
	do := func(th event.ThreadID, k event.Kind, obj uint64) {
		e := event.Event{Kind: k, Obj: obj}
		if err := errors.Join(o.Acquire(th, &e), o.Release(th, &e)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		th   event.ThreadID
		kind event.Kind
		obj  uint64
		want int
	}{
		{0, event.Create, 2, 2}, // thread 1 is not known yet
		{2, event.ThreadStart, 0, 2},
		{2, event.ThreadEnd, 0, 1},
		{0, event.Join, 2, 1},
	} {
		do(s.th, s.kind, s.obj)
		if got := live(); len(got) != s.want {
			t.Errorf("after %v: %v live, want %d", s.kind, got, s.want)
		}
	}
}
