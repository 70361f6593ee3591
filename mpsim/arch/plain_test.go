package arch

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// plain is a slow and obvious version of the model. It stores every access to every byte
// with its time, and searches all of them.
type plain struct {
	cfg   Config
	now   int
	state map[hartLine]byte // of the lines in caches: 'S', 'E', 'M'
	used  map[hartLine]int  // time of the last use
	seen  map[hartLine]bool
	gone  map[hartLine]byte // how the line was lost: 'i' invalidated, 'e' evicted
	// by byte address: who wrote it, and when
	writes map[uint64][]write
	since  map[hartLine]int    // last essential miss
	open   map[hartLine]uint64 // word of an undecided coherence miss
	touch  map[uint64][]event.ThreadID
	words  map[uint64]*plainWord
	inUse  map[hartLine]map[uint64]bool // words used since the line was fetched
	harts  map[event.ThreadID]*archinfo.HartCounts
	lines  map[uint64]*archinfo.LineCounts
	result map[uint64]*archinfo.WordCounts
}

type hartLine struct {
	hart event.ThreadID
	line uint64
}

type write struct {
	hart event.ThreadID
	at   int
}

type plainWord struct {
	holds, had map[event.ThreadID]bool
	accesses   []wordAccess // all
}

type wordAccess struct {
	hart        event.ThreadID
	read, write bool
	counted     bool // the line was already shared
}

func newPlain(cfg Config) *plain {
	return &plain{
		cfg: cfg, state: map[hartLine]byte{}, used: map[hartLine]int{}, seen: map[hartLine]bool{}, gone: map[hartLine]byte{},
		writes: map[uint64][]write{}, since: map[hartLine]int{}, open: map[hartLine]uint64{}, touch: map[uint64][]event.ThreadID{},
		words: map[uint64]*plainWord{}, inUse: map[hartLine]map[uint64]bool{}, harts: map[event.ThreadID]*archinfo.HartCounts{},
		lines: map[uint64]*archinfo.LineCounts{}, result: map[uint64]*archinfo.WordCounts{},
	}
}

func (p *plain) line(n uint64) *archinfo.LineCounts {
	if p.lines[n] == nil {
		p.lines[n] = new(archinfo.LineCounts)
	}
	return p.lines[n]
}

func (p *plain) word(n uint64) *archinfo.WordCounts {
	if p.result[n] == nil {
		p.result[n] = new(archinfo.WordCounts)
	}
	return p.result[n]
}

func (p *plain) hart(h event.ThreadID) *archinfo.HartCounts {
	if p.harts[h] == nil {
		p.harts[h] = new(archinfo.HartCounts)
	}
	return p.harts[h]
}

// play reports whether all lines of the access hit.
func (p *plain) play(r ref) bool {
	hit := true
	size := uint64(p.cfg.Line)
	for addr, end := r.addr, r.addr+uint64(r.size); addr < end; {
		stop := min(end, (addr/size+1)*size)
		hit = p.part(r, addr, stop) && hit
		addr = stop
	}
	return hit
}

// others returns the harts other than k's whose caches hold the line, in order.
func (p *plain) others(k hartLine) (list []hartLine) {
	for o := range p.state {
		if o.line == k.line && o.hart != k.hart {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b hartLine) int { return cmp.Compare(a.hart, b.hart) })
	return list
}

func (p *plain) part(r ref, from, to uint64) bool {
	p.now++
	k := hartLine{r.hart, from / uint64(p.cfg.Line)}
	c, l, first := p.hart(r.hart), p.line(k.line), from/8
	if !slices.Contains(p.touch[k.line], r.hart) {
		p.touch[k.line] = append(p.touch[k.line], r.hart)
	}
	shared := len(p.touch[k.line]) > 1
	st, hit := p.state[k]
	switch {
	case hit && r.write() && st == 'S':
		p.invalidate(k, first)
		c.Upgrades++
		l.Upgrades++
		p.word(first).Upgrades++
		p.state[k] = 'M'
	case hit && r.write():
		p.state[k] = 'M'
	case !hit:
		p.miss(k, r, first, shared)
	}
	if r.write() {
		c.Stores++
		if !hit {
			c.StoreMisses++
		}
	} else {
		c.Loads++
		if !hit {
			c.LoadMisses++
		}
	}
	p.used[k] = p.now
	p.classify(k, from, to)
	for b := from; r.write() && b < to; b++ {
		p.writes[b] = append(p.writes[b], write{r.hart, p.now})
	}
	for w := from / 8; w <= (to-1)/8; w++ {
		p.inUse[k][w] = true
		p.wordAccess(w, r, shared)
	}
	return hit
}

