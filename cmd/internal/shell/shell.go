// Package shell implements the shell of package tracefmt/app with a program's
// static control flow.
//
// A Shell is safe for use by several goroutines at once.
package shell

import (
	"hindsight/cdr/format"
	"hindsight/tracefmt/app"
	"hindsight/wpp/cfg"
)

// Shell is the control flow of a program. Functions are identified by the
// address of their first instruction.
type Shell struct {
	format.Shell
	program *cfg.Program
}

// New makes the shell of a program.
func New(p *cfg.Program) Shell { return Shell{format.Shell{Program: p}, p} }

// Block implements app.Shell: it describes the basic block that begins at pc.
func (s Shell) Block(pc uint64) (app.Block, bool) {
	b, ok := s.Shell.Block(pc)
	if ok {
		b.Func = s.program.Func(uint32(b.Func)).Start
	}
	return b, ok
}
