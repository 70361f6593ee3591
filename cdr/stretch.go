package cdr

import (
	"fmt"
	"math/bits"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// stretch is what one thread did in one epoch, as loaded from the file.
type stretch struct {
	epoch  int
	thread event.ThreadID
	tab    *format.Tables
	*format.ControlString
	events wpp.SyncCounts
	data   *format.Data

	// Computed when first needed.
	stacks  *wpp.Stacks
	counts  *siteCounter
	indexes []*fold.Index // one for each of data.streams
}

// cacheSymbols limits the total size of the loaded grammars. A symbol takes up to about
// 40 bytes with everything that is computed for it.
const cacheSymbols = format.MaxSymbols

// stretchCache keeps the most recently used stretches.
type stretchCache struct {
	recent  []*stretch // the most recently used last
	symbols int
}

func (c *stretchCache) get(epoch int, thread event.ThreadID) *stretch {
	for i := len(c.recent) - 1; i >= 0; i-- {
		if s := c.recent[i]; s.epoch == epoch && s.thread == thread {
			copy(c.recent[i:], c.recent[i+1:])
			c.recent[len(c.recent)-1] = s
			return s
		}
	}
	return nil
}

func (c *stretchCache) put(s *stretch) {
	c.recent = append(c.recent, s)
	c.symbols += s.symbols()
	for len(c.recent) > 1 && (c.symbols > cacheSymbols || len(c.recent) > 256) {
		c.symbols -= c.recent[0].symbols()
		c.recent[0] = nil
		c.recent = c.recent[1:]
	}
}

func (s *stretch) symbols() int {
	n := 1000 + s.Grammar.Symbols() + len(s.Terms)
	if s.data != nil {
		n += len(s.data.Terms)
		for i := range s.data.Streams {
			n += 10 + s.data.Streams[i].Grammar.Symbols()
		}
	}
	return n
}

// stretch loads what a thread did in an epoch. It returns nil if the thread did nothing.
func (t *Trace) stretch(i int, th event.ThreadID) (*stretch, error) {
	c := t.epochs[i].thread(th)
	if c == nil {
		return nil, nil
	}
	if s := t.cache.get(i, th); s != nil {
		return s, nil
	}
	s := &stretch{epoch: i, thread: th, tab: t.tab}
	if err := t.loadControl(s, c); err != nil {
		return nil, err
	}
	if h, ok := t.blocks[blockKey{tracefmt.KindData, uint32(i), th}]; ok {
		if err := t.read(h, func(b []byte) (err error) {
			s.data, err = format.DecodeData(b, t.tab)
			return err
		}); err != nil {
			return nil, err
		}
	} else if t.meta.Mode == format.ModeCDR && c.Recorded != 0 {
		return nil, fmt.Errorf("thread %d has no data block in epoch %d: %w", th, i, tracefmt.ErrMalformed)
	}
	t.cache.put(s)
	return s, nil
}

// loadControl loads a stretch's control string, from the grammar of a control
// block or by playing a flow block back.
func (t *Trace) loadControl(s *stretch, c *format.Counts) error {
	kind := tracefmt.KindControl
	decode := func(b []byte) (*format.ControlString, error) { return format.DecodeControl(b, t.tab) }
	if t.meta.Control == format.ControlAPP {
		kind = tracefmt.KindFlow
		player, err := t.player()
		if err != nil {
			return err
		}
		decode = func(b []byte) (*format.ControlString, error) { return player.Control(b, c) }
	}
	h, ok := t.blocks[blockKey{kind, uint32(s.epoch), s.thread}]
	if !ok {
		return fmt.Errorf("thread %d has no %v block in epoch %d: %w", s.thread, kind, s.epoch, tracefmt.ErrMalformed)
	}
	return t.read(h, func(b []byte) (err error) {
		if s.ControlString, err = decode(b); err == nil {
			err = s.check(c, t.meta.Mode == format.ModeDOR)
		}
		return err
	})
}

// check computes the synch counts and compares the control string with the
// counts in the commit block. After that, no sum over the string overflows.
func (s *stretch) check(c *format.Counts, dor bool) error {
	bad := func(what string) error {
		return fmt.Errorf("control: %s differ from the commit block: %w", what, tracefmt.ErrMalformed)
	}
	var err error
	s.events, err = wpp.NewSyncCounts(s.Grammar, func(x wpp.Terminal) bool { return s.Terms[x].Kind == format.TermSync })
	if err != nil || s.events.Total() != c.Events {
		return bad("events")
	}
	if dor {
		accesses, err := wpp.NewWeights(s.Grammar, func(x wpp.Terminal) uint64 {
			if s.Terms[x].Kind == format.TermAccess {
				return 1
			}
			return 0
		})
		if err != nil || accesses.Total() != c.Recorded {
			return bad("accesses")
		}
		return nil
	}
	blocks, err := wpp.NewWeights(s.Grammar, s.termWeight(func(*format.TableBlock) uint64 { return 1 }))
	if err != nil || blocks.Total() != c.Blocks {
		return bad("blocks")
	}
	insts, err := wpp.NewWeights(s.Grammar, s.termWeight(func(b *format.TableBlock) uint64 { return uint64(b.Insts) }))
	if err != nil || insts.Total() != c.Insts {
		return bad("instructions")
	}
	accesses, err := wpp.NewWeights(s.Grammar, s.termWeight(func(b *format.TableBlock) uint64 { return uint64(b.SiteCount) }))
	if err != nil || accesses.Total() != c.Accesses {
		return bad("accesses")
	}
	return nil
}

// termWeight sums a weight of blocks over the paths of a terminal. If the sum exceeds
// wpp.MaxLength, it returns some number above wpp.MaxLength.
func (s *stretch) termWeight(of func(*format.TableBlock) uint64) func(wpp.Terminal) uint64 {
	memo := make([]uint64, len(s.Terms))
	for i, x := range s.Terms {
		if x.Kind != format.TermPath {
			continue
		}
		sum := uint64(0)
		for _, b := range s.tab.PathBlocks(format.PathID(x.A)) {
			sum += of(&s.tab.Blocks[b])
		}
		hi, lo := bits.Mul64(sum, x.B)
		if hi != 0 || lo > wpp.MaxLength {
			lo = wpp.MaxLength + 1
		}
		memo[i] = lo
	}
	return func(x wpp.Terminal) uint64 { return memo[x] }
}

// count returns the number of executions of the site in the stretch.
func (t *Trace) count(s *stretch, site format.SiteID) uint64 {
	key := siteKey{s.epoch, s.thread, site}
	if n, ok := t.totals[key]; ok {
		return n
	}
	w := s.siteCounts(site)
	if len(t.totals) > 1<<20 {
		clear(t.totals)
	}
	t.totals[key] = w.Total()
	return w.Total()
}

type siteKey struct {
	epoch  int
	thread event.ThreadID
	site   format.SiteID
}
