package predict

import (
	"context"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/order"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

// place is the place of an access of a made-up run.
func place(m *madeup.Moment) race.Place {
	if m.Site.Access == event.Write {
		return race.Place{PC: m.Site.PC, Op: replay.Write}
	}
	return race.Place{PC: m.Site.PC, Op: replay.Read}
}

func keyOf(a, b race.Place) pairKey {
	if comparePlaces(a, b) > 0 {
		a, b = b, a
	}
	return pairKey{a, b}
}

// truth returns the static pairs of a run that did not race in it and that are adjacent
// in some correct reordering. ok says that all reorderings were examined.
func truth(m *madeup.Run) (predictable map[pairKey]bool, ok bool) {
	all := m.Linear()
	hard, hb, _ := madeup.Orders(all)
	raced := map[pairKey]bool{}
	for j := range all {
		for i := range j {
			if all[i].Conflicts(&all[j]) && !hb[i][j] {
				raced[keyOf(place(&all[i]), place(&all[j]))] = true
			}
		}
	}
	predictable = map[pairKey]bool{}
	b := madeup.NewReorderings(all, hard)
	b.Run(func(r *madeup.Reordering) {
		for t := range m.NumThreads() {
			for u := range t {
				i, j := b.Next(r, t), b.Next(r, u)
				if i < 0 || j < 0 || !all[i].Conflicts(&all[j]) || !b.Can(r, i) || !b.Can(r, j) {
					continue
				}
				if k := keyOf(place(&all[i]), place(&all[j])); !raced[k] {
					predictable[k] = true
				}
			}
		}
	})
	return predictable, !b.TooMany
}

// TestAgainstReorderings checks that each prediction is a race in some correct reordering
// of the run, that its witness is such a reordering, and that everything that any
// reordering shows is predicted.
func TestAgainstReorderings(t *testing.T) {
	n := 3000
	if !cross.Long() {
		n = 600
	}
	found, missed, reversed, looked := 0, 0, 0, 0
	for seed := range uint64(n) {
		m := madeup.Sections(rand.New(rand.NewPCG(seed, 41)), 3)
		switch seed % 4 {
		case 0:
			m = madeup.Program(rand.New(rand.NewPCG(seed, 42)).IntN, 14+int(seed%16))
		case 1:
			m = madeup.Program(rand.New(rand.NewPCG(seed, 78)).IntN, 20+int(seed%30))
		case 2:
			m = madeup.Sections(rand.New(rand.NewPCG(seed, 77)), 2+int(seed/4%4))
		}
		want, ok := truth(m)
		if !ok {
			continue
		}
		looked++
		res, err := Find(context.Background(), m, order.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Races {
			r := &res.Races[i]
			k := keyOf(r.Accesses[0].Place, r.Accesses[1].Place)
			if !want[k] {
				t.Fatalf("seed %d: %v is predicted, and no reordering shows it\n%v", seed, k, m)
			}
			if why := wrong(m, r); why != "" {
				t.Fatalf("seed %d: the witness of %v: %s\n%v", seed, k, why, m)
			}
			delete(want, k)
			found++
			if r.Reversed {
				reversed++
			}
		}
		missed += len(want)
		for k := range want {
			t.Errorf("seed %d: %v is not predicted, and a reordering shows it\n%v", seed, k, m)
		}
	}
	t.Logf("%d runs: %d predicted, %d of them with reversed sections, %d missed", looked, found, reversed, missed)
	if looked < n/2 || found < n/20 || reversed == 0 {
		t.Errorf("%d runs: %d predicted, %d of them with reversed sections, %d missed", looked, found, reversed, missed)
	}
}

// followed says where the threads of a run are after a witness.
type followed struct {
	all     []madeup.Moment
	threads [][]int // the moments of each thread
	next    []int   // index of the next moment of each thread
	holder  map[uint64]int
}

// at returns the next moment of a thread, or nil at its end.
func (f *followed) at(t event.ThreadID) *madeup.Moment {
	if f.next[t] == len(f.threads[t]) {
		return nil
	}
	return &f.all[f.threads[t][f.next[t]]]
}

// follow advances a run as a witness says, and returns what is wrong with the witness.
func follow(m *madeup.Run, witness []Turn) (*followed, string) {
	all := m.Linear()
	threads := make([][]int, m.NumThreads())
	for i := range all {
		threads[all[i].Thread] = append(threads[all[i].Thread], i)
	}
	hard, _, _ := madeup.Orders(all)
	done := make([]bool, len(all))
	next := make([]int, len(threads))
	events, accesses := make([]uint64, len(threads)), make([]uint64, len(threads))
	holder := map[uint64]int{}
	last, now := readsFrom(all), map[uint64]int{}
	for _, turn := range witness {
		t := int(turn.Thread)
		for events[t] < turn.Events || accesses[t] < turn.Accesses {
			if next[t] == len(threads[t]) {
				return nil, "goes beyond the end of a thread"
			}
			i := threads[t][next[t]]
			for k := range all {
				if hard[k][i] && !done[k] {
					return nil, "leaves the hard order"
				}
			}
			n := &all[i]
			switch {
			case n.IsEvent && n.Event.Kind == event.MutexLock:
				if _, held := holder[n.Event.Obj]; held {
					return nil, "locks a mutex that is held"
				}
				holder[n.Event.Obj] = t
			case n.IsEvent && n.Event.Kind == event.MutexUnlock:
				delete(holder, n.Event.Obj)
			}
			for b := n.Address; !n.IsEvent && b < n.Address+uint64(n.Site.Size); b++ {
				if n.Site.Access == event.Write {
					now[b] = i + 1
				} else if now[b] != last[i][b] {
					return nil, "lets a read read something else"
				}
			}
			done[i] = true
			next[t]++
			if n.IsEvent {
				events[t]++
			} else {
				accesses[t]++
			}
		}
	}
	return &followed{all, threads, next, holder}, ""
}

// wrong returns what is wrong with the witness of a race.
func wrong(m *madeup.Run, r *Race) string {
	f, why := follow(m, r.Witness)
	if why != "" {
		return why
	}
	for _, a := range r.Accesses {
		n := f.at(a.Thread)
		if n == nil {
			return "ends after an access"
		}
		if n.IsEvent || place(n) != a.Place || n.Address != a.Address {
			return "does not end before an access"
		}
	}
	return ""
}

// wrongDeadlock returns what is wrong with the witness of a deadlock.
func wrongDeadlock(m *madeup.Run, d *Deadlock) string {
	f, why := follow(m, d.Witness)
	if why != "" {
		return why
	}
	for i, w := range d.Waits {
		n, by := f.at(w.Thread), d.Waits[(i+1)%len(d.Waits)]
		for n != nil && !n.IsEvent { // accesses without a conflicting access
			f.next[w.Thread]++
			n = f.at(w.Thread)
		}
		holder, is := f.holder[w.Mutex]
		switch {
		case n == nil || !n.IsEvent || n.Event.Kind != event.MutexLock || n.Event.Obj != w.Mutex:
			return "does not end before the lock of a mutex"
		case !is || holder != int(by.Thread) || by.Held != w.Mutex:
			return "the next thread does not hold the mutex"
		}
	}
	return ""
}

// TestDeadlocksAgainstReorderings checks that each deadlock is one in a correct
// reordering of the run, that its witness leads there, and that a deadlock is predicted
// for all runs of which some reordering deadlocks.
func TestDeadlocksAgainstReorderings(t *testing.T) {
	n := 3000
	if !cross.Long() {
		n = 800
	}
	looked, runs, missed, reversed, three := 0, 0, 0, 0, 0
	for seed := range uint64(n) {
		m := madeup.Sections(rand.New(rand.NewPCG(seed, 43)), 2+int(seed%2))
		all := m.Linear()
		hard, _, _ := madeup.Orders(all)
		b := madeup.NewReorderings(all, hard)
		want := false
		b.Run(func(r *madeup.Reordering) { want = want || b.Deadlocked(r) })
		if b.TooMany && !want {
			continue
		}
		looked++
		res, err := Find(context.Background(), m, order.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Deadlocks {
			d := &res.Deadlocks[i]
			if !want {
				t.Fatalf("seed %d: a deadlock is predicted, and no reordering has one\n%v", seed, m)
			}
			if why := wrongDeadlock(m, d); why != "" {
				t.Fatalf("seed %d: the witness %s: %+v\n%v", seed, why, d, m)
			}
			if d.Reversed {
				reversed++
			}
			if len(d.Waits) > 2 {
				three++
			}
		}
		switch {
		case len(res.Deadlocks) > 0:
			runs++
		case want:
			missed++
		}
	}
	t.Logf("%d runs: %d with deadlocks (%d reversed, %d of three threads), %d missed", looked, runs, reversed, three, missed)
	if looked < n/2 || runs < n/50 || missed > 0 {
		t.Errorf("%d runs: %d with deadlocks, %d missed", looked, runs, missed)
	}
}

// readsFrom returns, for each read and byte, 1 + the write that it reads from, or 0 for
// none.
func readsFrom(all []madeup.Moment) []map[uint64]int {
	from, last := make([]map[uint64]int, len(all)), map[uint64]int{}
	for i := range all {
		n := &all[i]
		from[i] = map[uint64]int{}
		for b := n.Address; !n.IsEvent && b < n.Address+uint64(n.Site.Size); b++ {
			if n.Site.Access == event.Write {
				last[b] = i + 1
			} else {
				from[i][b] = last[b]
			}
		}
	}
	return from
}
