package recorder

import "hindsight/cdr/format"

// stream compresses the addresses of one site in one thread and epoch: Diff, RLE and
// Sequitur in one pass (PPoPP 2003, section 2.4). A run of equal differences becomes a
// symbol of the grammar when it ends. The first recorded address is stored separately.
type stream struct {
	last  uint64
	diff  int64
	count uint64 // differences in the open run; 0: no run is open
	skip  uint64 // accesses left out since the last recorded one
	first uint64
	lead  uint64 // accesses left out before the first recorded one
	begun bool
	site  format.SiteID
	b     grammar
}

// add takes an address that is not on the fast path of [threadRec.access]. It
// returns the terminals that became complete.
func (s *stream) add(addr uint64, out *[2]format.AddrTerm) (n int) {
	if !s.begun {
		s.begun, s.first, s.last = true, addr, addr
		s.lead, s.skip = s.skip, 0
		return 0
	}
	d := int64(addr - s.last)
	if s.skip == 0 && s.count > 0 && d == s.diff {
		s.count++
		s.last = addr
		return 0
	}
	n = s.flush(out)
	s.diff, s.count, s.last = d, 1, addr
	return n
}

// leaveOut counts an access that is not recorded. The next call of add therefore ends the
// open run.
func (s *stream) leaveOut() { s.skip++ }

// flush ends the open run. It returns that run, and the accesses left out since, as
// terminals.
func (s *stream) flush(out *[2]format.AddrTerm) (n int) {
	if s.count > 0 {
		out[n] = format.AddrTerm{Diff: s.diff, Count: s.count}
		s.count = 0
		n++
	}
	if s.skip > 0 {
		out[n] = format.AddrTerm{Count: s.skip, Skip: true}
		s.skip = 0
		n++
	}
	return n
}
