package arch

import (
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// hart is a hart's cache and predictor.
type hart struct {
	id      event.ThreadID
	sets    []set
	pred    predictor
	streams [NumStreams]bitBuffer
	counts  archinfo.HartCounts

	branch pendingBranch
}

// set is a set of a cache: its lines, the most recently used first.
type set []way

type way struct {
	number uint64 // of the line: address / bytes per line
	c      *copyOf
}

// find returns the hart's copy of a line and makes it the most recently used one. It
// returns nil if the cache does not hold it.
func (s set) find(number uint64) *copyOf {
	for i := range s {
		if s[i].number != number {
			continue
		}
		w := s[i]
		copy(s[1:i+1], s[:i])
		s[0] = w
		return w.c
	}
	return nil
}

// put inserts a copy as the most recently used one. It returns the copy that this evicts
// from a full set, or nil.
func (s *set) put(number uint64, c *copyOf, ways int) (victim *copyOf) {
	if len(*s) == ways {
		victim = (*s)[ways-1].c
	} else {
		*s = append(*s, way{})
	}
	copy((*s)[1:], *s)
	(*s)[0] = way{number, c}
	return victim
}

// drop removes a line, which frees its way.
func (s *set) drop(number uint64) {
	for i, w := range *s {
		if w.number == number {
			*s = append((*s)[:i], (*s)[i+1:]...)
			return
		}
	}
}
