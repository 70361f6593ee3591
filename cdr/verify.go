package cdr

import (
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// Verify reads everything in the trace: all checksums, all grammars, all
// events, and compares the counts that are stored more than once. It gives
// the first thing that is wrong.
func (t *Trace) Verify() error {
	for _, h := range t.r.Blocks() {
		if _, err := t.r.Read(h); err != nil {
			return err
		}
	}
	if _, err := t.Image(); err != nil {
		return err
	}
	for i := range t.epochs {
		for _, c := range t.epochs[i].threads {
			if err := t.verifyStretch(i, c.thread); err != nil {
				return fmt.Errorf("epoch %d, thread %d: %w", i, c.thread, err)
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
	executed := map[SiteID]uint64{}
	c := newTotals(s)
	for _, v := range c {
		executed[v.site] = v.count
	}
	recorded := uint64(0)
	for k := range s.data.streams {
		site := s.data.streams[k].site
		x, err := newAddrIndex(&s.data.streams[k], s.data.terms)
		if err != nil {
			return err
		}
		if x.total() > executed[site] {
			return fmt.Errorf("site %d: %d addresses for %d executions: %w", site, x.total(), executed[site], tracefmt.ErrMalformed)
		}
		recorded += x.total() - x.lead - x.skipped()
	}
	if want := t.epochs[i].thread(th).recorded; recorded != want {
		return fmt.Errorf("%d accesses, the commit block says %d: %w", recorded, want, tracefmt.ErrMalformed)
	}
	return nil
}

// verifyEvents compares S_synch with the sync terminals of the threads.
func (t *Trace) verifyEvents() error {
	counts := make([]uint64, len(t.threads))
	for e, err := range t.Events() {
		if err != nil {
			return err
		}
		counts[e.Thread]++
	}
	for i, th := range t.threads {
		if counts[i] != th.Events {
			return fmt.Errorf("thread %d: %d events in S_synch, %d in its string: %w", i, counts[i], th.Events, tracefmt.ErrMalformed)
		}
	}
	return nil
}
