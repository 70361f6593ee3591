package cdr

import (
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// Shell is a program's static control flow as package app follows it: what is
// left of the program when everything else is taken away. Functions are
// identified by their index. It is safe for use by several goroutines at once,
// if the program is.
type Shell struct{ Program Program }

// Block is app.Shell: what is known of the basic block that begins at pc.
func (s Shell) Block(pc uint64) (app.Block, bool) {
	ref, ok := s.Program.At(pc)
	if !ok {
		return app.Block{}, false
	}
	return shellBlock(s.Program.Block(ref), uint64(ref.Func)), true
}

func shellBlock(b *cfg.Block, function uint64) app.Block {
	out := app.Block{Func: function}
	switch b.End {
	case event.EndBranch:
		out.Kind, out.Targets = app.Branch, []uint64{b.Target, b.Next()}
	case event.EndJump:
		out.Kind, out.Targets = app.Next, []uint64{b.Target}
	case event.EndCall:
		out.Kind, out.Targets, out.Return = app.Call, []uint64{b.Target}, b.Next()
	case event.EndCallInd:
		out.Kind, out.Return = app.CallIndirect, b.Next()
	case event.EndReturn:
		out.Kind = app.Return
	case event.EndIndirect, event.EndTrap:
		for _, e := range b.Succs {
			out.Targets = append(out.Targets, e.PC)
		}
	default:
		out.Kind, out.Targets = app.Next, []uint64{b.Next()}
	}
	return out
}

// flowShell is the shell of a flow block. It knows three kinds of names: an
// even number is the address of a basic block of the program; an odd one, which
// no instruction has for an address, is 2·number+1 of a block of the tables that is none of the program's,
// or, with the top bit set, a mark.
type flowShell struct {
	Shell
	codes func(id uint64) (codeEnd, bool)
	marks []mark // those that there are; a decoder has all of them from the beginning
}

// codeEnd is what the tables say of how a block is left.
type codeEnd struct {
	next uint64
	end  event.End
}

const (
	markName = 1 << 63
	oddName  = 1
)

func nameOfCode(id uint32) uint64 { return uint64(id)<<1 | oddName }
func nameOfMark(i int) uint64     { return markName | uint64(i)<<1 | oddName }

// Block is app.Shell.
func (s *flowShell) Block(name uint64) (app.Block, bool) {
	switch {
	case name&oddName == 0:
		return s.Shell.Block(name)
	case name&markName != 0:
		i := (name &^ markName) >> 1
		if i >= uint64(len(s.marks)) {
			return app.Block{}, false
		}
		if s.marks[i].returns() {
			return app.Block{Kind: app.Return}, true
		}
		return app.Block{Kind: app.Indirect}, true
	}
	c, ok := s.codes(name >> 1)
	if !ok {
		return app.Block{}, false
	}
	switch c.end {
	case event.EndCall, event.EndCallInd:
		return app.Block{Kind: app.CallIndirect, Return: c.next}, true
	case event.EndReturn:
		return app.Block{Kind: app.Return}, true
	}
	return app.Block{Kind: app.Indirect}, true
}
