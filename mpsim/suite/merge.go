package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hindsight/mpsim/session"
	"hindsight/tracefmt/buildinfo"
)

// MergeOptions say which explorations of a suite to merge.
type MergeOptions struct {
	From []string // their directories
	Dir  string   // receives the result; "": [DefaultDir]. It may be one of From; then the others are added to it
	// Suppressions identifies those of the explorations, as [survey.Digest] returns it.
	Suppressions string
	// Intact returns what is wrong with a trace, or nil.
	Intact func(ctx context.Context, trace string) error
}

// Suite is a finished exploration of a list, for its report.
type Suite struct {
	List    *List
	Dir     string
	Damaged []error // what could not be used; the runs concerned are left out

	head     *head
	problems []Problem
	parts    []*session.Exploration // for each program; nil: there is none
}

// Read reads the exploration of a suite for its report. It changes nothing. intact is as in
// [MergeOptions].
func Read(ctx context.Context, dir string, intact func(context.Context, string) error) (*Suite, error) {
	data, err := os.ReadFile(filepath.Join(dir, StateName))
	if err != nil {
		return nil, err
	}
	h, problems, ok := readState(data)
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, session.ErrNoExploration)
	}
	s := &Suite{Dir: dir, head: h, problems: sortProblems(problems)}
	if s.List, err = h.programs(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, p := range s.List.Programs {
		part := filepath.Join(dir, p.Key)
		var read *session.Merged
		if _, err = os.Stat(part); err == nil {
			read, err = session.ReadExploration(ctx, part, intact)
		}
		if err = s.add(read, err); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add adds the exploration of the next program, or notes why there is none.
func (s *Suite) add(m *session.Merged, err error) error {
	switch {
	case err == nil:
		s.Damaged = append(s.Damaged, m.Damaged...)
		s.parts = append(s.parts, m.Exploration)
		return nil
	case errors.Is(err, session.ErrNoExploration):
		s.Damaged = append(s.Damaged, fmt.Errorf("%w; its runs are left out", err))
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	s.parts = append(s.parts, nil)
	return nil
}

// Merge merges several explorations of a suite into one. Usually they are its shards,
// complete or not. Like [session.Merge], which it calls for each program, it computes a
// union: neither the order of the directories, nor earlier merges, nor repeated directories
// make a difference.
func Merge(ctx context.Context, o MergeOptions) (*Suite, error) {
	h, problems, damaged, err := o.heads()
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		o.Dir = DefaultDir(h.List, 0, 0)
	}
	if err := o.checkDir(); err != nil {
		return nil, err
	}
	s := &Suite{Dir: o.Dir, Damaged: damaged, head: h, problems: sortProblems(problems)}
	if s.List, err = h.programs(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.From[0], err)
	}
	state, err := session.LockState(ctx, o.Dir, StateName)
	if err != nil {
		return nil, err
	}
	for _, p := range s.List.Programs {
		if err := s.add(o.program(ctx, p)); err != nil {
			return nil, errors.Join(err, state.Discard())
		}
	}
	if err := begin(state, h, s.problems); err != nil {
		return nil, errors.Join(err, state.Discard())
	}
	return s, state.Close()
}

// heads reads the states of all directories, and returns the union of their heads and
// problems.
func (o *MergeOptions) heads() (all *head, problems []Problem, damaged []error, err error) {
	first := ""
	for _, dir := range o.From {
		data, err := os.ReadFile(filepath.Join(dir, StateName))
		if _, gone := os.Stat(dir); gone != nil || err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, nil, errors.Join(gone, err)
		}
		if _, err := os.Stat(filepath.Join(dir, session.StateName)); err == nil {
			return nil, nil, nil, fmt.Errorf("%s explores one program, and %s a list of them", dir, o.From[0])
		}
		h, more, ok := readState(data)
		if !ok {
			damaged = append(damaged, fmt.Errorf("%s: %s is damaged from the beginning or missing; only the programs' own states are used", dir, StateName))
			continue
		}
		problems = append(problems, more...)
		if all == nil {
			all, first = h.union(h), dir
			continue
		}
		if d := all.same(h); d != "" {
			return nil, nil, nil, fmt.Errorf("%s explores something else than %s: %s", dir, first, d)
		}
		all = all.union(h)
	}
	switch {
	case all == nil:
		return nil, nil, nil, fmt.Errorf("%s: %w", o.From[0], session.ErrNoExploration)
	case all.Tool != buildinfo.Version():
		return nil, nil, nil, fmt.Errorf("%s: made by hindsight %s, and this is %s: merge with the version that made it", first, all.Tool, buildinfo.Version())
	case all.Suppressions != o.Suppressions:
		return nil, nil, nil, &session.OptionError{Options: []string{"suppressions"}, Err: errors.New("the explorations had other suppressions; give the same files, in the same order")}
	}
	return all, problems, damaged, nil
}

// checkDir returns an error if the result would overwrite an exploration that is not being
// merged.
func (o *MergeOptions) checkDir() error {
	if _, err := os.Stat(filepath.Join(o.Dir, session.StateName)); err == nil {
		return &session.OptionError{Options: []string{"dir"}, Err: fmt.Errorf("%s holds the exploration of one program", o.Dir)}
	}
	here, err := os.Stat(o.Dir)
	if err != nil || !Is(o.Dir) {
		return nil
	}
	for _, dir := range o.From {
		if there, err := os.Stat(dir); err == nil && os.SameFile(here, there) {
			return nil
		}
	}
	return &session.OptionError{Options: []string{"dir"}, Err: fmt.Errorf("%s holds an exploration; name it too, to add to it, or name another directory for the result", o.Dir)}
}

// program merges the explorations of a program.
func (o *MergeOptions) program(ctx context.Context, p *Program) (*session.Merged, error) {
	var from []string
	for _, dir := range o.From {
		if dir = filepath.Join(dir, p.Key); exists(dir) {
			from = append(from, dir)
		}
	}
	if from == nil {
		return nil, os.ErrNotExist
	}
	m, err := session.Merge(ctx, session.MergeOptions{From: from, Dir: filepath.Join(o.Dir, p.Key), Suppressions: o.Suppressions, Intact: o.Intact})
	if err != nil {
		return nil, err
	}
	return m, m.Close()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
