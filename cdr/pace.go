package cdr

import (
	"fmt"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
)

// Pace goes through a thread and counts the instructions from one point to the next. Only
// instructions of recorded blocks count; those inside hooked functions are in no block.
// It skips every rule that it can, so the cost of a step depends on the depth of the
// grammar.
//
// A Pace belongs to the goroutine of its trace. It holds one epoch of the thread in
// memory.
type Pace struct {
	t      *Trace
	thread event.ThreadID
	epoch  int
	s      *stretch // nil after the last
	insts  *wpp.Weights
	access *wpp.Weights
	inst   func(wpp.Terminal) uint64
	sites  func(wpp.Terminal) uint64
	stack  []wpp.Step
	done   moved // the part of the top terminal that was passed
	blocks uint64
}

// moved counts instructions and accesses of a thread.
type moved struct{ insts, accesses uint64 }

// Pace returns a Pace before the first instruction of a thread.
func (t *Trace) Pace(th event.ThreadID) (*Pace, error) {
	if err := t.hasControl(th); err != nil {
		return nil, err
	}
	p := &Pace{t: t, thread: th, epoch: -1}
	return p, p.nextEpoch()
}

func (p *Pace) nextEpoch() error {
	p.s, p.insts, p.access, p.done, p.blocks = nil, nil, nil, moved{}, 0
	for p.epoch++; p.epoch < len(p.t.epochs); p.epoch++ {
		s, err := p.t.stretch(p.epoch, p.thread)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		p.s, p.stack = s, append(p.stack[:0], wpp.Step{Rule: s.Grammar.Start()})
		p.inst, p.sites = s.termWeight(instsOf), s.termWeight(accessesOf)
		if p.insts, err = wpp.NewWeights(s.Grammar, p.inst); err != nil {
			return err
		}
		p.access, err = wpp.NewWeights(s.Grammar, p.sites)
		return err
	}
	return nil
}

func instsOf(b *format.TableBlock) uint64    { return uint64(b.Insts) }
func accessesOf(b *format.TableBlock) uint64 { return uint64(b.SiteCount) }

// ToEvent goes past the thread's next ordered event, or to the end of the thread
// if none is left (ok is false then). It returns the instructions and the
// accesses, recorded or not, that it passed.
func (p *Pace) ToEvent() (insts, accesses uint64, ok bool, err error) {
	m, ok, err := p.move(0)
	return m.insts, m.accesses, ok, err
}

// PastAccess goes to the end of the block that contains the nth access from here (n ≥ 1),
// or to the next event if that comes first. It returns the instructions that it passed.
func (p *Pace) PastAccess(n uint64) (insts uint64, err error) {
	if n == 0 {
		return 0, nil
	}
	m, _, err := p.move(n)
	return m.insts, err
}

// move goes past the next event if accesses is 0, and otherwise to the end of the block
// that contains that access.
func (p *Pace) move(accesses uint64) (m moved, atEvent bool, err error) {
	for p.s != nil {
		if len(p.stack) == 0 {
			if err := p.nextEpoch(); err != nil {
				return m, false, err
			}
			continue
		}
		top := &p.stack[len(p.stack)-1]
		body := p.s.Grammar.Body(top.Rule)
		if int(top.Index) >= len(body) {
			p.stack = p.stack[:len(p.stack)-1]
			continue
		}
		x := body[top.Index]
		if x.IsRule() {
			r := x.Rule()
			if p.s.events.Rule(r) == 0 && (accesses == 0 || m.accesses+p.access.Rule(r) < accesses) {
				m.insts += p.insts.Rule(r)
				m.accesses += p.access.Rule(r)
				top.Index++
			} else {
				top.Index++
				p.stack = append(p.stack, wpp.Step{Rule: r})
			}
			continue
		}
		if p.s.Terms[x.Terminal()].Kind == format.TermSync {
			if accesses > 0 {
				return m, false, nil
			}
			top.Index++
			return m, true, nil
		}
		rest := moved{p.inst(x.Terminal()) - p.done.insts, p.sites(x.Terminal()) - p.done.accesses}
		if accesses > 0 && m.accesses+rest.accesses >= accesses {
			part := p.within(x.Terminal(), accesses-m.accesses)
			return moved{m.insts + part.insts, m.accesses + part.accesses}, false, nil
		}
		m.insts, m.accesses = m.insts+rest.insts, m.accesses+rest.accesses
		p.done, p.blocks = moved{}, 0
		top.Index++
	}
	return m, false, nil
}

