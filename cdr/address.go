package cdr

import (
	"hindsight/wpp"
)

// addrTerm is a terminal of an address grammar: count times the same
// difference, or count accesses that were left out.
type addrTerm struct {
	diff  int64 // to the address before; 0 when skip
	count uint64
	skip  bool
}

// addrDict numbers the terminals of one thread and epoch.
type addrDict struct {
	terms []addrTerm
	ids   map[addrTerm]wpp.Terminal
}

func (d *addrDict) id(t addrTerm) (id wpp.Terminal, isNew bool) {
	if id, ok := d.ids[t]; ok {
		return id, false
	}
	if d.ids == nil {
		d.ids = map[addrTerm]wpp.Terminal{}
	}
	id = wpp.Terminal(len(d.terms))
	d.terms = append(d.terms, t)
	d.ids[t] = id
	return id, true
}

// stream compresses the addresses of one site in one thread and epoch: Diff,
// RLE and Sequitur in one pass (PPoPP 2003, section 2.4). A symbol reaches the
// grammar when a run of equal differences ends. The first recorded address
// is alone.
type stream struct {
	last  uint64
	diff  int64
	count uint64 // differences in the open run, 0: none
	skip  uint64 // accesses left out since last
	first uint64
	lead  uint64 // accesses left out before first
	begun bool
	site  SiteID
	b     wpp.Builder
}

// add takes an address when the fast path in [threadRec.access] does not
// apply. It returns the terminals that became complete.
func (s *stream) add(addr uint64, out *[2]addrTerm) (n int) {
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

// leaveOut counts an access that is not recorded. An open run ends with it,
// in the next call of add.
func (s *stream) leaveOut() { s.skip++ }

// flush returns the open run, and the accesses left out since, as terminals.
func (s *stream) flush(out *[2]addrTerm) (n int) {
	if s.count > 0 {
		out[n] = addrTerm{diff: s.diff, count: s.count}
		s.count = 0
		n++
	}
	if s.skip > 0 {
		out[n] = addrTerm{count: s.skip, skip: true}
		s.skip = 0
		n++
	}
	return n
}
