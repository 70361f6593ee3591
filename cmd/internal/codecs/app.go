package codecs

import (
	"fmt"
	"io"
	"os"

	"hindsight/cdr/format"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// encodeAPP starts packing a block-leader trace as arithmetic program paths.
func encodeAPP(w io.Writer, f *Options) (io.WriteCloser, map[string]string, error) {
	var opts app.Options
	switch f.Profile {
	case "paper":
	case "improved":
		opts = app.Improved()
	default:
		return nil, nil, fmt.Errorf("--profile %q: want paper or improved", f.Profile)
	}
	shell := app.Shell(noShell{})
	if f.Program != "" {
		elf, err := os.ReadFile(f.Program)
		if err != nil {
			return nil, nil, err
		}
		program, err := cfg.Parse(elf)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Program, err)
		}
		shell = runShell{format.Shell{Program: program}}
	}
	z, err := app.NewLeadersWriter(w, shell, opts)
	return z, map[string]string{"profile": f.Profile}, err
}

// runShell is a program's control flow as a simulator or tracer sees it. Such a tool
// notices a leader only if control jumps to it, so a block that is only entered by
// falling through is part of the previous block.
type runShell struct{ format.Shell }

// Block implements app.Shell.
func (s runShell) Block(pc uint64) (app.Block, bool) {
	out, ok := s.Shell.Block(pc)
	for insts := uint32(0); ok; {
		ref, known := s.Program.At(pc)
		if !known {
			break
		}
		b := s.Program.Block(ref)
		if insts += b.Insts; b.End != event.EndFall || insts > maxRunInsts {
			break
		}
		next, known := s.Shell.Block(b.Next())
		if !known {
			break
		}
		out, pc = next, b.Next()
	}
	return out, ok
}

// maxRunInsts limits the instructions of such a combined block.
const maxRunInsts = 64

// noShell is the shell of an unknown program.
type noShell struct{}

// Block implements app.Shell.
func (noShell) Block(uint64) (app.Block, bool) { return app.Block{}, false }
