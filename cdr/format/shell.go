package format

import (
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// Program is the static control flow of the running program. [*cfg.Program] implements
// it.
//
// A path is identified by its first block and its number, the sum of its edges'
// values; [cfg.Number] defines them.
type Program interface {
	// At returns the basic block that begins at pc.
	At(pc uint64) (cfg.Ref, bool)
	// Block returns a block and its edges, or nil if there is none.
	Block(r cfg.Ref) *cfg.Block
	// Sites lists the plain accesses of a block in execution order.
	Sites(r cfg.Ref) []event.Site
	// Decode returns the blocks of a path.
	Decode(start cfg.Ref, number uint64) ([]cfg.Ref, error)
}

// Shell is a program's static control flow as package app needs it. Functions are
// identified by their index. It is safe for concurrent use if the program is.
type Shell struct{ Program Program }

// Block implements app.Shell: it describes the basic block that begins at pc.
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

// FlowShell is the shell of a flow block. There are three kinds of name. An even number
// is the address of a basic block of the program. An odd number cannot be the address of
// an instruction: 4·n+1 is block n of the tables if that is not a block of the program,
// and 4·n+3 is mark n.
type FlowShell struct {
	Shell
	Codes func(id uint64) (CodeEnd, bool)
	Marks []Mark // the marks so far; a decoder has all of them from the beginning
}

// CodeEnd says how a block of the tables ends.
type CodeEnd struct {
	Next uint64
	End  event.End
}

// The low bits of a name.
const (
	oddName   = 1
	markName  = 3
	NameBits  = 2
	nameKinds = 1<<NameBits - 1
)

func NameOfCode(id uint32) uint64 { return uint64(id)<<NameBits | oddName }

func IsMark(name uint64) bool { return name&nameKinds == markName }
func NameOfMark(i int) uint64 { return uint64(i)<<NameBits | markName }

// Block implements app.Shell.
func (s *FlowShell) Block(name uint64) (app.Block, bool) {
	switch {
	case name&oddName == 0:
		return s.Shell.Block(name)
	case name&nameKinds == markName:
		i := name >> NameBits
		if i >= uint64(len(s.Marks)) {
			return app.Block{}, false
		}
		if s.Marks[i].Returns() {
			return app.Block{Kind: app.Return}, true
		}
		return app.Block{Kind: app.Indirect}, true
	}
	c, ok := s.Codes(name >> NameBits)
	if !ok {
		return app.Block{}, false
	}
	switch c.End {
	case event.EndCall, event.EndCallInd:
		return app.Block{Kind: app.CallIndirect, Return: c.Next}, true
	case event.EndReturn:
		return app.Block{Kind: app.Return}, true
	}
	return app.Block{Kind: app.Indirect}, true
}
