package order

import (
	"slices"

	"hindsight/analyze/internal/madeup"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// The definitions, as the papers have them, on a run in one order: relations
// as matrices, closed by brute force.

// bruteSection is a section of a lock: from its acquire to its release, -1 if there is none.
type bruteSection struct {
	lock             uint64
	thread           int
	acquire, release int
}

func sections(all []madeup.Moment) (out []bruteSection) {
	for i, n := range all {
		if !n.IsEvent || n.Event.Kind != event.MutexLock {
			continue
		}
		s := bruteSection{n.Event.Obj, n.Thread, i, -1}
		for j := i + 1; j < len(all); j++ {
			if m := all[j]; m.IsEvent && m.Thread == n.Thread && m.Event.Kind == event.MutexUnlock && m.Event.Obj == n.Event.Obj {
				s.release = j
				break
			}
		}
		out = append(out, s)
	}
	return out
}

func (s *bruteSection) has(all []madeup.Moment, i int) bool {
	return all[i].Thread == s.thread && i >= s.acquire && (s.release < 0 || i <= s.release)
}

// weak is weak causal precedence, by its three rules until nothing changes.
func weak(all []madeup.Moment, hard, hb madeup.Relation) madeup.Relation {
	r := madeup.NewRelation(len(all))
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
						if s.has(all, i) && u.has(all, j) && all[i].Conflicts(&all[j]) {
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

// placeOf returns the place of an access.
func placeOf(m *madeup.Moment) race.Place {
	if m.Site.Access == event.Write {
		return race.Place{PC: m.Site.PC, Op: replay.Write}
	}
	return race.Place{PC: m.Site.PC, Op: replay.Read}
}

// byDefinition returns the orders that report each pair.
func byDefinition(m *madeup.Run) map[key]Set {
	all := m.Linear()
	hard, hb, shb := madeup.Orders(all)
	wcp := weak(all, hard, hb)
	bare := bareBytes(all)
	out := map[key]Set{}
	for j := range all {
		for i := range j {
			a, b := &all[i], &all[j]
			if !a.Conflicts(b) {
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
			for at := max(a.Address, b.Address); at < min(a.Address+uint64(a.Site.Size), b.Address+uint64(b.Site.Size)); at++ {
				if bare[j][at] {
					s.add(Lockset)
				}
			}
			if k := keyOf(placeOf(a), placeOf(b)); s != 0 {
				out[k] |= s
			}
		}
	}
	return out
}

// schedulable reports whether j does not follow from i by something else than the
// read's own edge.
func schedulable(all []madeup.Moment, shb madeup.Relation, i, j int) bool {
	for k := range j {
		if all[k].Thread == all[j].Thread && (k == i || shb[i][k]) {
			return false
		}
	}
	return true
}

// bareBytes returns the bytes that each access finds shared, modified and without a
// lock.
func bareBytes(all []madeup.Moment) []map[uint64]bool {
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
		if n.IsEvent {
			switch n.Event.Kind {
			case event.MutexLock:
				held[n.Thread] = append(slices.Clone(held[n.Thread]), n.Event.Obj)
			case event.MutexUnlock:
				held[n.Thread] = slices.DeleteFunc(slices.Clone(held[n.Thread]), func(o uint64) bool { return o == n.Event.Obj })
			}
			continue
		}
		for b := n.Address; b < n.Address+uint64(n.Site.Size); b++ {
			s := states[b]
			if s == nil {
				s = &byteState{}
				states[b] = s
			}
			switch {
			case !s.seen:
				s.seen, s.owner = true, n.Thread
				continue
			case !s.shared && s.owner == n.Thread:
				continue
			case !s.shared:
				s.shared, s.locks = true, held[n.Thread]
			default:
				var both []uint64
				for _, l := range s.locks {
					if slices.Contains(held[n.Thread], l) {
						both = append(both, l)
					}
				}
				s.locks = both
			}
			s.modified = s.modified || n.Site.Access == event.Write
			out[i][b] = s.modified && len(s.locks) == 0
		}
	}
	return out
}
