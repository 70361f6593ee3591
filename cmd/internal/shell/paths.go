package shell

import (
	"hindsight/tracefmt/event"
	"hindsight/wpp"
	"hindsight/wpp/cfg"
)

// Paths divides a sequence of basic blocks into acyclic paths, as "Whole Program Paths"
// does, and numbers the paths in order of first appearance.
type Paths struct {
	program *cfg.Program
	steps   cfg.Steps
	blocks  map[uint64]*block
	ids     map[cfg.Path]wpp.Terminal
}

// block is a basic block by its address.
type block struct {
	*cfg.Step
	branch bool // it ends with a conditional branch
}

// NewPaths starts a numbering.
func NewPaths(p *cfg.Program) *Paths {
	return &Paths{program: p, blocks: map[uint64]*block{}, ids: map[cfg.Path]wpp.Terminal{}}
}

// Len returns the number of different paths so far.
func (p *Paths) Len() int { return len(p.ids) }

// Of returns the paths of a thread, and the number of its conditional branches that
// another block follows.
func (p *Paths) Of(pcs []uint64) (terms []wpp.Terminal, branches int) {
	var follow cfg.Follower
	for i, pc := range pcs {
		b := p.block(pc)
		if b.branch && i+1 < len(pcs) {
			branches++
		}
		if ended, cut := follow.Enter(b.Step); cut {
			terms = append(terms, p.id(ended))
		}
	}
	if ended, ok := follow.End(); ok {
		terms = append(terms, p.id(ended))
	}
	return terms, branches
}

func (p *Paths) block(pc uint64) *block {
	b, ok := p.blocks[pc]
	if !ok {
		step := cfg.StepBlock{ID: uint32(len(p.blocks)), PC: pc}
		if ref, known := p.program.At(pc); known {
			step.Block = p.program.Block(ref)
		}
		b = &block{p.steps.Add(step), step.Block != nil && step.Block.End == event.EndBranch}
		p.blocks[pc] = b
	}
	return b
}

func (p *Paths) id(path cfg.Path) wpp.Terminal {
	id, ok := p.ids[path]
	if !ok {
		id = wpp.Terminal(len(p.ids))
		p.ids[path] = id
	}
	return id
}
