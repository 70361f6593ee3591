package cdr

import (
	"fmt"

	"hindsight/wpp"
)

// accessWeights returns the accesses of the epoch, counted by block.
func (v *historyView) accessWeights() (*wpp.Weights, error) {
	if v.accesses == nil {
		w, err := wpp.NewWeights(v.Grammar, v.termWeight(accessesOf))
		if err != nil {
			return nil, err
		}
		v.accesses = w
	}
	return v.accesses, nil
}

// accessesIn returns the number of accesses by the thread in an epoch.
func (h *History) accessesIn(epoch int) uint64 {
	if c := h.t.epochs[epoch].thread(h.thread); c != nil {
		return c.Accesses
	}
	return 0
}

// Accesses returns the number of accesses by the thread before block execution n,
// recorded or not; n may be Blocks.
func (h *History) Accesses(n uint64) (sum uint64, err error) {
	if n == h.Blocks() {
		for e := range h.t.epochs {
			sum += h.accessesIn(e)
		}
		return sum, nil
	}
	p, err := h.look(n)
	if err != nil {
		return 0, err
	}
	w, err := p.v.accessWeights()
	if err != nil {
		return 0, err
	}
	for e := range p.v.epoch {
		sum += h.accessesIn(e)
	}
	x, _ := p.c.Terminal()
	sum += w.Rank(p.c) + p.times*(w.At(p.c)/p.v.Terms[x].B)
	for _, b := range p.path[:p.at] {
		sum += uint64(p.v.tab.Blocks[b].SiteCount)
	}
	return sum, nil
}

// AccessPoint returns the block execution that contains an access of the thread, and the
// index of the access among the sites of that block. Accesses are counted from 0,
// recorded or not.
func (h *History) AccessPoint(access uint64) (n uint64, index int, err error) {
	left := access
	for e := range h.t.epochs {
		if in := h.accessesIn(e); left >= in {
			left -= in
			continue
		}
		v, err := h.view(e)
		if err != nil {
			return 0, 0, err
		}
		w, err := v.accessWeights()
		if err != nil {
			return 0, 0, err
		}
		c, offset, _ := w.Select(left)
		x, _ := c.Terminal()
		each := w.At(c) / v.Terms[x].B
		p := h.place(v, c, 0)
		p.times, offset = offset/each, offset%each
		for offset >= uint64(p.block().SiteCount) {
			offset -= uint64(p.block().SiteCount)
			p.at++
		}
		return p.point(), int(offset), nil
	}
	return 0, 0, fmt.Errorf("access %d of thread %d: %w", access, h.thread, ErrNoSuch)
}
