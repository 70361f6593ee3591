package arch

import "hindsight/tracefmt/archinfo"

// wordBytes is the size of a word, the unit for which protocols are compared.
const wordBytes = 8

// sharing holds the counts for a line that more than one hart has touched.
type sharing struct {
	counts      archinfo.LineCounts
	words       []*word // by their index in the line; nil until touched
	sites       map[siteKey]*archinfo.Site
	first, last uint64 // number of ordered events before the first and the last bus transaction between harts

	// What the first hart had touched when the second one came.
	owner                    *hart
	ownerRead, ownerWritten  uint64
	granulesPerWord, perWord uint64 // granules of a word, and their mask
}

type siteKey struct {
	pc    uint64
	hart  *hart
	word  int
	write bool
}

func (m *Model) newSharing(l *line) *sharing {
	m.sharedLines++
	c := l.copies[0]
	per := uint64(wordBytes) >> m.granuleBits
	return &sharing{
		words: make([]*word, max(m.cfg.Line/wordBytes, 1)), sites: map[siteKey]*archinfo.Site{}, first: never64,
		owner: c.hart, ownerRead: c.read, ownerWritten: c.written,
		granulesPerWord: per, perWord: 1<<per - 1,
	}
}

// never64 is the position of an event that never happens.
const never64 = ^uint64(0)

func (s *sharing) word(i int) *word {
	w := s.words[i]
	if w == nil {
		w = &word{}
		mask := s.perWord << (uint64(i) * s.granulesPerWord)
		if (s.ownerRead|s.ownerWritten)&mask != 0 {
			e := w.at(s.owner)
			e.holds, e.had = true, true
			if s.ownerWritten&mask != 0 {
				e.wrote, w.writer = true, s.owner
			}
		}
		s.words[i] = w
	}
	return w
}

func (s *sharing) reference(c *copyOf, r *reference) {
	for i := r.first; i <= r.last; i++ {
		s.word(i).reference(c.hart, r.read, r.write)
	}
}

func (s *sharing) site(h *hart, r *reference) *archinfo.Site {
	key := siteKey{r.pc, h, r.first, r.write}
	at := s.sites[key]
	if at == nil {
		at = &archinfo.Site{PC: r.pc, Thread: h.id, Word: r.first, Read: r.read, Write: r.write}
		s.sites[key] = at
	}
	return at
}

func (s *sharing) when(seq uint64) {
	s.first, s.last = min(s.first, seq), seq
}

func (s *sharing) missed(c *copyOf, r *reference, from, coherence bool, seq uint64) missAt {
	w, at := s.word(r.first), s.site(c.hart, r)
	at.Misses++
	if from {
		s.counts.CacheToCache++
	}
	if r.write {
		s.counts.WriteMisses++
		w.counts.WriteMisses++
	} else {
		s.counts.ReadMisses++
		w.counts.ReadMisses++
	}
	if coherence {
		s.counts.Coherence++
		w.counts.Coherence++
		s.when(seq)
	}
	return missAt{r.first, at}
}

func (s *sharing) upgraded(c *copyOf, r *reference, seq uint64) {
	s.counts.Upgrades++
	s.word(r.first).counts.Upgrades++
	s.site(c.hart, r).Upgrades++
	s.when(seq)
}

// invalidated counts that the write r invalidated copy o: as sent for the word that r
// writes, and as received for every word that o's hart had used.
func (s *sharing) invalidated(o *copyOf, r *reference, m *Model) {
	s.counts.Invalidations++
	s.word(r.first).counts.InvalidationsSent++
	for i := range s.words {
		if o.used&(s.perWord<<(uint64(i)*s.granulesPerWord)) != 0 {
			s.word(i).counts.InvalidationsReceived++
		}
	}
	s.when(m.seq)
}

// word is a word of a shared line, as two protocols would treat it if it were alone in its
// line and caches were unlimited.
//
// Under invalidation, a hart holds the word from its first touch until another hart writes.
// Every touch by a hart that does not hold it is a bus transaction, and so is every write
// while others hold it. Under update, a hart that has touched the word keeps it forever.
// Its first touch is a transaction, and so is every write while others have it.
type word struct {
	counts archinfo.WordCounts
	harts  []wordHart
	writer *hart // the last one that wrote
	runner *hart // the hart whose write run is in progress; nil: another hart's access ended it
	run    uint64
}

// wordHart is a word as one hart sees it.
type wordHart struct {
	hart       *hart
	holds, had bool // under invalidation and under update
	wrote      bool
	reads      uint64 // its own reads
	others     uint64 // reads by others before its last write
}

func (w *word) at(h *hart) *wordHart {
	for i := range w.harts {
		if w.harts[i].hart == h {
			return &w.harts[i]
		}
	}
	w.harts = append(w.harts, wordHart{hart: h})
	return &w.harts[len(w.harts)-1]
}

func (w *word) reference(h *hart, read, write bool) {
	e := w.at(h)
	if w.runner != nil && w.runner != h {
		w.runner = nil
	}
	if read {
		w.counts.Reads++
		e.reads++
		if w.writer != nil && w.writer != h {
			w.counts.RemoteReads++
		}
	}
	if !e.had {
		e.had = true
		w.counts.UpdateBus++
	}
	if write {
		w.write(e)
	} else if !e.holds {
		e.holds = true
		w.counts.InvalidateBus++
	}
}

func (w *word) write(e *wordHart) {
	k := &w.counts
	k.Writes++
	ask, update := !e.holds, false
	for i := range w.harts {
		if o := &w.harts[i]; o != e {
			ask = ask || o.holds
			update = update || o.had
			o.holds = false
		}
	}
	e.holds = true
	if ask {
		k.InvalidateBus++
	}
	if update {
		k.UpdateBus++
	}
	others := k.Reads - e.reads
	if e.wrote {
		k.Intervals++
		if n := others - e.others; n > 0 {
			k.ReadIntervals++
			k.IntervalReads += n
		}
	}
	e.wrote, e.others = true, others
	if w.runner != e.hart {
		w.runner, w.run = e.hart, 0
		k.Runs++
	}
	w.run++
	k.LongestRun = max(k.LongestRun, w.run)
	w.writer = e.hart
}

// threads returns the harts that touched the line, in the order of their first access.
func (l *line) threads() []archinfo.Touch {
	list := make([]archinfo.Touch, len(l.copies))
	for i, c := range l.copies {
		list[i] = archinfo.Touch{Thread: c.hart.id, Read: c.read, Written: c.written, TouchCounts: c.counts}
	}
	return list
}
