package cdr

import (
	"fmt"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// maxFrames limits the stacks that are returned. Outer frames are left out.
const maxFrames = 1 << 12

// AccessStack returns the call stack at an access: the pc of the access, then up to
// maxFrames return addresses, innermost first. The ordinal counts the thread's accesses
// by this site from 0, recorded or not.
func (t *Trace) AccessStack(th event.ThreadID, site format.SiteID, ordinal uint64) ([]uint64, error) {
	s, c, offset, err := t.access(th, site, ordinal)
	if err != nil {
		return nil, err
	}
	term, _ := c.Terminal()
	each := s.siteCounts(site)
	times := offset / (each.At(c) / s.Terms[term].B)
	frames, err := s.frames(c, times)
	if err != nil {
		return nil, err
	}
	return append([]uint64{t.Site(site).PC}, frames...), nil
}

// EventStack returns the call stack at a thread's ordered event, in the form of
// AccessStack. For the event of a hooked function, the stack begins at the call in its
// caller.
func (t *Trace) EventStack(th event.ThreadID, index uint64) ([]uint64, error) {
	s, _, c, err := t.eventAt(th, index)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("event %d of thread %d: %w", index, th, ErrNoSuch)
	}
	frames, err := s.frames(c, 0)
	if err != nil {
		return nil, err
	}
	term, _ := c.Terminal()
	x := s.Terms[term]
	if kind := event.Kind(x.B >> 1); kind.Info().Class != event.ClassAtomic && len(frames) > 0 && (frames[0] == x.A+4 || frames[0] == x.A+2) {
		frames = frames[1:] // the frame of the hooked function itself
	}
	return append([]uint64{x.A}, frames...), nil
}

// eventAt finds a thread's ordered event with that index. It returns the stretch that
// contains the event, its epoch, and a cursor at the event. The stretch is nil after the
// last event.
func (t *Trace) eventAt(th event.ThreadID, index uint64) (s *stretch, epoch int, at *wpp.Cursor, err error) {
	if err := t.hasControl(th); err != nil {
		return nil, 0, nil, err
	}
	left := index
	for i := range t.epochs {
		n := t.epochs[i].thread(th)
		if n == nil {
			continue
		}
		if left >= n.Events {
			left -= n.Events
			continue
		}
		s, err := t.stretch(i, th)
		if err != nil {
			return nil, 0, nil, err
		}
		c, _, ok := s.events.Select(left)
		if !ok {
			break
		}
		return s, i, c, nil
	}
	return nil, 0, nil, nil
}

// Locate returns the index of the segment of the thread that contains an access.
func (t *Trace) Locate(th event.ThreadID, site format.SiteID, ordinal uint64) (uint64, error) {
	s, c, _, err := t.access(th, site, ordinal)
	if err != nil {
		return 0, err
	}
	segment := s.events.Rank(c)
	for i := range t.epochs[:s.epoch] {
		if n := t.epochs[i].thread(th); n != nil {
			segment += n.Events
		}
	}
	return segment, nil
}

// access finds the terminal of an access, and the position of the access among the site's
// accesses in that terminal.
func (t *Trace) access(th event.ThreadID, site format.SiteID, ordinal uint64) (*stretch, *wpp.Cursor, uint64, error) {
	if err := t.hasControl(th); err != nil {
		return nil, nil, 0, err
	}
	left := ordinal
	for i := range t.epochs {
		if t.epochs[i].thread(th) == nil {
			continue
		}
		if n, ok := t.totals[siteKey{i, th, site}]; ok && left >= n {
			left -= n
			continue
		}
		s, err := t.stretch(i, th)
		if err != nil {
			return nil, nil, 0, err
		}
		n := t.count(s, site)
		if left >= n {
			left -= n
			continue
		}
		c, offset, _ := s.siteCounts(site).Select(left)
		return s, c, offset, nil
	}
	return nil, nil, 0, fmt.Errorf("access %d of site %d in thread %d: %w", ordinal, site, th, ErrNoSuch)
}

// effect returns what a terminal does to the call stack. A run of paths that end with the
// same call pushes the same frame repeatedly.
func (s *stretch) effect(x wpp.Terminal) wpp.Effect {
	t := s.Terms[x]
	switch t.Kind {
	case format.TermPath:
		path := s.tab.PathBlocks(format.PathID(t.A))
		switch s.tab.Blocks[path[len(path)-1]].End {
		case event.EndCall, event.EndCallInd:
			return wpp.Effect{Pushes: t.B}
		case event.EndReturn:
			return wpp.Effect{Pops: t.B}
		}
	case format.TermSync:
		return wpp.Effect{Pops: t.B & 1}
	case format.TermPop:
		return wpp.Effect{Pops: t.A}
	case format.TermPush:
		return wpp.Effect{Pushes: 1}
	}
	return wpp.Effect{}
}

// frame returns the frame that a terminal pushes.
func (s *stretch) frame(x wpp.Terminal) uint64 {
	t := s.Terms[x]
	if t.Kind == format.TermPush {
		return t.A
	}
	path := s.tab.PathBlocks(format.PathID(t.A))
	return s.tab.Blocks[path[len(path)-1]].Next()
}

// frames returns the return addresses, innermost first, at a terminal whose path has
// already run the given number of times.
func (s *stretch) frames(c *wpp.Cursor, times uint64) ([]uint64, error) {
	if s.stacks == nil {
		st, err := wpp.NewStacks(s.Grammar, s.effect)
		if err != nil {
			return nil, err
		}
		s.stacks = st
	}
	var frames []uint64
	pops := uint64(0)
	if x, ok := c.Terminal(); ok && times > 0 && s.Terms[x].Kind == format.TermPath {
		switch e := s.effect(x); {
		case e.Pushes > 0:
			for range min(times, maxFrames) {
				frames = append(frames, s.frame(x))
			}
		case e.Pops > 0:
			pops = times
		}
	}
	before := s.stacks.Before(c)
	if pops < before.Pushes {
		skip := pops
		for at := range s.stacks.Enclosing(c) {
			if skip > 0 {
				skip--
				continue
			}
			if len(frames) >= maxFrames {
				return frames, nil
			}
			x, _ := at.Terminal()
			frames = append(frames, s.frame(x))
		}
		pops = 0
	} else {
		pops -= before.Pushes
	}
	gone := min(before.Pops+pops, uint64(len(s.Base)))
	for i := len(s.Base) - int(gone) - 1; i >= 0 && len(frames) < maxFrames; i-- {
		frames = append(frames, s.Base[i])
	}
	return frames, nil
}
