package race

import (
	"cmp"
	"slices"

	"hindsight/tracefmt/event"
)

// While pairs are counted, of their first and last instances no more is known
// than the two units, and where in memory they meet. The executions are looked
// up afterwards (resolve.go).

// meetingKey is two units, by their places in the order of units.
type meetingKey struct{ later, earlier uint64 }

func (k meetingKey) compare(l meetingKey) int {
	return cmp.Or(cmp.Compare(k.later, l.later), cmp.Compare(k.earlier, l.earlier))
}

// meeting is two units, and where executions of theirs race.
type meeting struct {
	meetingKey
	laterThread, earlierThread event.ThreadID
	spots                      []spot
	limit                      int // length at which equal spots are looked for
}

// spot is granules on which an execution of one access of the later unit races
// with one of the earlier one; it is the first that they have in common.
type spot struct {
	page           uint64
	set            granules
	later, earlier spotSide
	common         uint8 // bytes
}

// spotSide says which execution: the one of the access whose first byte is
// offset after the start of the granule.
type spotSide struct {
	access uint32
	offset int8
}

// manySpots is how many spots a meeting has at least before equal ones are
// looked for.
const manySpots = 1 << 10

// offer notes where units meet; they replace the present ones if they differ.
func (m *meeting) offer(k meetingKey, later, earlier event.ThreadID, at spot) {
	if m.meetingKey != k {
		m.meetingKey, m.laterThread, m.earlierThread = k, later, earlier
		m.spots, m.limit = m.spots[:0], manySpots
	}
	if n := len(m.spots); n > 0 && m.spots[n-1].like(&at) {
		m.spots[n-1].set = m.spots[n-1].set.or(at.set)
		return
	}
	if m.spots = append(m.spots, at); len(m.spots) > m.limit {
		m.spots = joinSpots(m.spots)
		m.limit = max(2*len(m.spots), manySpots)
	}
}

func (s *spot) like(t *spot) bool {
	return s.page == t.page && s.later == t.later && s.earlier == t.earlier && s.common == t.common
}

// joinSpots writes the same as fewer spots.
func joinSpots(all []spot) []spot {
	slices.SortFunc(all, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.page, b.page), a.later.compare(b.later), a.earlier.compare(b.earlier), cmp.Compare(a.common, b.common))
	})
	kept := all[:0]
	for i := range all {
		if n := len(kept); n > 0 && kept[n-1].like(&all[i]) {
			kept[n-1].set = kept[n-1].set.or(all[i].set)
			continue
		}
		kept = append(kept, all[i])
	}
	return kept
}

func (s spotSide) compare(t spotSide) int {
	return cmp.Or(cmp.Compare(s.access, t.access), cmp.Compare(s.offset, t.offset))
}

// merge adds the spots of another worker, if it found the same or better units.
func (m *meeting) merge(n *meeting, sign int) {
	c := m.compare(n.meetingKey) * sign
	switch {
	case c == 0:
		m.spots = append(m.spots, n.spots...)
	case c > 0:
		*m = *n
	}
}
