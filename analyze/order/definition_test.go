package order

import (
	"slices"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/race"
	"hindsight/tracefmt/event"
)

// The definitions, as the papers have them, on a run in one order: relations
// as matrices, closed by brute force.

type node struct {
	thread   int
	isEvent  bool
	ev       event.Event
	place    race.Place
	lo, size uint64
}

func linear(m *madeup.Run) (all []node) {
	for _, x := range m.Linear() {
		n := node{thread: x.Thread, isEvent: x.IsEvent, ev: x.Event}
		if !x.IsEvent {
			n.place = race.Place{PC: x.Site.PC, Op: race.Read}
			if x.Site.Access == event.Write {
				n.place.Op = race.Write
			}
			n.lo, n.size = x.Address, uint64(x.Site.Size)
		}
		all = append(all, n)
	}
	return all
}

type relation [][]bool

func newRelation(n int) relation {
	r := make(relation, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	return r
}

// close makes r transitive, given that it only leads forward.
func (r relation) close() {
	for j := range r {
		for i := j - 1; i >= 0; i-- {
			if r[i][j] {
				for k := range i {
					r[k][j] = r[k][j] || r[k][i]
				}
			}
		}
	}
}

func (a *node) conflicts(b *node) bool {
	return !a.isEvent && !b.isEvent && a.thread != b.thread && a.lo < b.lo+b.size && b.lo < a.lo+a.size &&
		(a.place.Op == race.Write || b.place.Op == race.Write)
}

// orders gives the hard order, happens-before and schedulable happens-before.
func orders(all []node) (hard, hb, shb relation) {
	hard, hb, shb = newRelation(len(all)), newRelation(len(all)), newRelation(len(all))
	for j, e := range all {
		for i := range j {
			d := all[i]
			po := d.thread == e.thread
			is, soft := false, false
			if d.isEvent && e.isEvent {
				same := d.ev.Obj == e.ev.Obj
				soft = d.ev.Kind == event.MutexUnlock && e.ev.Kind == event.MutexLock && same
				is = d.ev.Kind == event.BarrierEnter && e.ev.Kind == event.BarrierLeave && same && d.ev.Arg == e.ev.Arg ||
					d.ev.Kind == event.SemPost && e.ev.Kind == event.SemWait && same ||
					d.ev.Kind == event.Create && e.ev.Kind == event.ThreadStart && int(d.ev.Obj) == e.thread ||
					d.ev.Kind == event.ThreadEnd && e.ev.Kind == event.Join && int(e.ev.Obj) == d.thread
			}
			hard[i][j] = po || is
			hb[i][j] = po || is || soft
			shb[i][j] = hb[i][j]
		}
		if !e.isEvent && e.place.Op == race.Read {
			for b := e.lo; b < e.lo+e.size; b++ {
				for i := j - 1; i >= 0; i-- {
					if d := all[i]; !d.isEvent && d.place.Op == race.Write && d.lo <= b && b < d.lo+d.size {
						shb[i][j] = true
						break
					}
				}
			}
		}
	}
	hard.close()
	hb.close()
	shb.close()
	return hard, hb, shb
}

// section of a lock: from its acquire to its release, -1 if there is none.
type bruteSection struct {
	lock             uint64
	thread           int
	acquire, release int
}

func sections(all []node) (out []bruteSection) {
	for i, n := range all {
		if !n.isEvent || n.ev.Kind != event.MutexLock {
			continue
		}
		s := bruteSection{n.ev.Obj, n.thread, i, -1}
		for j := i + 1; j < len(all); j++ {
			if m := all[j]; m.isEvent && m.thread == n.thread && m.ev.Kind == event.MutexUnlock && m.ev.Obj == n.ev.Obj {
				s.release = j
				break
			}
		}
		out = append(out, s)
	}
	return out
}

func (s *bruteSection) has(all []node, i int) bool {
	return all[i].thread == s.thread && i >= s.acquire && (s.release < 0 || i <= s.release)
}

// weak is weak causal precedence, by its three rules until nothing changes.
func weak(all []node, hard, hb relation) relation {
	r := newRelation(len(all))
	list := sections(all)
	for changed := true; changed; {
		changed = false
		add := func(i, j int) {
			if i < j && !r[i][j] {
				r[i][j], changed = true, true
			}
		}
		for _, s := range list {
			for _, u := range list {
				if s.lock != u.lock || s.thread == u.thread || s.release < 0 || s.release > u.acquire {
					continue
				}
				for i := s.acquire; i < s.release; i++ { // (a)
					for j := u.acquire; j < len(all); j++ {
						if s.has(all, i) && u.has(all, j) && all[i].conflicts(&all[j]) {
							add(s.release, j)
						}
					}
				}
				if u.release >= 0 && (r[s.acquire][u.release] || hard[s.acquire][u.release]) { // (b)
					add(s.release, u.release)
				}
			}
		}
		for i := range all { // (c)
			for j := range all {
				if !r[i][j] {
					continue
				}
				for k := range all {
					if hb[k][i] {
						add(k, j)
					}
					if hb[j][k] {
						add(i, k)
					}
				}
			}
		}
	}
	return r
}

// byDefinition gives the orders that report each pair.
func byDefinition(m *madeup.Run) map[key]Set {
	all := linear(m)
	hard, hb, shb := orders(all)
	wcp := weak(all, hard, hb)
	bare := bareBytes(all)
	out := map[key]Set{}
	for j := range all {
		for i := range j {
			a, b := &all[i], &all[j]
			if !a.conflicts(b) {
				continue
			}
			var s Set
			if !hb[i][j] {
				s.add(HB)
			}
			if schedulable(all, shb, i, j) {
				s.add(SHB)
			}
			if !wcp[i][j] && !hard[i][j] {
				s.add(WCP)
			}
			for at := max(a.lo, b.lo); at < min(a.lo+a.size, b.lo+b.size); at++ {
				if bare[j][at] {
					s.add(Lockset)
				}
			}
			if k := keyOf(a.place, b.place); s != 0 {
				out[k] |= s
			}
		}
	}
	return out
}

// schedulable says whether j does not follow from i by something else than the
// read's own edge.
func schedulable(all []node, shb relation, i, j int) bool {
	for k := range j {
		if all[k].thread == all[j].thread && (k == i || shb[i][k]) {
			return false
		}
	}
	return true
}

// bareBytes gives the bytes that each access finds shared, modified and without a
// lock.
func bareBytes(all []node) []map[uint64]bool {
	type byteState struct {
		seen, shared, modified bool
		owner                  int
		locks                  []uint64
	}
	states := map[uint64]*byteState{}
	held := map[int][]uint64{}
	out := make([]map[uint64]bool, len(all))
	for i, n := range all {
		out[i] = map[uint64]bool{}
		if n.isEvent {
			switch n.ev.Kind {
			case event.MutexLock:
				held[n.thread] = append(slices.Clone(held[n.thread]), n.ev.Obj)
			case event.MutexUnlock:
				held[n.thread] = slices.DeleteFunc(slices.Clone(held[n.thread]), func(o uint64) bool { return o == n.ev.Obj })
			}
			continue
		}
		for b := n.lo; b < n.lo+n.size; b++ {
			s := states[b]
			if s == nil {
				s = &byteState{}
				states[b] = s
			}
			switch {
			case !s.seen:
				s.seen, s.owner = true, n.thread
				continue
			case !s.shared && s.owner == n.thread:
				continue
			case !s.shared:
				s.shared, s.locks = true, held[n.thread]
			default:
				var both []uint64
				for _, l := range s.locks {
					if slices.Contains(held[n.thread], l) {
						both = append(both, l)
					}
				}
				s.locks = both
			}
			s.modified = s.modified || n.place.Op == race.Write
			out[i][b] = s.modified && len(s.locks) == 0
		}
	}
	return out
}
