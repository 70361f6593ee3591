package cdr

import (
	"iter"
	"math"
	"slices"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// StepsWithin returns the same steps as [Trace.Steps], but only accesses that touch a
// range of addresses [lo, hi) that keep accepts. keep must accept a range if it accepts a
// part of it. The walk skips rules of the control grammar that never touch such a range,
// so its time depends on the number of steps it returns, not on the length of the run. It
// ends after the first error.
func (t *Trace) StepsWithin(th event.ThreadID, keep func(lo, hi uint64) bool) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		err := t.eachStretch(th, func(s *stretch, before []uint64) (bool, error) {
			n := t.NumSites()
			w := sparseWalk{s: s, keep: keep, counter: newCounter(s, nil), at: make([]uint64, n), next: make([]uint64, n),
				feeds: make([]*sparseFeed, n), before: before, number: sum(before), paths: map[uint64][]siteCount{}, yield: yield}
			if !w.rule(s.Grammar.Start()) {
				return false, w.err
			}
			for site, n := range w.at {
				before[site] += n
			}
			return true, nil
		})
		if err != nil {
			yield(Step{}, err)
		}
	}
}

// sparseWalk walks what a thread did in an epoch and skips what is not wanted. It knows
// the ordinal of each site's next wanted execution.
type sparseWalk struct {
	s       *stretch
	keep    func(lo, hi uint64) bool
	counter *counter // the executions of rules
	at      []uint64 // by site: its executions so far in the epoch
	next    []uint64 // by site: ordinal of the next wanted one, at least at
	feeds   []*sparseFeed
	before  []uint64 // by site: its executions in earlier epochs
	number  uint64   // accesses so far
	paths   map[uint64][]siteCount
	yield   func(Step, error) bool
	err     error
}

// rule walks the string of a rule. It returns false when the walk has ended.
func (w *sparseWalk) rule(r wpp.Rule) bool {
	stack := []wpp.Step{{Rule: r}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		body := w.s.Grammar.Body(top.Rule)
		if int(top.Index) >= len(body) {
			stack = stack[:len(stack)-1]
			continue
		}
		x := body[top.Index]
		top.Index++
		if !x.IsRule() {
			if !w.term(w.s.Terms[x.Terminal()]) {
				return false
			}
			continue
		}
		passed, ok := w.pass(x.Rule())
		if !ok {
			return false
		}
		if !passed {
			stack = append(stack, wpp.Step{Rule: x.Rule()})
		}
	}
	return true
}

// pass skips a rule if nothing in it is wanted. ok is false after an error.
func (w *sparseWalk) pass(r wpp.Rule) (passed, ok bool) {
	v := w.counter.vectors[r]
	if v == nil {
		return false, true
	}
	for _, c := range v {
		n, ok := w.wanted(c.site)
		if !ok {
			return false, false
		}
		if n-w.at[c.site] < c.count {
			return false, true
		}
	}
	for _, c := range v {
		w.at[c.site] += c.count
		w.number += c.count
	}
	return true, true
}

// term walks a terminal.
func (w *sparseWalk) term(t format.Term) bool {
	if t.Kind == format.TermSync {
		return w.yield(Step{IsEvent: true, Number: w.number}, nil)
	}
	if t.Kind != format.TermPath {
		return true
	}
	path := w.s.tab.PathBlocks(format.PathID(t.A))
	for left := t.B; left > 0; {
		n, ok := w.idle(t.A, path, left)
		if !ok {
			return false
		}
		left -= n
		if left == 0 {
			return true
		}
		for _, b := range path {
			if !w.block(&w.s.tab.Blocks[b]) {
				return false
			}
		}
		left--
	}
	return true
}

// idle skips up to limit executions of a path, as long as none of their accesses can be
// wanted.
func (w *sparseWalk) idle(id uint64, path []uint32, limit uint64) (n uint64, ok bool) {
	n = limit
	v := w.sites(id, path)
	for _, c := range v {
		next, ok := w.wanted(c.site)
		if !ok {
			return 0, false
		}
		n = min(n, (next-w.at[c.site])/c.count)
	}
	for _, c := range v {
		w.at[c.site] += n * c.count
		w.number += n * c.count
	}
	return n, true
}

