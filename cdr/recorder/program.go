package recorder

import (
	"slices"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// codeBlock is a block of the trace: a basic block of the program, or what the
// simulator ran as a block where the program has none that fits.
type codeBlock struct {
	format.CodeRow
	static *cfg.Block // nil: not one of the program's
	ref    cfg.Ref
	recent [2]pathID // the paths from here that ran last
}

type pathID struct {
	number uint64
	id     uint32 // PathID+1, 0: none
}

// simBlock is a block as the simulator runs it: one or more blocks of the
// trace, each reached by falling out of the one before.
type simBlock struct {
	edges [2]edge // those that were taken last
	first uint32  // code block
	lead  uint64  // what a path that enters gains up to the first cut inside, or the end
	last  uint32
	cuts  []pathStart // where paths begin inside
	ends  bool        // the path ends after the block

	pc, next uint64
	end      event.End
	blocks   uint32
	insts    uint32
	sites    []format.SiteID
	outside  bool     // not chosen to be recorded
	names    []uint64 // of its blocks in flows; with ControlAPP
}

// edge is a transition from one block of the simulator to another.
type edge struct {
	add uint64 // to the number of the path, the lead of the block included
	to  uint32
	cut bool // the path ends before it
}

// pathStart is a path that begins in the middle of a simulator's block, and
// what it has gained at the next cut there or at the block's end.
type pathStart struct {
	block  uint32
	number uint64
}

// cover finds the basic blocks that a block of the simulator consists of; nil
// when it does not consist of whole ones: its code is not the program's (or not
// any more), it was entered in the middle of a block, or a fault cut it short.
func cover(p format.Program, b *event.Block) []cfg.Ref {
	if p == nil {
		return nil
	}
	var refs []cfg.Ref
	pc, insts, sites := b.PC, b.Insts, b.Sites
	for pc < b.Next() {
		ref, ok := p.At(pc)
		if !ok {
			return nil
		}
		s := p.Block(ref)
		own := p.Sites(ref)
		if s.Insts == 0 || s.Insts > insts || len(own) > len(sites) || !slices.Equal(own, sites[:len(own)]) {
			return nil
		}
		pc, insts, sites = s.Next(), insts-s.Insts, sites[len(own):]
		if last := pc == b.Next(); last && s.End != b.End || !last && s.End != event.EndFall {
			return nil
		}
		refs = append(refs, ref)
	}
	if pc != b.Next() || insts != 0 || len(sites) != 0 {
		return nil
	}
	return refs
}
