package suite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hindsight/mpsim"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/mpsim/survey"
)

// Settings are what the programs of a list have in common. They can be sent to another
// machine as JSON.
type Settings struct {
	First   uint64 // seed
	Runs    int    // per program, over all shards
	RunTime time.Duration
	Teams   []int    // as in [session.ExploreOptions]
	Env     []string // of all programs, before their own

	Policy     mpsim.Policy
	Quantum    int
	Depth      int
	Root       string
	CPUs       int
	MaxInsts   uint64
	HangInsts  uint64
	MaxMemory  uint64
	MaxThreads int

	StrictAtomics bool
	Suppressions  []survey.Rules
	Predict       bool
}

// Limits of the runs of a suite if none are given.
const (
	DefaultRunTime   = 10 * time.Minute
	DefaultHangInsts = 100_000_000
)

// RunsOf returns the number of runs of a program, over all shards.
func (s *Settings) RunsOf(p *Program) int { return cmp.Or(p.Limits.Runs, s.Runs) }

// atomics returns the name of the choice in the state of an exploration.
func (s *Settings) atomics() string {
	if s.StrictAtomics {
		return "strict"
	}
	return "relaxed"
}

// Analysis returns the analysis for the traces of a program. run, if not nil, is one of its
// runs.
func (s *Settings) Analysis(p *Program, run *session.Run) *survey.Analysis {
	a := &survey.Analysis{StrictAtomics: s.StrictAtomics, Suppressions: s.Suppressions, Predict: s.Predict}
	if run != nil {
		a.Program = run.Image
	}
	a.Rerun = &session.Rerun{Root: s.Root}
	a.Source = func(trace string) steer.Source { return steer.Source{File: trace, Stdin: p.Stdin} }
	if p.Stdin != "" {
		a.Rerun.Input = func(context.Context) (io.ReadCloser, error) { return os.Open(p.Stdin) }
	}
	return a
}

// teams returns the numbers of threads that the runs of a program use in turn.
func (s *Settings) teams(p *Program) []int {
	set := func(kv string) bool { return strings.HasPrefix(kv, session.TeamVariable+"=") }
	if slices.ContainsFunc(p.Env, set) {
		return nil
	}
	return s.Teams
}

// Explored loads a program and returns the options of its exploration in dir.
func (s *Settings) Explored(p *Program, dir string) (o *session.ExploreOptions, err error) {
	defer func() { // for damaged executables
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%s: hindsight failed: %v", p.Words[0], fault)
		}
	}()
	for _, name := range []string{p.Words[0], p.Stdin} {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // reading a pipe would block
			return nil, fmt.Errorf("%s: not a regular file", name)
		}
	}
	var input []byte
	if p.Stdin != "" {
		if input, err = os.ReadFile(p.Stdin); err != nil {
			return nil, err
		}
	}
	r, err := session.Load(p.Words[0], s.Root)
	if err != nil {
		return nil, err
	}
	r.Args, r.Env, r.CPUs = p.Words[1:], slices.Concat(s.Env, p.Env), s.CPUs
	r.Policy, r.Quantum, r.Depth = s.Policy, s.Quantum, s.Depth
	r.HangInsts, r.MaxThreads = s.HangInsts, s.MaxThreads
	r.MaxInsts = cmp.Or(p.Limits.Instructions, s.MaxInsts)
	r.MaxMemory = cmp.Or(p.Limits.Memory, s.MaxMemory)
	brief := s.Analysis(p, r).Brief
	return &session.ExploreOptions{
		Run: *r, Teams: s.teams(p), Input: input, Dir: dir, First: s.First, Runs: s.RunsOf(p), RunTime: cmp.Or(p.Limits.RunTime, s.RunTime),
		Command: survey.Command(r, s.teams(p), p.Stdin), Atomics: s.atomics(), Suppressions: survey.Digest(s.Suppressions), Predict: s.Predict,
		Races: func(ctx context.Context, trace string) ([]string, error) {
			rep, err := brief(ctx, trace)
			if err != nil {
				return nil, err
			}
			return survey.Fingerprints(rep), nil
		},
	}, nil
}

// DefaultDir returns the default directory of a list's exploration, or of a shard of it:
// the list's name without its extension, in the current directory.
func DefaultDir(list string, shard, shards int) string {
	base := filepath.Base(list)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		base = name
	}
	if shards > 0 {
		base += fmt.Sprintf(".%d-of-%d", shard, shards)
	}
	return base + ".explore"
}