func (p *plain) miss(k hartLine, r ref, first uint64, shared bool) {
	c, l := p.hart(k.hart), p.line(k.line)
	others := p.others(k)
	if len(others) > 0 {
		c.CacheToCache++
		l.CacheToCache++
	}
	if r.write() {
		p.invalidate(k, first)
		p.state[k] = 'M'
	} else {
		p.state[k] = 'E'
		for _, o := range others {
			if p.state[o] == 'M' {
				p.hart(o.hart).Writebacks++
				l.Writebacks++
			}
			p.state[o], p.state[k] = 'S', 'S'
		}
	}
	if shared {
		if r.write() {
			l.WriteMisses++
			p.word(first).WriteMisses++
		} else {
			l.ReadMisses++
			p.word(first).ReadMisses++
		}
	}
	switch {
	case !p.seen[k]:
		c.Cold++
		p.since[k] = p.now
	case p.gone[k] == 'e':
		c.Replacement++
		p.since[k] = p.now
	default:
		c.Coherence++
		l.Coherence++
		p.word(first).Coherence++
		p.open[k] = first
	}
	p.seen[k] = true
	p.inUse[k] = map[uint64]bool{}
	p.used[k] = p.now
	// Make room.
	sets := uint64(p.cfg.Size / p.cfg.Line / p.cfg.Ways)
	var same []hartLine
	for o := range p.state {
		if o.hart == k.hart && o.line%sets == k.line%sets {
			same = append(same, o)
		}
	}
	if len(same) > p.cfg.Ways {
		slices.SortFunc(same, func(a, b hartLine) int { return cmp.Compare(p.used[a], p.used[b]) })
		v := same[0]
		if p.state[v] == 'M' {
			c.Writebacks++
			if len(p.touch[v.line]) > 1 {
				p.line(v.line).Writebacks++
			}
		}
		p.lose(v, 'e')
	}
}

func (p *plain) invalidate(k hartLine, first uint64) {
	for _, o := range p.others(k) {
		p.hart(k.hart).InvalidationsSent++
		p.hart(o.hart).InvalidationsReceived++
		p.line(k.line).Invalidations++
		p.word(first).InvalidationsSent++
		for w := range p.inUse[o] {
			p.word(w).InvalidationsReceived++
		}
		p.lose(o, 'i')
	}
}

// lose ends the lifetime of a line in a cache. A miss that has not turned out to be true
// sharing was false sharing.
func (p *plain) lose(k hartLine, how byte) {
	delete(p.state, k)
	p.gone[k] = how
	if w, open := p.open[k]; open {
		delete(p.open, k)
		p.hart(k.hart).FalseSharing++
		p.line(k.line).FalseSharing++
		p.word(w).FalseSharing++
	}
}

// classify looks for bytes that others have written since the last essential miss.
func (p *plain) classify(k hartLine, from, to uint64) {
	w, open := p.open[k]
	if !open {
		return
	}
	for b := from; b < to; b++ {
		for _, x := range p.writes[b] {
			if x.hart != k.hart && x.at > p.since[k] {
				delete(p.open, k)
				p.since[k] = p.now
				p.hart(k.hart).TrueSharing++
				p.line(k.line).TrueSharing++
				p.word(w).TrueSharing++
				return
			}
		}
	}
}

func (p *plain) wordAccess(n uint64, r ref, shared bool) {
	w := p.words[n]
	if w == nil {
		w = &plainWord{holds: map[event.ThreadID]bool{}, had: map[event.ThreadID]bool{}}
		p.words[n] = w
	}
	inv, upd := uint64(0), uint64(0)
	if !w.had[r.hart] {
		upd++
	}
	if r.write() {
		if !w.holds[r.hart] || len(w.holds) > 1 {
			inv++
		}
		w.had[r.hart] = true
		if len(w.had) > 1 {
			upd++
		}
		w.holds = map[event.ThreadID]bool{}
	} else if !w.holds[r.hart] {
		inv++
	}
	w.had[r.hart], w.holds[r.hart] = true, true
	w.accesses = append(w.accesses, wordAccess{r.hart, r.read(), r.write(), shared})
	if shared {
		p.word(n).InvalidateBus += inv
		p.word(n).UpdateBus += upd
	}
}

// finish evaluates the sequence of accesses to each word.
func (p *plain) finish() {
	for k := range p.open {
		p.lose(k, 'x')
	}
	for n, w := range p.words {
		out := p.word(n)
		var run uint64
		for i, a := range w.accesses {
			if !a.counted {
				continue
			}
			before := w.accesses[:i]
			if a.read {
				out.Reads++
				for j := len(before) - 1; j >= 0; j-- {
					if before[j].write {
						if before[j].hart != a.hart {
							out.RemoteReads++
						}
						break
					}
				}
			}
			if !a.write {
				continue
			}
			out.Writes++
			if i > 0 && before[i-1].hart == a.hart && before[i-1].counted && run > 0 && ownRun(before, a.hart) {
				run++
			} else {
				run = 1
				out.Runs++
			}
			out.LongestRun = max(out.LongestRun, run)
			for j, reads := len(before)-1, uint64(0); j >= 0; j-- {
				if before[j].hart == a.hart && before[j].write {
					out.Intervals++
					if reads > 0 {
						out.ReadIntervals++
						out.IntervalReads += reads
					}
					break
				}
				if before[j].hart != a.hart && before[j].read {
					reads++
				}
			}
		}
	}
}

