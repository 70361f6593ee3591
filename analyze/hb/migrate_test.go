package hb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/tracefmt/event"
)

// point is an event of a run in the terms of docs/semantics.md: it belongs to a strand
// and comes after other events.
type point struct {
	strand string
	after  []int // points
}

// migration makes up runs of tasks that are suspended and continue in other threads. It
// records the events together with what the page says about them.
type migration struct {
	rnd     *rand.Rand
	order   *Order
	t       *testing.T
	points  []point
	last    map[string]int // the last point of each strand
	stacks  [][]uint64     // the tasks that each thread acts as
	made    map[uint64]int // tasks that have not begun, with the points of their creation
	parked  []uint64       // tasks that are suspended
	unlocks map[uint64][]int
	posts   map[uint64][]int
	task    uint64
	// The clocks of the points after their acquire half, by the strand's number and
	// epoch. What has seen the epoch comes after the point.
	epochs []epochOf
	clocks []Clock
}

type epochOf struct {
	strand event.StrandID
	epoch  uint64
}

func (m *migration) strand(t event.ThreadID) string {
	if s := m.stacks[t]; len(s) > 0 {
		return fmt.Sprint("task ", s[len(s)-1])
	}
	return fmt.Sprint("thread ", t)
}

// do executes an event of thread t, which the page orders after the given points.
func (m *migration) do(t event.ThreadID, k event.Kind, obj uint64, after ...int) int {
	m.t.Helper()
	e := event.Event{Kind: k, Obj: obj}
	if err := m.order.Acquire(t, &e); err != nil {
		m.t.Fatal(err)
	}
	switch k {
	case event.StrandBegin, event.StrandResume:
		m.stacks[t] = append(m.stacks[t], obj)
	}
	s := m.strand(t)
	after = slices.Clone(after)
	if n, ok := m.last[s]; ok {
		after = append(after, n)
	}
	n := len(m.points)
	m.points, m.last[s] = append(m.points, point{s, after}), n
	number := m.order.Strand(t)
	m.epochs = append(m.epochs, epochOf{number, m.order.Epoch(number)})
	m.clocks = append(m.clocks, append(Clock(nil), m.order.Clock(t)...))
	if err := m.order.Release(t, &e); err != nil {
		m.t.Fatal(err)
	}
	switch k {
	case event.StrandEnd, event.StrandSuspend:
		m.stacks[t] = m.stacks[t][:len(m.stacks[t])-1]
	}
	return n
}

func (m *migration) step(threads int) {
	t := event.ThreadID(m.rnd.IntN(threads))
	top := len(m.stacks[t]) - 1
	obj := uint64(m.rnd.IntN(3))
	switch m.rnd.IntN(9) {
	case 0:
		m.task++
		m.made[m.task] = m.do(t, event.StrandCreate, m.task)
	case 1, 2:
		for id, at := range m.made {
			delete(m.made, id)
			m.do(t, event.StrandBegin, id, at)
			break
		}
	case 3:
		if top >= 0 {
			m.do(t, event.StrandEnd, m.stacks[t][top])
		}
	case 4:
		if top >= 0 {
			id := m.stacks[t][top]
			m.do(t, event.StrandSuspend, id)
			m.parked = append(m.parked, id)
		}
	case 5:
		if n := len(m.parked); n > 0 {
			i := m.rnd.IntN(n)
			id := m.parked[i]
			m.parked = append(m.parked[:i], m.parked[i+1:]...)
			m.do(t, event.StrandResume, id)
		}
	case 6:
		m.unlocks[obj] = append(m.unlocks[obj], m.do(t, event.MutexUnlock, obj))
	case 7:
		m.do(t, event.MutexLock, obj, m.unlocks[obj]...)
	case 8:
		if m.rnd.IntN(2) == 0 {
			m.posts[obj] = append(m.posts[obj], m.do(t, event.Publish, obj))
		} else {
			m.do(t, event.Observe, obj, m.posts[obj]...)
		}
	}
}

// before computes for each pair of points whether the page orders them.
func (m *migration) before() [][]bool {
	all := make([][]bool, len(m.points))
	for n, p := range m.points {
		all[n] = make([]bool, len(m.points))
		for _, a := range p.after {
			all[n][a] = true
			for k := range a {
				all[n][k] = all[n][k] || all[a][k]
			}
		}
	}
	return all
}

// TestMigration compares clocks with reachability, in runs of tasks that are suspended in
// one thread and resumed in another.
func TestMigration(t *testing.T) {
	moved := 0
	for seed := range uint64(400) {
		threads := 2 + int(seed%3)
		m := &migration{rnd: rand.New(rand.NewPCG(seed, 77)), order: New(), t: t, last: map[string]int{}, stacks: make([][]uint64, threads),
			made: map[uint64]int{}, unlocks: map[uint64][]int{}, posts: map[uint64][]int{}}
		m.order.Threads(threads)
		for th := range threads {
			m.order.Root(event.ThreadID(th))
		}
		for range 120 {
			m.step(threads)
		}
		reach := m.before()
		for n := range m.points {
			for k := range n {
				if m.points[n].strand == m.points[k].strand {
					continue
				}
				e := m.epochs[k]
				// The clock of an event that releases is passed on within its epoch: a
				// strand that has seen the epoch may have seen it at a later release.
				// Only epochs that end at the point distinguish it from its successors.
				if got := m.clocks[n].At(e.strand) >= e.epoch; got != (reach[n][k] || m.later(reach, n, k)) {
					t.Fatalf("seed %d: point %d (%s) is after point %d (%s): %v, want %v", seed, n, m.points[n].strand, k, m.points[k].strand, got, !got)
				}
			}
		}
		moved += len(m.parked)
	}
	if moved == 0 {
		t.Error("nothing was suspended")
	}
}

// later reports whether n comes after a point of the chain of k in k's epoch.
func (m *migration) later(reach [][]bool, n, k int) bool {
	for j := k + 1; j < n; j++ {
		if m.epochs[j] == m.epochs[k] && reach[n][j] {
			return true
		}
	}
	return false
}

func TestMisplacedStrands(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"resumed without having been suspended", []step{{t: 0, kind: event.StrandResume, obj: 1}}},
		{"resumed twice", []step{{t: 0, kind: event.StrandCreate, obj: 1}, {t: 0, kind: event.StrandBegin, obj: 1},
			{t: 0, kind: event.StrandSuspend, obj: 1}, {t: 1, kind: event.StrandResume, obj: 1}, {t: 0, kind: event.StrandResume, obj: 1}}},
		{"suspended by another thread", []step{{t: 0, kind: event.StrandCreate, obj: 1}, {t: 0, kind: event.StrandBegin, obj: 1},
			{t: 1, kind: event.StrandSuspend, obj: 1}}},
		{"suspended below another", []step{{t: 0, kind: event.StrandCreate, obj: 1}, {t: 0, kind: event.StrandCreate, obj: 2},
			{t: 0, kind: event.StrandBegin, obj: 1}, {t: 0, kind: event.StrandBegin, obj: 2}, {t: 0, kind: event.StrandSuspend, obj: 1}}},
	} {
		o := New()
		o.Threads(2)
		var err error
		for _, s := range tt.steps {
			e := event.Event{Kind: s.kind, Obj: s.obj}
			if err = errors.Join(o.Acquire(s.t, &e), o.Release(s.t, &e)); err != nil {
				break
			}
		}
		if !errors.Is(err, ErrStrand) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
