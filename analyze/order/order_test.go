package order

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// made is a run held in memory.
type made struct {
	sites  []cdr.Site
	events []cdr.Event
	steps  [][]cdr.Step
	index  []uint64
}

func (m *made) Threads() []cdr.Thread {
	out := make([]cdr.Thread, len(m.steps))
	for i := range out {
		out[i].ID = event.ThreadID(i)
	}
	return out
}
func (m *made) NumSites() int               { return len(m.sites) }
func (m *made) Site(id cdr.SiteID) cdr.Site { return m.sites[id] }
func (m *made) Events() iter.Seq2[cdr.Event, error] {
	return func(yield func(cdr.Event, error) bool) {
		for _, e := range m.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *made) Steps(t event.ThreadID) iter.Seq2[cdr.Step, error] {
	return func(yield func(cdr.Step, error) bool) {
		for _, s := range m.steps[t] {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func newMade(threads int) *made {
	return &made{steps: make([][]cdr.Step, threads), index: make([]uint64, threads)}
}

func (m *made) do(t int, k event.Kind, obj uint64) {
	m.events = append(m.events, cdr.Event{Event: event.Event{Kind: k, Obj: obj}, Thread: event.ThreadID(t), Seq: uint64(len(m.events)), Index: m.index[t]})
	m.index[t]++
	m.steps[t] = append(m.steps[t], cdr.Step{IsEvent: true})
}

func (m *made) access(t int, pc, addr uint64, size uint8, a event.Access) {
	want := cdr.Site{PC: pc, Size: size, Access: a}
	id := -1
	for i, s := range m.sites {
		if s == want {
			id = i
		}
	}
	if id < 0 {
		id = len(m.sites)
		m.sites = append(m.sites, want)
	}
	m.steps[t] = append(m.steps[t], cdr.Step{Site: cdr.SiteID(id), Address: addr})
}

func (m *made) read(t int, pc, addr uint64)  { m.access(t, pc, addr, 8, event.Read) }
func (m *made) write(t int, pc, addr uint64) { m.access(t, pc, addr, 8, event.Write) }

// found gives the orders that report each pair.
func found(t *testing.T, src Source, opts Options) map[key]Set {
	t.Helper()
	pairs, err := Find(context.Background(), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	out := map[key]Set{}
	for _, p := range pairs {
		a, b := p.Places()
		out[key{a, b}] = p.Orders
	}
	return out
}

func pairOf(pc1 uint64, op1 race.Op, pc2 uint64, op2 race.Op) key {
	return keyOf(race.Place{PC: pc1, Op: op1}, race.Place{PC: pc2, Op: op2})
}

func set(orders ...Order) (s Set) {
	for _, o := range orders {
		s.add(o)
	}
	return s
}

// TestHiddenByAccidentalLockOrder: the order of two critical
// sections hides a race from happens-before, unless they conflict.
func TestHiddenByAccidentalLockOrder(t *testing.T) {
	const x, y, l = 0x1000, 0x2000, 0x100
	for _, conflict := range []bool{false, true} {
		m := newMade(2)
		m.write(0, 0x10, y)
		m.do(0, event.MutexLock, l)
		m.write(0, 0x14, x)
		m.do(0, event.MutexUnlock, l)
		m.do(1, event.MutexLock, l)
		if conflict {
			m.read(1, 0x20, x)
		} else {
			m.read(1, 0x20, x+8)
		}
		m.do(1, event.MutexUnlock, l)
		m.read(1, 0x24, y)
		got := found(t, m, Options{})
		want := set(WCP, Lockset)
		if conflict {
			want = set() // the reads only share y: no lock, but see below
		}
		k := pairOf(0x10, race.Write, 0x24, race.Read)
		if got[k]&^set(Lockset) != want&^set(Lockset) {
			t.Errorf("conflict %v: %v, want %v", conflict, got[k].Names(), want.Names())
		}
	}
}

// TestSecondRaceIsNotSchedulable publishes data by a flag without
// synchronisation: the race on the flag is one, that on the data is not once
// the flag has been read.
func TestSecondRaceIsNotSchedulable(t *testing.T) {
	const data, flag = 0x1000, 0x2000
	m := newMade(2)
	m.write(0, 0x10, data)
	m.write(0, 0x14, flag)
	m.read(1, 0x20, flag)
	m.read(1, 0x24, data)
	got := found(t, m, Options{})
	if s := got[pairOf(0x14, race.Write, 0x20, race.Read)]; !s.Has(SHB) || !s.Has(HB) || !s.Has(WCP) {
		t.Errorf("flag: %v", s.Names())
	}
	if s := got[pairOf(0x10, race.Write, 0x24, race.Read)]; s.Has(SHB) || !s.Has(HB) {
		t.Errorf("data: %v", s.Names())
	}
}

func TestEraser(t *testing.T) {
	const x, l, k = 0x1000, 0x100, 0x200
	m := newMade(2)
	locked := func(t int, lock, pc uint64) {
		m.do(t, event.MutexLock, lock)
		m.write(t, pc, x)
		m.do(t, event.MutexUnlock, lock)
	}
	m.write(0, 0x10, x) // exclusive still
	locked(0, l, 0x14)
	locked(1, l, 0x20)
	if got := found(t, m, Options{}); got[pairOf(0x14, race.Write, 0x20, race.Write)].Has(Lockset) {
		t.Errorf("one lock: %v", got)
	}
	locked(0, k, 0x18) // another lock: none is held always
	if got := found(t, m, Options{}); !got[pairOf(0x18, race.Write, 0x20, race.Write)].Has(Lockset) {
		t.Errorf("two locks: %v", got)
	}
}

// randomRun makes a run of locks, threads that begin and end, semaphores and
// accesses.
func randomRun(rnd *rand.Rand) *made {
	threads := 2 + rnd.IntN(3)
	m := newMade(threads)
	state := make([]int, threads) // 0 unborn, 1 created, 2 running, 3 ended
	state[0] = 2
	owner := map[uint64]int{}
	posts := 0
	atomics := rnd.IntN(2)
	for range 15 + rnd.IntN(50) {
		t := rnd.IntN(threads)
		switch state[t] {
		case 1:
			m.do(t, event.ThreadStart, 0)
			state[t] = 2
			continue
		case 0, 3:
			t = 0
			if state[0] != 2 {
				continue
			}
		}
		switch n := rnd.IntN(20); {
		case n < 9:
			addr := 0x1000 + uint64(rnd.IntN(3))*8
			size := uint8(8)
			if rnd.IntN(3) == 0 {
				addr, size = addr+uint64(rnd.IntN(2))*4, 4
			}
			m.access(t, 0x10+uint64(rnd.IntN(4)*4+t*0x100), addr, size, event.Access(rnd.IntN(2)))
		case n < 16:
			obj := uint64(0x100 + rnd.IntN(3)*8)
			if o, held := owner[obj]; !held {
				owner[obj] = t
				m.do(t, event.MutexLock, obj)
			} else if o == t {
				delete(owner, obj)
				m.do(t, event.MutexUnlock, obj)
			}
		case n == 16 && atomics > 0:
			posts++
			m.do(t, event.SemPost, 0x500)
		case n == 17 && posts > 0:
			m.do(t, event.SemWait, 0x500)
		case n == 18:
			for u, s := range state {
				if s == 0 {
					m.do(t, event.Create, uint64(u))
					state[u] = 1
					break
				}
			}
		case n == 19 && rnd.IntN(3) == 0:
			for u, s := range state {
				if s == 3 {
					m.do(t, event.Join, uint64(u))
				}
			}
			if t != 0 {
				m.do(t, event.ThreadEnd, 0)
				state[t] = 3
			}
		}
	}
	return m
}

func TestAgreesWithDefinitions(t *testing.T) {
	n := 8000
	if testing.Short() {
		n = 2000
	}
	reported := [NumOrders]int{}
	for seed := range uint64(n) {
		m := randomRun(rand.New(rand.NewPCG(seed, 7)))
		got, want := found(t, m, Options{}), byDefinition(m)
		for k := range want {
			if got[k] == 0 {
				got[k] = 0
			}
		}
		for k, s := range got {
			if s != want[k] {
				t.Fatalf("seed %d: %v is reported by %v, want %v\n%v", seed, k, s.Names(), want[k].Names(), describe(m))
			}
			for o := range NumOrders {
				if s.Has(o) {
					reported[o]++
				}
			}
		}
	}
	for o, n := range reported {
		if n == 0 {
			t.Errorf("%v reports nothing", Order(o))
		}
	}
}

func describe(m *made) (s string) {
	for _, n := range linear(m) {
		if n.isEvent {
			s += fmt.Sprintf("%d: %v %#x\n", n.thread, n.ev.Kind, n.ev.Obj)
		} else {
			s += fmt.Sprintf("%d: %v at %#x, %d bytes at %#x\n", n.thread, n.place.Op, n.place.PC, n.size, n.lo)
		}
	}
	return s
}
