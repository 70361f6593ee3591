package cdr

import (
	"fmt"
	"maps"
	"slices"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// Verify reads the whole trace: all checksums, grammars and events. It compares the
// counts that are stored more than once. It returns the first error.
func (t *Trace) Verify() error {
	for _, h := range t.r.Blocks() {
		if _, err := t.r.Read(h); err != nil {
			return err
		}
	}
	if _, err := t.Image(); err != nil {
		return err
	}
	if _, err := t.Objects(); err != nil {
		return err
	}
	for i := range t.epochs {
		for _, c := range t.epochs[i].threads {
			if err := t.verifyStretch(i, c.Thread); err != nil {
				return fmt.Errorf("epoch %d, thread %d: %w", i, c.Thread, err)
			}
		}
	}
	if err := t.verifyEvents(); err != nil {
		return err
	}
	if t.meta.Complete {
		if o := t.meta.Outcome; o == nil {
			return fmt.Errorf("no outcome in a closed trace: %w", tracefmt.ErrMalformed)
		}
	}
	return nil
}

// verifyStretch loads a stretch, which checks the control string against the
// commit block, and compares control and data.
func (t *Trace) verifyStretch(i int, th event.ThreadID) error {
	s, err := t.stretch(i, th)
	if err != nil || s.data == nil {
		return err
	}
	executed := map[format.SiteID]uint64{}
	c := newTotals(s)
	for _, v := range c {
		executed[v.site] = v.count
	}
	recorded := uint64(0)
	for k := range s.data.Streams {
		site := s.data.Streams[k].Site
		x, err := fold.NewIndex(&s.data.Streams[k], s.data.Terms)
		if err != nil {
			return err
		}
		if x.Total() > executed[site] {
			return fmt.Errorf("site %d: %d addresses for %d executions: %w", site, x.Total(), executed[site], tracefmt.ErrMalformed)
		}
		recorded += x.Total() - x.Lead - x.Skipped()
	}
	if want := t.epochs[i].thread(th).Recorded; recorded != want {
		return fmt.Errorf("%d accesses, the commit block says %d: %w", recorded, want, tracefmt.ErrMalformed)
	}
	return nil
}

// verifyEvents compares S_synch with the control strings: the m-th event of a
// thread is the m-th sync terminal in its string.
func (t *Trace) verifyEvents() error {
	for _, err := range t.Events() {
		if err != nil {
			return err
		}
	}
	for _, err := range t.Schedule() {
		if err != nil {
			return err
		}
	}
	for i := range t.epochs {
		h, ok := t.blocks[blockKey{tracefmt.KindSync, uint32(i), 0}]
		if !ok {
			continue // impossible: Events has checked it
		}
		terms := map[event.ThreadID][]format.Term{}
		if err := t.read(h, func(b []byte) error {
			c, err := format.ReplaySync(b, t.epochs[i].threads)
			for err == nil {
				var th event.ThreadID
				var e event.Event
				var ok bool
				th, e, ok, err = c.Next()
				if !ok {
					break
				}
				terms[th] = append(terms[th], format.SyncTerm(e.PC, e.Kind, e.Mode&event.Returns != 0))
			}
			return err
		}); err != nil {
			return err
		}
		for _, th := range slices.Sorted(maps.Keys(terms)) {
			if err := t.verifySync(i, th, terms[th]); err != nil {
				return fmt.Errorf("epoch %d, thread %d: %w", i, th, err)
			}
		}
	}
	return nil
}

// verifySync compares the events of a thread in an epoch. Both sides have the same number
// of them.
func (t *Trace) verifySync(i int, th event.ThreadID, terms []format.Term) error {
	s, err := t.stretch(i, th)
	if err != nil {
		return err
	}
	c := s.Grammar.Begin()
	for k := 0; k < len(terms) && s.events.SkipTo(c); k++ {
		if x, _ := c.Terminal(); s.Terms[x] != terms[k] {
			return fmt.Errorf("event %d differs from the one in the control string: %w", k, tracefmt.ErrMalformed)
		}
		c.Next()
	}
	return nil
}
