package order

// shb is the clocks of schedulable happens-before.
type shb struct {
	clocks []vector // of each strand; its own component counts its writes and releases
	frozen []vector // the same, in storage that does not change; nil: made when needed
}

// lastWrite is the clock of a write.
type lastWrite struct {
	strand int
	own    uint64
	clock  vector // without the strand's own component
}

func (s *shb) clock(strand int) *vector {
	for len(s.clocks) <= strand {
		n := len(s.clocks)
		s.clocks, s.frozen = append(s.clocks, nil), append(s.frozen, nil)
		s.clocks[n].set(n, 1)
	}
	return &s.clocks[strand]
}

func (s *shb) take(strand int, v vector) {
	own := s.clock(strand).at(strand)
	if s.clock(strand).join(v) {
		s.frozen[strand] = nil
	}
	s.clock(strand).set(strand, max(own, s.clock(strand).at(strand)))
}

// tick ends an epoch of the strand.
func (s *shb) tick(strand int) { s.clock(strand).set(strand, s.clock(strand).at(strand)+1) }

// read orders a read behind the write that it reads from.
func (s *shb) read(strand int, w *lastWrite) {
	c := s.clock(strand)
	if w.strand == strand || w.own <= c.at(w.strand) {
		return
	}
	s.take(strand, w.clock)
	s.clock(strand).set(w.strand, max(w.own, s.clock(strand).at(w.strand)))
	s.frozen[strand] = nil
}

// write gives the clock of a write by the strand.
func (s *shb) write(strand int) lastWrite {
	c := s.clock(strand)
	if s.frozen[strand] == nil {
		s.frozen[strand] = c.clone()
		s.frozen[strand][strand] = 0
	}
	return lastWrite{strand: strand, own: c.at(strand), clock: s.frozen[strand]}
}