// ownRun reports whether hart has written since the word is counted, with only its own
// accesses after that.
func ownRun(before []wordAccess, hart event.ThreadID) bool {
	for j := len(before) - 1; j >= 0; j-- {
		switch {
		case before[j].hart != hart || !before[j].counted:
			return false
		case before[j].write:
			return true
		}
	}
	return false
}

// TestAgainstPlain simulates random accesses with both models: caches of different shapes,
// several harts, memory with much and with little contention, and accesses of all sizes,
// including atomic ones and ones that cross lines.
func TestAgainstPlain(t *testing.T) {
	shapes := []Config{
		{},
		{Size: 128, Ways: 1, Line: 16},
		{Size: 512, Ways: 2, Line: 32},
		{Size: 256, Ways: 4, Line: 64},
		{Size: 2048, Ways: 4, Line: 128},
		{Size: 1024, Ways: 4, Line: 256},
	}
	for n := range 120 {
		cfg := shapes[n%len(shapes)]
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		log := bitLog{}
		cfg.History = log
		m := newPlayer(t, cfg)
		p := newPlain(m.m.Config())
		want := bitLog{}
		grain := uint64(max(m.m.Config().Line/64, 1))
		harts, span := 1+rng.IntN(5), uint64(64)<<rng.IntN(6)
		for range 600 {
			r := ref{hart: event.ThreadID(rng.IntN(harts)), addr: 0x10000 + rng.Uint64N(span), size: 1 << rng.IntN(4), op: event.Access(rng.IntN(2))}
			if rng.IntN(8) == 0 {
				r.which = event.AtomicLoad + event.Kind(rng.IntN(3))
				r.op = 0
			}
			// Large lines distinguish only granules, not bytes.
			r.size = max(r.size, uint8(grain))
			r.addr &^= grain - 1
			m.play(r)
			hit := p.play(r)
			s := Loads
			if r.write() {
				s = Stores
			}
			bit := uint64(1)
			if hit {
				bit = 0
			}
			want.Append(r.hart, s, []uint64{bit}, 1)
		}
		got := m.finish()
		p.finish()
		if err := compare(got, p); err != nil {
			t.Fatalf("run %d, %d harts, %d bytes, %+v: %v", n, harts, span, got.Config, err)
		}
		for h, streams := range want {
			if !reflect.DeepEqual(*streams, *log[h]) {
				t.Fatalf("run %d: history of hart %d differs", n, h)
			}
		}
	}
}

func compare(got *archinfo.Summary, p *plain) error {
	for h, want := range p.harts {
		g := got.Harts[h]
		if !reflect.DeepEqual(g, *want) {
			return fmt.Errorf("hart %d:\ngot  %+v\nwant %+v", h, g, *want)
		}
		if g.Cold+g.Replacement+g.Coherence != g.LoadMisses+g.StoreMisses || g.TrueSharing+g.FalseSharing != g.Coherence ||
			g.LoadMisses > g.Loads || g.StoreMisses > g.Stores {
			return fmt.Errorf("hart %d: counts do not add up: %+v", h, g)
		}
	}
	lines := 0
	for _, l := range p.lines {
		if l.Invalidations > 0 {
			lines++
		}
	}
	if len(got.Lines) != lines {
		return fmt.Errorf("%d lines, want %d", len(got.Lines), lines)
	}
	for i := range got.Lines {
		l := &got.Lines[i]
		n := l.Address / uint64(p.cfg.Line)
		if !reflect.DeepEqual(l.LineCounts, *p.lines[n]) {
			return fmt.Errorf("line 0x%x:\ngot  %+v\nwant %+v", l.Address, l.LineCounts, *p.lines[n])
		}
		for _, w := range l.Words {
			at := l.Address/8 + uint64(w.Index)
			if want := p.word(at); !reflect.DeepEqual(w.WordCounts, *want) {
				return fmt.Errorf("word 0x%x:\ngot  %+v\nwant %+v", at*8, w.WordCounts, *want)
			}
		}
		sites := uint64(0)
		for _, s := range l.Sites {
			sites += s.Cost()
		}
		if len(l.Sites) < maxSites && sites != l.ReadMisses+l.WriteMisses+l.Upgrades {
			return fmt.Errorf("line 0x%x: sites with %d transactions, want %d", l.Address, sites, l.ReadMisses+l.WriteMisses+l.Upgrades)
		}
	}
	return nil
}
