package madeup

import "hindsight/tracefmt/event"

// Relation says which moments of a run come before which. Moments are identified by
// number.
type Relation [][]bool

// NewRelation returns the empty relation of n moments.
func NewRelation(n int) Relation {
	r := make(Relation, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	return r
}

// Close makes r transitive. r must only lead forward.
func (r Relation) Close() {
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

func (a *Moment) end() uint64 { return a.Address + uint64(a.Site.Size) }

// Conflicts reports whether two accesses of different threads have a common byte that one
// of them writes.
func (a *Moment) Conflicts(b *Moment) bool {
	return !a.IsEvent && !b.IsEvent && a.Thread != b.Thread && a.Address < b.end() && b.Address < a.end() &&
		(a.Site.Access == event.Write || b.Site.Access == event.Write)
}

// Orders returns the hard order, happens-before and schedulable happens-before.
func Orders(all []Moment) (hard, hb, shb Relation) {
	hard, hb, shb = NewRelation(len(all)), NewRelation(len(all)), NewRelation(len(all))
	for j, e := range all {
		for i := range j {
			d := all[i]
			po := d.Thread == e.Thread
			is, soft := false, false
			if d.IsEvent && e.IsEvent {
				same := d.Event.Obj == e.Event.Obj
				soft = d.Event.Kind == event.MutexUnlock && e.Event.Kind == event.MutexLock && same
				is = d.Event.Kind == event.BarrierEnter && e.Event.Kind == event.BarrierLeave && same && d.Event.Arg == e.Event.Arg ||
					d.Event.Kind == event.SemPost && e.Event.Kind == event.SemWait && same ||
					d.Event.Kind == event.Create && e.Event.Kind == event.ThreadStart && int(d.Event.Obj) == e.Thread ||
					d.Event.Kind == event.ThreadEnd && e.Event.Kind == event.Join && int(e.Event.Obj) == d.Thread
			}
			hard[i][j] = po || is
			hb[i][j] = po || is || soft
			shb[i][j] = hb[i][j]
		}
		if !e.IsEvent && e.Site.Access == event.Read {
			for b := e.Address; b < e.end(); b++ {
				for i := j - 1; i >= 0; i-- {
					if d := all[i]; !d.IsEvent && d.Site.Access == event.Write && d.Address <= b && b < d.end() {
						shb[i][j] = true
						break
					}
				}
			}
		}
	}
	hard.Close()
	hb.Close()
	shb.Close()
	return hard, hb, shb
}
