package arch

import (
	"cmp"
	"slices"

	"hindsight/tracefmt/archinfo"
)

// count counts a reference to a line.
func count(k *archinfo.HartCounts, r *reference, hit bool) {
	if r.write {
		k.Stores++
		if !hit {
			k.StoreMisses++
		}
		return
	}
	k.Loads++
	if !hit {
		k.LoadMisses++
	}
}

// maxSites bounds the number of sites per line in a summary.
const maxSites = 16

// Result returns the results so far, with at most maxLines lines: those that were ever
// invalidated, the most expensive first. Before Finish, there may be misses that are not
// yet known to be true or false sharing; these are counted as neither.
func (m *Model) Result(maxLines int) *archinfo.Summary {
	c := &m.cfg
	r := &archinfo.Summary{
		Config: archinfo.Config{
			Size: uint64(c.Size), Ways: uint64(c.Ways), Line: uint64(c.Line),
			Table: uint64(c.Table), HistoryBits: uint64(c.HistoryBits), Granule: 1 << m.granuleBits,
		},
		Touched: uint64(len(m.lines)), SharedLines: m.sharedLines,
	}
	for _, h := range m.harts {
		if h == nil {
			h = &hart{}
		}
		r.Harts = append(r.Harts, h.counts)
	}
	var hot []*line
	for _, l := range m.lines {
		if l.shared != nil && l.shared.counts.Invalidations > 0 {
			hot = append(hot, l)
		}
	}
	slices.SortFunc(hot, func(a, b *line) int {
		x, y := &a.shared.counts, &b.shared.counts
		return cmp.Or(cmp.Compare(y.Coherence+y.Upgrades, x.Coherence+x.Upgrades), cmp.Compare(a.number, b.number))
	})
	if len(hot) > maxLines {
		r.Dropped = uint64(len(hot) - maxLines)
		hot = hot[:maxLines]
	}
	for _, l := range hot {
		r.Lines = append(r.Lines, l.result(m))
	}
	return r
}

func (l *line) result(m *Model) archinfo.Line {
	s := l.shared
	out := archinfo.Line{Address: l.number << m.lineBits, LineCounts: s.counts, Threads: l.threads(), First: s.first, Last: s.last}
	for i, w := range s.words {
		if w != nil {
			out.Words = append(out.Words, archinfo.Word{Index: i, WordCounts: w.counts})
		}
	}
	for _, at := range s.sites {
		out.Sites = append(out.Sites, *at)
	}
	slices.SortFunc(out.Sites, func(a, b archinfo.Site) int {
		if c := cmp.Compare(b.Cost(), a.Cost()); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Word, b.Word))
	})
	out.Sites = out.Sites[:min(len(out.Sites), maxSites)]
	return out
}
