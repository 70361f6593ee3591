package order

import "hindsight/tracefmt/event"

// shb is the clocks of schedulable happens-before.
type shb struct {
	clocks []vector // of each strand; its own component counts its writes and releases
	frozen []vector // the same, in storage that does not change; nil: made when needed
}

// lastWrite is the clock of a write.
type lastWrite struct {
	strand event.StrandID
	own    uint64
	clock  vector // without the strand's own component
}

func (s *shb) clock(strand event.StrandID) *vector {
	for len(s.clocks) <= int(strand) {
		n := event.StrandID(len(s.clocks))
		s.clocks, s.frozen = append(s.clocks, nil), append(s.frozen, nil)
		s.clocks[n].set(n, 1)
	}
	return &s.clocks[strand]
}

func (s *shb) take(strand event.StrandID, v vector) {
	own := s.clock(strand).at(strand)
	if s.clock(strand).join(v) {
		s.frozen[strand] = nil
	}
	s.clock(strand).set(strand, max(own, s.clock(strand).at(strand)))
}

// tick ends an epoch of the strand.
func (s *shb) tick(strand event.StrandID) { s.clock(strand).set(strand, s.clock(strand).at(strand)+1) }

// read orders a read after the write that it reads from.
func (s *shb) read(strand event.StrandID, w *lastWrite) {
	c := s.clock(strand)
	if w.strand == strand || w.own <= c.at(w.strand) {
		return
	}
	s.take(strand, w.clock)
	s.clock(strand).set(w.strand, max(w.own, s.clock(strand).at(w.strand)))
	s.frozen[strand] = nil
}

// write returns the clock of a write by the strand.
func (s *shb) write(strand event.StrandID) lastWrite {
	c := s.clock(strand)
	if s.frozen[strand] == nil {
		s.frozen[strand] = c.clone()
		s.frozen[strand][strand] = 0
	}
	return lastWrite{strand: strand, own: c.at(strand), clock: s.frozen[strand]}
}
