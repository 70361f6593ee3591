package recorder

import (
	"slices"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// codeBlock is a block of the trace: a basic block of the program, or a block of
// the simulator that does not consist of basic blocks.
type codeBlock struct {
	format.CodeRow
	static *cfg.Block // nil if it is not a basic block of the program
	ref    cfg.Ref
}

// simBlock is a block as the simulator runs it: one or more blocks of the trace, each
// entered by falling through from the previous one.
type simBlock struct {
	step *cfg.Step
	ends bool // the path ends after the block

	pc, next uint64
	end      event.End
	blocks   uint32
	insts    uint32
	sites    []format.SiteID
	outside  bool     // not among the blocks chosen for recording
	names    []uint64 // of its blocks, as flows use them; set with ControlAPP
}

// cover returns the basic blocks that a block of the simulator consists of. It returns
// nil if they are not whole: the code is not the program's, or no longer, the block was
// entered in the middle of a basic block, or a fault cut it short.
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
