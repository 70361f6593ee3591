package cdr

import (
	"fmt"
	"math/bits"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// stretch is what one thread did in one epoch, loaded.
type stretch struct {
	epoch  int
	thread event.ThreadID
	tab    *tables
	*control
	events wpp.SyncCounts
	data   *data

	// Computed when first needed.
	stacks  *wpp.Stacks
	counts  *siteCounter
	indexes []*addrIndex // of data.streams
}

// cacheSymbols bounds the loaded grammars by their size; a symbol takes up to
// about 40 bytes with all that is computed for it.
const cacheSymbols = maxSymbols

// stretchCache keeps the stretches that were used last.
type stretchCache struct {
	recent  []*stretch // last used last
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
	n := 1000 + s.g.Symbols() + len(s.terms)
	if s.data != nil {
		n += len(s.data.terms)
		for i := range s.data.streams {
			n += 10 + s.data.streams[i].g.Symbols()
		}
	}
	return n
}

// stretch loads what a thread did in an epoch, or returns nil when it did
// nothing.
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
			s.data, err = decodeData(b, t.tab)
			return err
		}); err != nil {
			return nil, err
		}
	} else if t.meta.Mode == ModeCDR && c.recorded != 0 {
		return nil, fmt.Errorf("thread %d has no data block in epoch %d: %w", th, i, tracefmt.ErrMalformed)
	}
	t.cache.put(s)
	return s, nil
}

// loadControl loads a stretch's control string, from the grammar of a control
// block or by playing a flow block back.
func (t *Trace) loadControl(s *stretch, c *counts) error {
	kind := tracefmt.KindControl
	decode := func(b []byte) (*control, error) { return decodeControl(b, t.tab) }
	if t.meta.Control == ControlAPP {
		kind = tracefmt.KindFlow
		player, err := t.player()
		if err != nil {
			return err
		}
		decode = func(b []byte) (*control, error) { return player.control(b, c) }
	}
	h, ok := t.blocks[blockKey{kind, uint32(s.epoch), s.thread}]
	if !ok {
		return fmt.Errorf("thread %d has no %v block in epoch %d: %w", s.thread, kind, s.epoch, tracefmt.ErrMalformed)
	}
	return t.read(h, func(b []byte) (err error) {
		if s.control, err = decode(b); err == nil {
			err = s.check(c, t.meta.Mode == ModeDOR)
		}
		return err
	})
}

// check computes the synch counts and compares the control string with the
// counts in the commit block. After that, no sum over the string overflows.
func (s *stretch) check(c *counts, dor bool) error {
	bad := func(what string) error {
		return fmt.Errorf("control: %s differ from the commit block: %w", what, tracefmt.ErrMalformed)
	}
	var err error
	s.events, err = wpp.NewSyncCounts(s.g, func(x wpp.Terminal) bool { return s.terms[x].kind == termSync })
	if err != nil || s.events.Total() != c.events {
		return bad("events")
	}
	if dor {
		accesses, err := wpp.NewWeights(s.g, func(x wpp.Terminal) uint64 {
			if s.terms[x].kind == termAccess {
				return 1
			}
			return 0
		})
		if err != nil || accesses.Total() != c.recorded {
			return bad("accesses")
		}
		return nil
	}
	blocks, err := wpp.NewWeights(s.g, s.termWeight(func(*tableBlock) uint64 { return 1 }))
	if err != nil || blocks.Total() != c.blocks {
		return bad("blocks")
	}
	insts, err := wpp.NewWeights(s.g, s.termWeight(func(b *tableBlock) uint64 { return uint64(b.insts) }))
	if err != nil || insts.Total() != c.insts {
		return bad("instructions")
	}
	accesses, err := wpp.NewWeights(s.g, s.termWeight(func(b *tableBlock) uint64 { return uint64(b.siteCount) }))
	if err != nil || accesses.Total() != c.accesses {
		return bad("accesses")
	}
	return nil
}

// termWeight sums a weight of blocks over the paths of a terminal. Weights
// beyond wpp.MaxLength come out as something beyond it.
func (s *stretch) termWeight(of func(*tableBlock) uint64) func(wpp.Terminal) uint64 {
	memo := make([]uint64, len(s.terms))
	for i, x := range s.terms {
		if x.kind != termPath {
			continue
		}
		sum := uint64(0)
		for _, b := range s.tab.pathBlocks(PathID(x.a)) {
			sum += of(&s.tab.blocks[b])
		}
		hi, lo := bits.Mul64(sum, x.b)
		if hi != 0 || lo > wpp.MaxLength {
			lo = wpp.MaxLength + 1
		}
		memo[i] = lo
	}
	return func(x wpp.Terminal) uint64 { return memo[x] }
}

// count is how often the site was executed in the stretch.
func (t *Trace) count(s *stretch, site SiteID) uint64 {
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
	site   SiteID
}
