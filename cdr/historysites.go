package cdr

import (
	"fmt"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
)

// earlier returns the number of executions of the site before an epoch.
func (h *History) earlier(epoch int, site format.SiteID) (sum uint64, err error) {
	for i := range epoch {
		n, err := h.inEpoch(i, site)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// inEpoch returns the number of executions of the site in an epoch.
func (h *History) inEpoch(epoch int, site format.SiteID) (uint64, error) {
	if h.t.epochs[epoch].thread(h.thread) == nil {
		return 0, nil
	}
	if h.totals == nil {
		h.totals = make([]total, len(h.t.epochs))
	}
	if h.totals[epoch] == nil {
		v, err := h.view(epoch)
		if err != nil {
			return 0, err
		}
		h.totals[epoch] = newTotals(v.stretch)
	}
	return h.totals[epoch].of(site), nil
}

// Rank returns the number of executions of a site by the thread before block execution n,
// which is the ordinal of the next one.
func (h *History) Rank(site format.SiteID, n uint64) (uint64, error) {
	p, err := h.look(n)
	if err != nil {
		return 0, err
	}
	before, err := h.earlier(p.v.epoch, site)
	return before + p.rank(site), err
}

// rank returns the number of executions of the site in the epoch before the place.
func (p *place) rank(site format.SiteID) uint64 {
	w := p.v.siteCounts(site)
	x, _ := p.c.Terminal()
	n := w.Rank(p.c) + p.times*(w.At(p.c)/p.v.Terms[x].B)
	for _, b := range p.path[:p.at] {
		n += p.v.tab.SiteIn(&p.v.tab.Blocks[b], site)
	}
	return n
}

// split returns the epoch of an execution of a site, and its ordinal in that epoch.
func (h *History) split(site format.SiteID, ordinal uint64) (epoch int, local uint64, err error) {
	local = ordinal
	for i := range h.t.epochs {
		n, err := h.inEpoch(i, site)
		if err != nil {
			return 0, 0, err
		}
		if local < n {
			return i, local, nil
		}
		local -= n
	}
	return 0, 0, fmt.Errorf("access %d of site %d in thread %d: %w", ordinal, site, h.thread, ErrNoSuch)
}

// Execution returns the block execution that contains the ordinal-th execution of a site,
// counted from 0.
func (h *History) Execution(site format.SiteID, ordinal uint64) (uint64, error) {
	e, local, err := h.split(site, ordinal)
	if err != nil {
		return 0, err
	}
	v, err := h.view(e)
	if err != nil {
		return 0, err
	}
	p, err := h.execution(v, site, local)
	if err != nil {
		return 0, err
	}
	h.remember(p)
	return p.point(), nil
}

// execution is Execution within an epoch.
func (h *History) execution(v *historyView, site format.SiteID, local uint64) (*place, error) {
	w := v.siteCounts(site)
	c, offset, ok := w.Select(local)
	if !ok {
		return nil, fmt.Errorf("access of site %d: %w", site, ErrNoSuch)
	}
	x, _ := c.Terminal()
	each := w.At(c) / v.Terms[x].B
	p := h.place(v, c, 0)
	p.times, offset = offset/each, offset%each
	for ; p.at < len(p.path)-1; p.at++ {
		n := v.tab.SiteIn(p.block(), site)
		if offset < n {
			break
		}
		offset -= n
	}
	return &p, nil
}

// Address returns the address that an execution of a site accessed. ok is false if it was
// not recorded.
func (h *History) Address(site format.SiteID, ordinal uint64) (addr uint64, ok bool, err error) {
	e, local, err := h.split(site, ordinal)
	if err != nil {
		return 0, false, err
	}
	v, err := h.view(e)
	if err != nil {
		return 0, false, err
	}
	x, err := v.addrIndex(site)
	if x == nil || err != nil {
		return 0, false, err
	}
	c := fold.Cursor{Index: x}
	c.Seek(local)
	c.Next(local+1, func(r fold.Run) bool {
		addr, ok = r.Base, true
		return true
	})
	return addr, ok, nil
}

// SiteIndex returns the index of the ordinal-th execution of site, counted from 0, among
// the sites of block execution n, which [History.Execution] returned for it.
func (h *History) SiteIndex(n uint64, site format.SiteID, ordinal uint64) (int, error) {
	b, err := h.Block(n)
	if err != nil {
		return 0, err
	}
	before, err := h.Rank(site, n)
	if err != nil {
		return 0, err
	}
	index, again := 0, ordinal-before
	for k, s := range b.Sites {
		if s == site {
			index = k
			if again == 0 {
				break
			}
			again--
		}
	}
	return index, nil
}
