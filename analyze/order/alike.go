package order

import (
	"slices"

	"hindsight/cdr/fold"
	"hindsight/tracefmt/event"
)

// A mutex mostly protects one object, of which each of its critical sections touches
// the same memory. As long as that is so, one clock for each strand stands for those
// of all granules.

// alike is what the sections of a lock touched, each of them the same.
type alike struct {
	extents []guardedExtent
	writes  bool // some of it is written
	clocks  []sectionClock
}

// guardedExtent is an extent that touches guarded memory.
type guardedExtent struct {
	fold.Extent
	write bool
}

// same reports whether two extents are the same access to the same memory.
func (x *guardedExtent) same(y *guardedExtent) bool {
	return x.write == y.write && x.Base == y.Base && x.Len == y.Len && x.Stride == y.Stride && x.Count == y.Count &&
		len(x.Bits) == len(y.Bits) && (len(x.Bits) == 0 || &x.Bits[0] == &y.Bits[0])
}

// same reports whether the sections touched these extents.
func (a *alike) same(all []guardedExtent) bool {
	if len(a.extents) == len(all) && &a.extents[0] == &all[0] { // of one list
		return true
	}
	return slices.EqualFunc(a.extents, all, func(x, y guardedExtent) bool { return x.same(&y) })
}

// sectionClock is the clock of a strand's last release.
type sectionClock struct {
	strand event.StrandID
	clock  vector
}

// touches calls visit for what extents touch of guarded memory.
func (s *guarded) touches(all []guardedExtent, visit func(touch)) error {
	for i := range all {
		x := &all[i]
		err := eachBlock(&x.Extent, func(addr, size uint64) {
			s.within(addr, size, func(g uint64) { visit(touch{g, maskOf(g, addr, addr+size), x.write}) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// meets reports whether an extent touches guarded memory.
func (s *guarded) meets(x *fold.Extent) (some bool, err error) {
	err = eachBlock(x, func(addr, size uint64) {
		if !some {
			s.within(addr, size, func(uint64) { some = true })
		}
	})
	return some, err
}

// segment orders a strand after the sections of the locks that it holds that conflict
// with what its present segment touches, which must not be changed any more.
func (w *wcp) segment(s event.StrandID, all []guardedExtent) error {
	if len(all) == 0 {
		return nil
	}
	th := w.strand(s)
	for _, c := range th.held {
		l := c.lock
		if !l.differ && c.alike == nil && (l.alike == nil || l.alike.same(all)) {
			if l.alike == nil {
				l.alike = &alike{extents: all}
				if err := w.guarded.touches(all, func(t touch) { l.alike.writes = l.alike.writes || t.write }); err != nil {
					return err
				}
			}
			c.alike = l.alike
			for _, o := range l.alike.clocks {
				if o.strand != s && l.alike.writes {
					th.behind(o.clock)
				}
			}
			continue
		}
		w.tellApart(l)
		if err := w.guarded.touches(all, func(t touch) { w.touch(s, th, c, t) }); err != nil {
			return err
		}
	}
	return nil
}

// tellApart gives a lock cells for each granule, as its sections are not alike.
func (w *wcp) tellApart(l *wcpLock) {
	if l.differ {
		return
	}
	a := l.alike
	l.differ, l.alike, l.size = true, nil, 0
	if a == nil {
		return
	}
	for _, o := range a.clocks {
		w.ended(l, a, o.strand, o.clock)
	}
}

// ended notes in the cells of a lock that a section that touched what others did has
// ended.
func (w *wcp) ended(l *wcpLock, a *alike, s event.StrandID, release vector) {
	_ = w.guarded.touches(a.extents, func(t touch) { // which has succeeded before
		l.touch(&sectionTouch{l.cell(t.granule), t}, s, release)
	})
}

// release notes the clock of a strand's last release.
func (a *alike) release(s event.StrandID, release vector) (more int) {
	for i := range a.clocks {
		if a.clocks[i].strand == s {
			a.clocks[i].clock = release
			return 0
		}
	}
	a.clocks = append(a.clocks, sectionClock{s, release})
	return 1
}
