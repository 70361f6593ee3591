package arch

import (
	"fmt"
	"math/bits"

	"hindsight/tracefmt/event"
)

// Model is the [event.Observer] that simulates a run on the modelled machine.
type Model struct {
	cfg         Config
	lineBits    uint
	granuleBits uint
	setMask     uint64

	blocks      []blockInfo
	harts       []*hart // by thread; nil: it has not run yet
	lines       map[uint64]*line
	sharedLines uint64
	seq         uint64 // number of ordered events so far
}

// blockInfo is what the model needs to know about a simulated block.
type blockInfo struct {
	pc           uint64
	taken, other uint64 // targets of a conditional branch at the end
	branch       uint64 // its address; 0: there is none
	sites        []event.Site
}

// pendingBranch is a branch whose outcome the thread's next block will show.
type pendingBranch struct {
	pc, taken, other uint64
	open             bool
}

// New returns a model. Errors wrap [ErrConfig].
func New(cfg Config) (*Model, error) {
	cfg = cfg.Filled()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, lines: map[uint64]*line{}}
	m.lineBits = uint(bits.TrailingZeros(uint(cfg.Line)))
	m.granuleBits = max(m.lineBits, 6) - 6
	m.setMask = uint64(cfg.Size/(cfg.Line*cfg.Ways)) - 1
	return m, nil
}

// Config returns the configuration of the model, with its defaults filled in.
func (m *Model) Config() Config { return m.cfg }

// Define implements [event.Observer].
func (m *Model) Define(blocks []event.Block) error {
	for i := range blocks {
		b := &blocks[i]
		if int(b.ID) != len(m.blocks) {
			return fmt.Errorf("arch: block %d defined out of order", b.ID)
		}
		info := blockInfo{pc: b.PC, sites: b.Sites}
		if b.End == event.EndBranch {
			// A branch is identified by the end of its block, which is sufficient for a
			// predictor.
			info.branch, info.taken, info.other = b.Next()-2, b.Target, b.Next()
		}
		m.blocks = append(m.blocks, info)
	}
	return nil
}

// Batch implements [event.Observer].
func (m *Model) Batch(b *event.Batch) error {
	if b.Thread >= event.MaxThreads {
		return fmt.Errorf("arch: %w", event.ErrThreads)
	}
	h := m.hart(b.Thread)
	addrs, from := b.Addrs, 0
	for i := range b.Events {
		e := &b.Events[i]
		if int(e.At) < from || int(e.At) > len(b.Blocks) {
			return fmt.Errorf("arch: event %d of a batch is at block %d of %d", i, e.At, len(b.Blocks))
		}
		var err error
		if addrs, err = m.run(h, b.Blocks[from:e.At], addrs); err != nil {
			return err
		}
		from = int(e.At)
		m.event(h, e)
	}
	addrs, err := m.run(h, b.Blocks[from:], addrs)
	if err == nil && len(addrs) != 0 {
		err = fmt.Errorf("arch: a batch of thread %d has %d addresses too many", b.Thread, len(addrs))
	}
	return err
}

// Finish implements [event.Observer]. A miss still undecided at the end of the run was not
// essential. A branch after which nothing runs does not count.
func (m *Model) Finish(event.Outcome) error {
	for _, l := range m.lines {
		for _, c := range l.copies {
			if c.state != invalid && c.stale != 0 {
				m.verdict(c, false)
				c.stale = 0
			}
		}
	}
	m.Flush()
	return nil
}

func (m *Model) hart(t event.ThreadID) *hart {
	for int(t) >= len(m.harts) {
		m.harts = append(m.harts, nil)
	}
	h := m.harts[t]
	if h == nil {
		h = &hart{id: t, sets: make([]set, m.setMask+1), pred: newPredictor(&m.cfg)}
		m.harts[t] = h
	}
	return h
}

// run simulates blocks and returns the addresses that they did not use.
func (m *Model) run(h *hart, blocks []event.BlockID, addrs []uint64) ([]uint64, error) {
	for _, id := range blocks {
		if int(id) >= len(m.blocks) {
			return nil, fmt.Errorf("arch: block %d is not defined", id)
		}
		b := &m.blocks[id]
		if h.branch.open {
			m.resolve(h, b.pc)
		}
		if len(addrs) < len(b.sites) {
			return nil, fmt.Errorf("arch: a batch of thread %d has too few addresses", h.id)
		}
		for i := range b.sites {
			s := &b.sites[i]
			m.touch(h, addrs[i], uint64(s.Size), s.PC, s.Access == event.Read, s.Access == event.Write)
		}
		addrs = addrs[len(b.sites):]
		if b.branch != 0 {
			h.branch = pendingBranch{b.branch, b.taken, b.other, true}
		}
	}
	return addrs, nil
}

// resolve decides a pending branch: the thread continues at next. If that is neither side
// of the branch, there was a signal in between.
func (m *Model) resolve(h *hart, next uint64) {
	b := &h.branch
	if !b.open {
		return
	}
	b.open = false
	h.counts.Branches++
	right := true
	if next == b.taken || next == b.other {
		right = h.pred.branch(b.pc, next == b.taken)
	} else {
		h.counts.Unresolved++
	}
	if !right {
		h.counts.Mispredicted++
	}
	m.note(h, Branches, !right)
}

// maxAtomic is the maximum size of an atomic access in bytes.
const maxAtomic = 16

func (m *Model) event(h *hart, e *event.Event) {
	m.seq++
	if e.Kind.Info().Class != event.ClassAtomic || e.Kind == event.Fence {
		return
	}
	size := uint64(min(max(e.Size, 1), maxAtomic))
	m.touch(h, e.Obj, size, e.PC, e.Kind != event.AtomicStore, e.Kind != event.AtomicLoad)
}

// touch simulates one load or store. If it crosses a line boundary, it touches two lines,
// and hits if both do.
func (m *Model) touch(h *hart, addr, size, pc uint64, read, write bool) {
	hit := true
	for {
		off := addr & (1<<m.lineBits - 1)
		n := min(size, 1<<m.lineBits-off)
		first, last := off>>m.granuleBits, (off+n-1)>>m.granuleBits
		r := reference{
			number: addr >> m.lineBits, pc: pc, read: read, write: write,
			first: int(off / wordBytes), last: int((off + n - 1) / wordBytes),
			mask: (1<<(last-first+1) - 1) << first,
		}
		hit = m.access(h, &r) && hit
		size -= n
		if size == 0 {
			break
		}
		addr += n
	}
	s := Loads
	if write {
		s = Stores
	}
	m.note(h, s, !hit)
}