// sites counts the executions of each site in a path.
func (w *sparseWalk) sites(id uint64, path []uint32) []siteCount {
	v, ok := w.paths[id]
	if ok {
		return v
	}
	for _, b := range path {
		for _, site := range w.s.tab.BlockSites(&w.s.tab.Blocks[b]) {
			i := slices.IndexFunc(v, func(c siteCount) bool { return c.site == site })
			if i < 0 {
				i = len(v)
				v = append(v, siteCount{site: site})
			}
			v[i].count++
		}
	}
	w.paths[id] = v
	return v
}

func (w *sparseWalk) block(b *format.TableBlock) bool {
	for _, site := range w.s.tab.BlockSites(b) {
		next, ok := w.wanted(site)
		if !ok {
			return false
		}
		at, number := w.at[site], w.number
		w.at[site]++
		w.number++
		if at == next && !w.yield(Step{Site: site, Address: w.feeds[site].address, Ordinal: w.before[site] + at, Number: number}, nil) {
			return false
		}
	}
	return true
}

// wanted returns the ordinal of the next wanted execution of a site.
func (w *sparseWalk) wanted(site format.SiteID) (uint64, bool) {
	f := w.feeds[site]
	if f == nil {
		x, err := w.s.addrIndex(site)
		if err != nil {
			w.err = err
			return 0, false
		}
		f = &sparseFeed{x: x, width: uint64(w.s.tab.Sites[site].Size), keep: w.keep}
		w.feeds[site] = f
		w.next[site] = f.find(w.at[site])
	}
	if w.next[site] < w.at[site] {
		w.next[site] = f.find(w.at[site])
	}
	return w.next[site], true
}

// sparseFeed finds the accesses of a site that are wanted.
type sparseFeed struct {
	x       *fold.Index // nil if none was recorded
	width   uint64
	keep    func(lo, hi uint64) bool
	runs    []fold.Run // runs that may have wanted accesses
	looked  uint64
	address uint64 // of the last one found
}

// feedRuns is the number of runs that a feed reads ahead.
const feedRuns = 64

// find returns the ordinal of the first wanted access with ordinal from or later.
func (f *sparseFeed) find(from uint64) uint64 {
	if f.x == nil {
		return math.MaxUint64
	}
	f.looked = max(f.looked, from)
	for {
		for len(f.runs) > 0 {
			r := &f.runs[0]
			from = max(from, r.First)
			if from < r.First+r.Count {
				if n, ok := f.within(r, from-r.First); ok {
					f.address = r.Base + n*uint64(r.Stride)
					return r.First + n
				}
			}
			f.runs = f.runs[1:]
		}
		if f.looked >= f.x.Total() {
			return math.MaxUint64
		}
		f.look()
	}
}

// look reads more runs.
func (f *sparseFeed) look() {
	x := f.x
	f.runs = f.runs[:0]
	if f.looked <= x.Lead {
		f.looked = x.Lead + 1
		f.runs = append(f.runs, fold.Run{Base: x.First, Count: 1, First: x.Lead})
		return
	}
	base, end := x.Lead+1, x.Total()
	find := fold.Finder{Index: x, Width: f.width, Keep: f.keep, Yield: func(r fold.Run) bool {
		f.runs = append(f.runs, r)
		return len(f.runs) < feedRuns
	}}
	if find.Walk(x.Grammar.Start(), x.First, f.looked-base, end-base, base) {
		f.looked = end
		return
	}
	last := &f.runs[len(f.runs)-1]
	f.looked = last.First + last.Count
}

// within returns the first wanted access of a run, from number n on.
func (f *sparseFeed) within(r *fold.Run, n uint64) (uint64, bool) {
	accepts := func(n, end uint64) bool {
		lo, hi := r.Base+n*uint64(r.Stride), r.Base+(end-1)*uint64(r.Stride)
		if r.Stride < 0 {
			lo, hi = hi, lo
		}
		hi += f.width
		return hi < lo || f.keep(lo, hi) // wraps around the end of the address space
	}
	for step := uint64(1); n < r.Count; {
		end := n + min(step, r.Count-n)
		switch {
		case !accepts(n, end):
			n = end
			step *= 2
		case end-n == 1:
			return n, true
		default:
			step = (end - n) / 2
		}
	}
	return 0, false
}
