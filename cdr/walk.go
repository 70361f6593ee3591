package cdr

import (
	"fmt"
	"iter"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Blocks returns the pc of each block that a thread executed, in order. It walks the
// whole string, so it is for tests, exports and checks, not for analyses.
func (t *Trace) Blocks(th event.ThreadID) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		if err := t.hasControl(th); err != nil {
			yield(0, err)
			return
		}
		for i := range t.epochs {
			s, err := t.stretch(i, th)
			if err != nil {
				yield(0, err)
				return
			}
			if s != nil && !s.walkBlocks(yield) {
				return
			}
		}
	}
}

func (s *stretch) walkBlocks(yield func(uint64, error) bool) bool {
	for c := s.Grammar.Begin(); !c.AtEnd(); c.Next() {
		x, _ := c.Terminal()
		t := s.Terms[x]
		if t.Kind != format.TermPath {
			continue
		}
		path := s.tab.PathBlocks(format.PathID(t.A))
		for range t.B {
			for _, b := range path {
				if !yield(s.tab.Blocks[b].PC, nil) {
					return false
				}
			}
		}
	}
	return true
}

// BlocksFrom is Blocks from the thread's nth block on. It skips the preceding blocks
// epoch by epoch and, if control flow is recorded as ControlAPP, from checkpoint to
// checkpoint without building a grammar.
func (t *Trace) BlocksFrom(th event.ThreadID, n uint64) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		if err := t.hasControl(th); err != nil {
			yield(0, err)
			return
		}
		for i := range t.epochs {
			c := t.epochs[i].thread(th)
			if c == nil {
				continue
			}
			if n >= c.Blocks {
				n -= c.Blocks
				continue
			}
			skip := func(pc uint64, err error) bool {
				if n > 0 && err == nil {
					n--
					return true
				}
				return yield(pc, err) && err == nil
			}
			if t.meta.Control == format.ControlAPP {
				if !t.playBlocks(i, c, n, func(passed uint64) { n -= passed }, skip) {
					return
				}
				continue
			}
			s, err := t.stretch(i, th)
			if err != nil {
				yield(0, err)
				return
			}
			if !s.walkBlocks(skip) {
				return
			}
		}
	}
}

// Accesses returns the recorded addresses of a site in a thread, in order. It
// walks the whole string, like Blocks.
func (t *Trace) Accesses(th event.ThreadID, site format.SiteID) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		if err := t.hasControl(th); err != nil {
			yield(0, err)
			return
		}
		if int(site) >= t.NumSites() {
			yield(0, fmt.Errorf("site %d: %w", site, ErrNoSuch))
			return
		}
		for i := range t.epochs {
			s, err := t.stretch(i, th)
			if err != nil {
				yield(0, err)
				return
			}
			if s == nil {
				continue
			}
			x, err := s.addrIndex(site)
			if err != nil {
				yield(0, err)
				return
			}
			if x == nil {
				continue
			}
			c := &fold.Cursor{Index: x}
			c.Seek(0)
			if !c.Next(x.Total(), func(r fold.Run) bool {
				for k := range r.Count {
					if !yield(r.Base+k*uint64(r.Stride), nil) {
						return false
					}
				}
				return true
			}) {
				return
			}
		}
	}
}
