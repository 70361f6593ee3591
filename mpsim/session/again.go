package session

import (
	"fmt"
	"path/filepath"
	"strings"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim"
	"hindsight/tracefmt/app"
	"hindsight/wpp/cfg"
)

// Again returns the run of a trace, to be recorded with values.
func Again(t *cdr.Trace) (*Run, error) {
	meta := t.Info()
	policy, ok := mpsim.ParsePolicy(meta.Policy)
	if !ok {
		return nil, fmt.Errorf("it was written by %q, not by hindsight run, so there is no program to rerun", meta.Policy)
	}
	if err := meta.CheckBothHalves(); err != nil && meta.Mode != format.ModeSchedule {
		return nil, fmt.Errorf("%w: %s", err, Command(meta))
	}
	img, err := t.Space()
	if err != nil {
		return nil, fmt.Errorf("the program in the trace: %w", err)
	}
	files, err := filesAgain(t, img)
	if err != nil {
		return nil, err
	}
	r := &Run{
		Image: img, Files: files, CPUs: meta.CPUs, Program: meta.Program, Args: meta.Args, Env: meta.Env,
		Policy: policy, Seed: meta.Seed, Quantum: int(meta.Quantum), Depth: meta.Depth, Steps: meta.Steps,
		Mode: ModeWET, Keep: meta.Keep, Alphabet: string(meta.Alphabet), Flow: cfg.New(img),
	}
	if r.Targets, err = mpsim.ParseTargets(meta.Targets); err != nil {
		return nil, fmt.Errorf("the trace's targets: %w", err)
	}
	if r.Follow, err = Followed(t); err != nil {
		return nil, err
	}
	r.Control = meta.Control
	if r.Control == format.ControlAPP {
		r.APP = app.Improved()
	}
	if meta.Argv0 != "" {
		r.Program = meta.Argv0
	}
	if w := meta.World; w != nil {
		r.World = true
		r.Root, r.HangInsts, r.MaxMemory, r.MaxThreads = w.Root, w.HangInsts, w.MaxMemory, w.MaxThreads
	}
	if o := meta.Outcome; o != nil && o.Message != "" && o.Signal == 0 {
		r.MaxInsts = o.Insts // the run was stopped there
	}
	s, err := t.ArchSummary()
	if err != nil {
		return nil, err
	}
	if s != nil {
		r.Arch = archConfig(s)
	}
	return r, nil
}

// world returns what a rerun needs besides the program and its input.
func (r *Run) world() *format.World {
	w := &format.World{HangInsts: r.HangInsts, MaxMemory: r.MaxMemory, MaxThreads: r.MaxThreads}
	if r.Root != "" {
		w.Root = r.Root
		if abs, err := filepath.Abs(r.Root); err == nil {
			w.Root = abs
		}
	}
	return w
}

// Command returns the command that reruns the run of a trace, as far as the trace contains
// it. --root, --stdin and limits are missing.
func Command(meta format.Meta) string {
	words := []string{"hindsight run --sched", meta.Policy, "--seed", fmt.Sprint(meta.Seed)}
	if meta.Policy == mpsim.PCT.String() {
		words = append(words, "--depth", fmt.Sprint(meta.Depth))
	}
	if meta.Targets != "" {
		words = append(words, "--targets", meta.Targets)
	}
	if policy, ok := mpsim.ParsePolicy(meta.Policy); ok && meta.Quantum != uint64(mpsim.QuantumOf(policy, 0)) {
		words = append(words, "--quantum", fmt.Sprint(meta.Quantum))
	}
	for _, kv := range meta.Env {
		words = append(words, "--env", kv)
	}
	return strings.Join(append(append(words, meta.Program), meta.Args...), " ")
}
