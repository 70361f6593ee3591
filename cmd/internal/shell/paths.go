package shell

import (
	"hindsight/tracefmt/event"
	"hindsight/wpp"
	"hindsight/wpp/cfg"
)

// Paths takes a sequence of basic blocks apart into acyclic paths, as "Whole
// Program Paths" does, and numbers the paths in order of first appearance.
type Paths struct {
	program *cfg.Program
	ids     map[path]wpp.Terminal
	blocks  map[uint64]*cfg.Block
}

// path is an acyclic path: its first block, and the sum of its edges' values.
type path struct{ start, number uint64 }

// NewPaths starts a numbering.
func NewPaths(p *cfg.Program) *Paths {
	return &Paths{program: p, ids: map[path]wpp.Terminal{}, blocks: map[uint64]*cfg.Block{}}
}

// Len is how many paths there are by now.
func (p *Paths) Len() int { return len(p.ids) }

// Of returns the paths of a thread, and how many conditional branches are among
// its blocks that another follows.
func (p *Paths) Of(pcs []uint64) (terms []wpp.Terminal, branches int) {
	var now path
	on := false
	for i, pc := range pcs {
		b, ok := p.blocks[pc]
		if !ok {
			if ref, known := p.program.At(pc); known {
				b = p.program.Block(ref)
			}
			p.blocks[pc] = b
		}
		if !on {
			now = path{start: pc}
		}
		on = false
		if b != nil && i+1 < len(pcs) {
			if b.End == event.EndBranch {
				branches++
			}
			if val, cut, ok := b.Succ(pcs[i+1]); ok && !cut {
				now.number, on = now.number+val, true
			}
		}
		if !on {
			id, ok := p.ids[now]
			if !ok {
				id = wpp.Terminal(len(p.ids))
				p.ids[now] = id
			}
			terms = append(terms, id)
		}
	}
	return terms, branches
}
