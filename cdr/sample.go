package cdr

import (
	"fmt"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// Unit says what the period of a sampling counts.
type Unit uint8

const (
	Instructions Unit = iota // of recorded blocks
	Accesses                 // plain ones, recorded or not
)

// Sample calls visit with the call stack at every period-th instruction or access of a
// thread, in the form of [Trace.AccessStack], and with the number of units that the
// sample stands for. These numbers add up to all that the thread executed. The innermost
// address of a stack is the first instruction of a basic block, or the access. The slice
// is valid until visit returns.
func (t *Trace) Sample(th event.ThreadID, unit Unit, period uint64, visit func(pcs []uint64, n uint64) error) error {
	if err := t.hasControl(th); err != nil {
		return err
	}
	if period == 0 {
		return fmt.Errorf("a period of 0: %w", ErrNoSuch)
	}
	of := instsOf
	if unit == Accesses {
		of = accessesOf
	}
	for i := range t.epochs {
		s, err := t.stretch(i, th)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		w, err := wpp.NewWeights(s.Grammar, s.termWeight(of))
		if err != nil {
			return err
		}
		c := s.Grammar.Begin()
		for at := uint64(0); at < w.Total(); at += period {
			n := min(period, w.Total()-at)
			offset, _ := w.Seek(c, at+n/2)
			pcs, err := s.stackWithin(t, c, offset, of, unit)
			if err != nil {
				return err
			}
			if err := visit(pcs, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// stackWithin returns the call stack at a unit of the terminal at the cursor.
func (s *stretch) stackWithin(t *Trace, c *wpp.Cursor, offset uint64, of func(*format.TableBlock) uint64, unit Unit) ([]uint64, error) {
	x, _ := c.Terminal()
	path := s.tab.PathBlocks(format.PathID(s.Terms[x].A))
	once := uint64(0)
	for _, id := range path {
		once += of(&s.tab.Blocks[id])
	}
	frames, err := s.frames(c, offset/once)
	if err != nil {
		return nil, err
	}
	offset %= once
	pc := uint64(0)
	for _, id := range path {
		b := &s.tab.Blocks[id]
		if n := of(b); offset >= n {
			offset -= n
			continue
		}
		pc = b.PC
		if unit == Accesses {
			pc = t.Site(s.tab.BlockSites(b)[offset]).PC
		}
		break
	}
	return append([]uint64{pc}, frames...), nil
}
