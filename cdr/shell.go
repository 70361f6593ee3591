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
// even number is the address of a basic block of the program; of odd ones, which
// no instruction has for an address, 4·n+1 is block n of the tables, where that
// is none of the program's, and 4·n+3 is mark n.
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

// The low bits of a name.
const (
	oddName   = 1
	markName  = 3
	nameBits  = 2
	nameKinds = 1<<nameBits - 1
)

func nameOfCode(id uint32) uint64 { return uint64(id)<<nameBits | oddName }
func nameOfMark(i int) uint64     { return uint64(i)<<nameBits | markName }

// Block is app.Shell.
func (s *flowShell) Block(name uint64) (app.Block, bool) {
	switch {
	case name&oddName == 0:
		return s.Shell.Block(name)
	case name&nameKinds == markName:
		i := name >> nameBits
		if i >= uint64(len(s.marks)) {
			return app.Block{}, false
		}
		if s.marks[i].returns() {
			return app.Block{Kind: app.Return}, true
		}
		return app.Block{Kind: app.Indirect}, true
	}
	c, ok := s.codes(name >> nameBits)
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
