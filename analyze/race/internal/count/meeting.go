package count

import (
	"cmp"
	"math/bits"
	"slices"

	"hindsight/tracefmt/event"
)

// While pairs are counted, only the two units of their first and last instances, and
// where in memory they meet, are known. The executions are looked up afterwards (package
// resolve).

// meetingKey is two units, by their positions in the order of units.
type meetingKey struct{ Later, Earlier uint64 }

func (k meetingKey) compare(l meetingKey) int {
	return cmp.Or(cmp.Compare(k.Later, l.Later), cmp.Compare(k.Earlier, l.Earlier))
}

// Meeting is two units, and where executions of theirs race.
type Meeting struct {
	meetingKey
	LaterThread, EarlierThread event.ThreadID
	Spots                      []Spot
	limit                      int // length at which equal spots are searched for
}

// Spot is a set of granules on which an execution of one access of the later unit races
// with one of the earlier unit. The granule is the first one that the executions have in
// common.
type Spot struct {
	Page           uint64
	Set            Granules
	Later, Earlier SpotSide
	common         uint8 // bytes
}

// SpotSide identifies the execution: the one whose first byte is offset after the start
// of the granule.
type SpotSide struct {
	Access uint32
	Offset int8
}

// manySpots is the smallest number of spots in a meeting at which equal ones are searched
// for.
const manySpots = 1 << 10

// offer adds where units meet. If the units are better than the current ones, they
// replace these.
func (m *Meeting) offer(k meetingKey, later, earlier event.ThreadID, at Spot) {
	if m.meetingKey != k {
		m.meetingKey, m.LaterThread, m.EarlierThread = k, later, earlier
		m.Spots, m.limit = m.Spots[:0], manySpots
	}
	if n := len(m.Spots); n > 0 && m.Spots[n-1].like(&at) {
		m.Spots[n-1].Set = m.Spots[n-1].Set.Or(at.Set)
		return
	}
	if m.Spots = append(m.Spots, at); len(m.Spots) > m.limit {
		m.Spots = JoinSpots(m.Spots)
		m.limit = max(2*len(m.Spots), manySpots)
	}
}

func (s *Spot) like(t *Spot) bool {
	return s.Page == t.Page && s.Later == t.Later && s.Earlier == t.Earlier && s.common == t.common
}

// JoinSpots merges equal spots.
func JoinSpots(all []Spot) []Spot {
	slices.SortFunc(all, func(a, b Spot) int {
		return cmp.Or(cmp.Compare(a.Page, b.Page), a.Later.compare(b.Later), a.Earlier.compare(b.Earlier), cmp.Compare(a.common, b.common))
	})
	kept := all[:0]
	for i := range all {
		if n := len(kept); n > 0 && kept[n-1].like(&all[i]) {
			kept[n-1].Set = kept[n-1].Set.Or(all[i].Set)
			continue
		}
		kept = append(kept, all[i])
	}
	return kept
}

func (s SpotSide) compare(t SpotSide) int {
	return cmp.Or(cmp.Compare(s.Access, t.Access), cmp.Compare(s.Offset, t.Offset))
}

// merge adds the spots of another worker, if it found the same or better units.
func (m *Meeting) merge(n *Meeting, sign int) {
	c := m.compare(n.meetingKey) * sign
	switch {
	case c == 0:
		m.Spots = append(m.Spots, n.Spots...)
	case c > 0:
		*m = *n
	}
}

// At returns the first common byte of the spot's first granule.
func (s *Spot) At() uint64 {
	return (s.Page*PerPage+s.Set.first())<<3 + uint64(bits.TrailingZeros8(s.common))
}
