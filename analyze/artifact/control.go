package artifact

import (
	"cmp"
	"errors"
)

// behind returns the races whose racy values decided, by branches, that the accesses of
// the first instance of race i were executed.
func (e *explainer) behind(i int) ([]int, error) {
	e.begin()
	e.budget = min(e.budget, behindSteps)
	for p := range e.instances(i) {
		why, _, err := e.explain(i, &p, ByBranch, false)
		if errors.Is(err, errBudget) || errors.Is(err, errCode) || why == nil && err == nil {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []int{why[0].cause}, nil
	}
	return nil, nil
}

// behindSteps limits the searches for what a race is behind, and for what controls it.
// Most deciding races are near.
const behindSteps = 300

// controlled returns the races whose writes event-control both sides of the first
// instance of race i, by the paper's relation. A write a of such a race comes before one
// side in that side's thread. A read b that races with a comes before the other side in
// its thread, and that thread has used the value by then in a branch or an address (later
// accesses of the thread are controlled by program order).
func (e *explainer) controlled(i int) (list []int, err error) {
	e.begin()
	e.budget = min(e.budget, behindSteps)
	for p := range e.instances(i) {
		for k := range e.index.byRace {
			if k == i {
				continue
			}
			ok, err := e.controlledBy(k, &p)
			if errors.Is(err, errBudget) || errors.Is(err, errCode) {
				return list, nil
			}
			if err != nil {
				return nil, err
			}
			if ok {
				list = append(list, k)
			}
		}
		break
	}
	return list, nil
}

// controlledBy reports whether the writes of race k control both sides of an
// instance.
func (e *explainer) controlledBy(k int, p *pairOf) (bool, error) {
	for a, b := range e.index.writesAndReads(k) {
		for _, s := range [][2]*exec{{&p.c, &p.d}, {&p.d, &p.c}} {
			if ok, err := e.controlsBoth(exec{site: a}, exec{site: b}, s[0], s[1]); ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}

// maxReads limits the reads before an access that are tried.
const maxReads = 16

// controlsBoth reports whether a write by a's site comes before c in its thread
// and a read by b's site that races with it, and whose value was used, before d.
func (e *explainer) controlsBoth(a, b exec, c, d *exec) (bool, error) {
	x := e.index
	at, err := e.place(d)
	if err != nil {
		return false, err
	}
	list := x.sites[b.site].strands[d.unit.strand]
	if list == nil {
		return false, nil
	}
	tried := 0
	for n := len(list.records) - 1; n >= 0 && tried < maxReads; n-- {
		r := &list.records[n]
		if r.unit.end > d.unit.end {
			continue
		}
		for k := r.count; k > 0 && tried < maxReads; k-- {
			read := x.sites[b.site].exec(b.site, r, k-1)
			before, err := e.precedes(&read, d)
			if err != nil || !before && !read.same(d) {
				if err != nil {
					return false, err
				}
				continue
			}
			tried++
			ok, err := e.usedBefore(&read, at, d.event)
			if err != nil {
				return false, err
			}
			if !ok {
				continue
			}
			for w := range x.partners(a.site, &read) {
				if w.unit.strand != c.unit.strand {
					continue
				}
				before, err := e.precedes(&w, c)
				if before || err != nil {
					return before, err
				}
			}
		}
	}
	return false, nil
}

// usedBefore reports whether a thread had used the value of a racy read before a point.
// An access at an address computed from the value counts as a use.
func (e *explainer) usedBefore(read *exec, until point, anyway bool) (bool, error) {
	at, err := e.place(read)
	if err != nil {
		return false, err
	}
	from, ok, err := e.looked(at)
	if !ok || err != nil {
		return false, err
	}
	return anyway || cmp.Or(cmp.Compare(from.block, until.block), cmp.Compare(from.inst, until.inst)) <= 0, nil
}
