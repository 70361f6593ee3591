package session

import (
	"context"
	"fmt"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
)

// Options say how [Record] runs a program and what it keeps. The zero value means empty
// input, discarded output, round robin with seed 0, and a CDR trace with all accesses. Only
// Out is required.
type Options struct {
	Args    []string
	Env     []string // NAME=VALUE
	Root    string   // directory that the guest sees as /, read-only; "": none
	Streams          // of the guest

	Policy  mpsim.Policy
	Seed    uint64
	Quantum int // instructions that a thread runs before another may; 0: see [mpsim.QuantumOf]
	Depth   int // of [mpsim.PCT]; 0: [mpsim.DefaultDepth]

	MaxInsts  uint64 // instructions after which the run is stopped; 0: no limit
	MaxMemory uint64 // of the guest, in bytes; 0: mem.DefaultMaxBytes

	Mode string // none, cor, dor, cdr or wet; "": cdr
	Keep string // accesses to keep: shared or all; "": all
	Out  string // file of the trace
}

// Record runs a program, given by the file of a Linux executable for RISC-V, and writes the
// trace of the run. A guest that fails is not an error; the [Summary] says how it ended. If
// ctx is done, the run ends early, and the trace contains what ran until then.
func Record(ctx context.Context, program string, o Options) (*Summary, error) {
	if o.Out == "" && o.Mode != ModeNone {
		return nil, fmt.Errorf("%s: no file for the trace is named", program)
	}
	r, err := Load(program, o.Root)
	if err != nil {
		return nil, err
	}
	r.Args, r.Env = o.Args, o.Env
	r.Policy, r.Seed, r.Quantum, r.Depth = o.Policy, o.Seed, o.Quantum, o.Depth
	r.MaxInsts, r.MaxMemory = o.MaxInsts, o.MaxMemory
	r.Mode, r.Keep, r.Out = o.Mode, o.Keep, o.Out
	r.Inputs = []string{program}
	return r.Record(ctx, o.Streams)
}

// Load prepares the run of a program that sees root as its root directory; "" means none. A
// dynamically linked program gets its libraries from there or from the cross compiler.
func Load(program, root string) (*Run, error) {
	img, err := image.Load(program)
	if err != nil {
		return nil, err
	}
	ReadSources(img, program)
	files, err := FilesFor(img, program, root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if img, err = img.Unstripped(program, debugDirs(program, img.Main.Interp, root)); err != nil {
		return nil, err
	}
	return &Run{Image: img, Program: program, Root: root, Files: files}, nil
}
