// Package shell is a program's static control flow as the shell that package
// tracefmt/app plays directions back through.
//
// A Shell is safe for use by several goroutines at once.
package shell

import (
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// Shell is the control flow of a program. Functions are identified by the
// address of their first instruction.
type Shell struct{ program *cfg.Program }

// New makes the shell of a program.
func New(p *cfg.Program) Shell { return Shell{p} }

// Block is app.Shell: what is known of the basic block that begins at pc.
func (s Shell) Block(pc uint64) (app.Block, bool) {
	ref, ok := s.program.At(pc)
	if !ok {
		return app.Block{}, false
	}
	b := s.program.Block(ref)
	out := app.Block{Func: s.program.Func(ref.Func).Start}
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
	return out, true
}
