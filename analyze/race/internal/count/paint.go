package count

import (
	"math"

	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/replay"
)

// A unit's executions of an access are first painted on the pages: what is accessed how
// often. Only then are they compared with earlier accesses, so that all equal parts of a
// page are compared once.

// pending is a set of granules that the current unit accesses, each as many times.
type pending struct {
	manner uint32 // index of shard.manners
	set    Granules
	times  uint64
}

// paint adds accesses to the granules of a set.
func (p *page) paint(manner uint32, set Granules, times uint64) {
	for i := 0; i < len(p.pending); i++ {
		e := &p.pending[i]
		if e.manner != manner {
			continue
		}
		both := e.set.and(set)
		switch {
		case both.empty():
			if e.times == times && i == len(p.pending)-1 {
				e.set = e.set.Or(set)
				return
			}
			continue
		case both == e.set:
			e.times = AddSat(e.times, times)
		default:
			e.set = e.set.without(both)
			p.pending = append(p.pending, pending{manner, both, AddSat(e.times, times)})
		}
		set = set.without(both)
		if set.empty() {
			return
		}
	}
	for i := range p.pending {
		if e := &p.pending[i]; e.manner == manner && e.times == times {
			e.set = e.set.Or(set)
			return
		}
	}
	p.pending = append(p.pending, pending{manner, set, times})
}

// manner finds a manner of the present access, or adds it.
func (s *Shard) manner(m manner) uint32 {
	for i := range s.manners {
		if s.manners[i] == m {
			return uint32(i)
		}
	}
	s.manners = append(s.manners, m)
	return uint32(len(s.manners) - 1)
}

// paintRun processes a run of plain accesses of the current unit: it.Number at each of
// it.Count addresses. Addresses that are equal modulo 8 touch their granules in the same
// manner, so there are at most eight manners.
func (s *Shard) paintRun(it *pass.Item) {
	a := &s.Accesses[it.Access]
	period := uint64(1)
	for it.Stride*period&7 != 0 {
		period++
	}
	if span := it.Stride * (it.Count - 1); it.Base+span < it.Base || it.Base+span > math.MaxUint64-16 {
		period = it.Count // around the end of the address space
	}
	for k := range min(period, it.Count) {
		addr := it.Base + k*it.Stride
		lo := addr & 7
		wide := uint16(1<<a.Size-1) << lo
		walk := progress{at: addr >> 3, step: it.Stride * period >> 3, n: (it.Count-k-1)/period + 1, times: it.Number}
		m := manner{access: it.Access, offset: int8(lo), mask: uint8(wide), op: a.Op}
		s.paintManner(m, walk)
		if over := uint8(wide >> 8); over != 0 {
			walk.at++
			s.paintManner(manner{access: it.Access, offset: int8(lo) - 8, mask: over, prev: m.mask, op: a.Op}, walk)
		}
	}
}

// progress is n granules, step apart.
type progress struct{ at, step, n, times uint64 }

func (w *progress) skip(k uint64) {
	k = min(k, w.n)
	w.at += k * w.step
	w.n -= k
}

// paintManner paints a progression of granules that are accessed in the same manner.
func (s *Shard) paintManner(m manner, w progress) {
	const shift = PageBits - 3
	if s.Accesses[m.access].Atomic == replay.IsAtomic {
		m.atomic, m.prevAtomic = m.mask, m.prev
	}
	index := s.manner(m)
	for w.n > 0 {
		p := s.page(w.at >> shift)
		if p == nil {
			next, ok := s.nextPage(w.at >> shift)
			if !ok || w.step == 0 {
				return
			}
			w.skip((next<<shift - w.at + w.step - 1) / w.step)
			continue
		}
		from := w.at & (PerPage - 1)
		n := uint64(1)
		if w.step > 0 && w.step < PerPage {
			n = min(w.n, (PerPage-1-from)/w.step+1)
		}
		set := progression(from, w.step, n).and(p.looks)
		w.skip(n)
		if set.empty() {
			continue
		}
		if len(p.pending) == 0 {
			s.dirty = append(s.dirty, p)
		}
		var special Granules
		if s.Accesses[m.access].Atomic == replay.MaybeAtomic {
			special = set.and(p.atomic)
			if m.prev != 0 {
				special = set.and(p.atomic.Or(p.after))
			}
		}
		if m.prev == 0 {
			s.Stats.Accesses += set.count() * w.times
		}
		if special.empty() {
			p.paint(index, set, w.times)
			continue
		}
		set = set.without(special)
		if !set.empty() {
			p.paint(index, set, w.times)
		}
		s.paintSpecial(m, p, special, w.times)
	}
}

// paintSpecial paints granules of which some bytes, or some bytes of the previous
// granule, are atomic variables.
func (s *Shard) paintSpecial(m manner, p *page, set Granules, times uint64) {
	for !set.empty() {
		i := set.first()
		set = set.without(Singleton(i))
		g := p.number<<(PageBits-3) + i
		one := m
		s.variables(&one, g)
		p.paint(s.manner(one), Singleton(i), times)
	}
}

// variables records which of the bytes that a manner touches, in granule g and in the
// previous one, are atomic variables for the current unit.
func (s *Shard) variables(m *manner, g uint64) {
	m.atomic = m.mask & s.Atomic.Of(g, s.unit.Start, s.unit.End)
	if m.prev != 0 {
		m.prevAtomic = m.prev & s.Atomic.Of(g-1, s.unit.Start, s.unit.End)
	}
}

// settle compares what was painted with earlier accesses.
func (s *Shard) settle() {
	for _, p := range s.dirty {
		s.tidyUsed(p)
		for i := range p.pending {
			e := &p.pending[i]
			s.touch(p, e.set, s.manners[e.manner], e.times)
		}
		p.pending = p.pending[:0]
		if cap(p.pending) > PerPage {
			p.pending = nil
		}
	}
	s.dirty, s.manners = s.dirty[:0], s.manners[:0]
	s.trim()
}