// within continues in a path to the end of the block that contains the nth access from
// here. The path has that many accesses.
func (p *Pace) within(x wpp.Terminal, n uint64) (m moved) {
	t := p.s.Terms[x]
	path := p.s.tab.PathBlocks(format.PathID(t.A))
	length := uint64(len(path))
	once := moved{p.inst(x) / t.B, p.sites(x) / t.B}
	for m.accesses < n {
		if p.blocks%length == 0 && n-m.accesses > once.accesses {
			times := (n - m.accesses - 1) / once.accesses
			m.insts, m.accesses = m.insts+times*once.insts, m.accesses+times*once.accesses
			p.blocks += times * length
			continue
		}
		b := &p.s.tab.Blocks[path[p.blocks%length]]
		m.insts, m.accesses = m.insts+instsOf(b), m.accesses+accessesOf(b)
		p.blocks++
	}
	p.done.insts, p.done.accesses = p.done.insts+m.insts, p.done.accesses+m.accesses
	return m
}

// Insts returns the number of instructions of recorded blocks that a thread executed.
func (t *Trace) Insts(th event.ThreadID) (n uint64) {
	for i := range t.epochs {
		if c := t.epochs[i].thread(th); c != nil {
			n += c.Insts
		}
	}
	return n
}

// instsBefore returns the number of instructions of recorded blocks that a thread
// executed before an epoch.
func (t *Trace) instsBefore(th event.ThreadID, epoch int) (n uint64) {
	for i := range t.epochs[:epoch] {
		if c := t.epochs[i].thread(th); c != nil {
			n += c.Insts
		}
	}
	return n
}

// AccessInsts returns the number of instructions of recorded blocks that a thread
// executed before the block of an access. The arguments name the access as for
// [Trace.AccessStack].
func (t *Trace) AccessInsts(th event.ThreadID, site format.SiteID, ordinal uint64) (uint64, error) {
	s, c, offset, err := t.access(th, site, ordinal)
	if err != nil {
		return 0, err
	}
	w, err := wpp.NewWeights(s.Grammar, s.termWeight(instsOf))
	if err != nil {
		return 0, err
	}
	x, _ := c.Terminal()
	run := s.Terms[x]
	each := s.siteCounts(site).At(c) / run.B // executions of the site in the path
	n := t.instsBefore(th, s.epoch) + w.Rank(c) + offset/each*(w.At(c)/run.B)
	left := offset % each
	for _, id := range s.tab.PathBlocks(format.PathID(run.A)) {
		b := &s.tab.Blocks[id]
		for _, at := range s.tab.BlockSites(b) {
			if at != site {
				continue
			}
			if left == 0 {
				return n, nil
			}
			left--
		}
		n += instsOf(b)
	}
	return 0, fmt.Errorf("access %d of site %d in thread %d: %w", ordinal, site, th, ErrNoSuch)
}

// EventInsts returns the number of instructions of recorded blocks that a thread executed
// before its ordered event with that index, or in total if there is no such event.
func (t *Trace) EventInsts(th event.ThreadID, index uint64) (uint64, error) {
	s, epoch, c, err := t.eventAt(th, index)
	if err != nil {
		return 0, err
	}
	if s == nil {
		return t.Insts(th), nil
	}
	w, err := wpp.NewWeights(s.Grammar, s.termWeight(instsOf))
	if err != nil {
		return 0, err
	}
	return t.instsBefore(th, epoch) + w.Rank(c), nil
}
