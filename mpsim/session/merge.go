package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"hindsight/mpsim"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/outfile"
)

// MergeOptions say which explorations to merge.
type MergeOptions struct {
	From []string // their directories
	// Dir receives the traces and the state; "": PROGRAM.explore. It may be one of From;
	// then the others are added to it.
	Dir string
	// Suppressions are those of the explorations, as in [ExploreOptions].
	Suppressions string
	// Intact returns what is wrong with a trace, or nil.
	Intact func(ctx context.Context, trace string) error
}

// Merged is a read-only exploration whose runs were made by others. To make more runs, open
// its directory with Resume.
type Merged struct {
	*Exploration
	// Damaged lists what could not be used in the directories. The runs concerned are left
	// out.
	Damaged []error
}

// Merge merges several explorations of the same program with the same options, usually the
// shards of one, complete or not. It copies the traces that the result needs.
//
// Each input contributes its runs, except those whose traces it needs but has lost. The
// result is the union. So it does not depend on the order of the inputs, on whether some of
// them were merged before, or on whether one is given twice.
func Merge(ctx context.Context, o MergeOptions) (*Merged, error) {
	first, dir, err := anyHead(o.From)
	if err != nil {
		return nil, err
	}
	if first.Tool != buildinfo.Version() {
		return nil, fmt.Errorf("%s: made by hindsight %s, and this is %s: merge with the version that made it", dir, first.Tool, buildinfo.Version())
	}
	if first.Suppressions != o.Suppressions {
		return nil, optionErrorf("suppressions", "the explorations had other suppressions; give the same files, in the same order")
	}
	if o.Dir == "" {
		if first.Plan == nil || first.Plan.Program == "" {
			return nil, optionErrorf("dir", "the explorations do not name their program; name a directory for the result")
		}
		o.Dir = first.Plan.Program + ".explore"
	}
	if err := o.checkDir(); err != nil {
		return nil, err
	}
	f, err := LockState(ctx, o.Dir, StateName)
	if err != nil {
		return nil, err
	}
	m, err := o.merge(ctx, f)
	if err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	m.state = &runState{f}
	return m, nil
}

// ErrNoExploration is wrapped by errors about directories without a readable exploration.
var ErrNoExploration = errors.New("not an exploration, or one of another version")

// ReadExploration reads an exploration for its report. It returns the runs whose required
// traces exist, and changes nothing in the directory. intact is as in [MergeOptions]. The
// result has the options that are stored in the directory.
func ReadExploration(ctx context.Context, dir string, intact func(context.Context, string) error) (*Merged, error) {
	o := MergeOptions{Intact: intact}
	p, head, damaged, err := o.part(ctx, dir)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoExploration)
	}
	m := &Merged{Exploration: p, Damaged: damaged}
	m.describe(head)
	return m, nil
}

// anyHead returns the head of the first directory that has one, and that directory. The
// head says what all of the directories explore.
func anyHead(dirs []string) (stateHead, string, error) {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			return stateHead{}, "", err
		}
	}
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, StateName))
		if err != nil {
			continue
		}
		if head, _, _, ok := parseState(data); ok {
			return head, dir, nil
		}
	}
	return stateHead{}, "", fmt.Errorf("%s: %w", dirs[0], ErrNoExploration)
}

// checkDir returns an error if the result would overwrite an exploration that is not being
// merged.
func (o *MergeOptions) checkDir() error {
	if _, err := os.Stat(filepath.Join(o.Dir, StateName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, dir := range o.From {
		if sameFile(dir, o.Dir) {
			return nil
		}
	}
	return optionErrorf("dir", "%s holds an exploration; name it too, to add to it, or name another directory for the result", o.Dir)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// merge reads the inputs and fills the directory, whose new state file is f.
func (o *MergeOptions) merge(ctx context.Context, f *outfile.File) (*Merged, error) {
	m := &Merged{Exploration: newExploration(ExploreOptions{Dir: o.Dir})}
	var head *stateHead
	traces := map[uint64]string{} // by seed, a trace that an input has
	from := map[uint64]string{}   // by seed, the input that has the run
	for _, dir := range o.From {
		p, h, damaged, err := o.part(ctx, dir)
		if err != nil {
			return nil, err
		}
		m.Damaged = append(m.Damaged, damaged...)
		if p == nil {
			continue
		}
		if head == nil {
			head = h
		} else if d, err := difference(*head, *h); err != nil || d != "" {
			return nil, cmp.Or(err, fmt.Errorf("%s explores something else than %s: %s", dir, o.From[0], d))
		} else {
			head.Plan = head.Plan.union(h.Plan)
		}
		m.limit = max(m.limit, p.limit)
		for seed, r := range p.done {
			if was := m.done[seed]; was != nil && !reflect.DeepEqual(was, r) {
				return nil, fmt.Errorf("seed %d is not the same run in %s and %s: one of them is damaged, leave it out", seed, from[seed], dir)
			}
			m.done[seed], from[seed] = r, dir
		}
		for seed := range p.toKeep() {
			if traces[seed] == "" || sameFile(dir, o.Dir) {
				traces[seed] = p.TracePath(seed)
			}
		}
	}
	if head == nil { // removed since anyHead
		return nil, fmt.Errorf("%s: not an exploration", o.From[0])
	}
	m.describe(head)
	if err := m.copyTraces(ctx, traces); err != nil {
		return nil, err
	}
	if err := m.write(f, head); err != nil {
		return nil, err
	}
	for seed, trace := range traces { // of the directory itself
		if !m.kept[seed] && sameFile(trace, m.TracePath(seed)) {
			if err := os.Remove(trace); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// part reads an input. It returns the runs whose required traces exist, or nil if the state
// cannot be read.
func (o *MergeOptions) part(ctx context.Context, dir string) (*Exploration, *stateHead, []error, error) {
	data, err := os.ReadFile(filepath.Join(dir, StateName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, err
	}
	head, lines, runs, ok := parseState(data)
	if !ok {
		return nil, nil, []error{fmt.Errorf("%s: not an exploration, or its state is damaged from the beginning; its runs are left out", dir)}, nil
	}
	var damaged []error
	if whole := bytes.IndexByte(data, '\n') + 1 + len(lines); whole < len(data) {
		damaged = append(damaged, fmt.Errorf("%s: the state is damaged from byte %d on; the runs from there on are left out", dir, whole))
	}
	p := newExploration(ExploreOptions{Dir: dir, First: head.Seed})
	if head.Plan == nil { // that is all that is known
		head.Plan = &plan{}
		for i := range runs {
			head.Plan.Runs = max(head.Plan.Runs, int(runs[i].Seed-head.Seed+1))
		}
	}
	p.limit = uint64(max(head.Plan.Runs, 0))
	for i := range runs {
		if r := &runs[i]; r.Seed-head.Seed < p.limit {
			p.done[r.Seed] = r
		}
	}
	for seed := range p.toKeep() {
		// A trace that nobody needs may be missing.
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		err := o.intact(ctx, p.TracePath(seed))
		if ctx.Err() != nil {
			return nil, nil, nil, ctx.Err()
		}
		if err != nil {
			damaged = append(damaged, fmt.Errorf("%w; its run is left out", err))
			continue
		}
		p.kept[seed] = true
	}
	p.dropUnshown()
	return p, &head, damaged, nil
}

func (o *MergeOptions) intact(ctx context.Context, trace string) error {
	if _, err := os.Stat(trace); err != nil {
		return err
	}
	if o.Intact == nil {
		return nil
	}
	if err := o.Intact(ctx, trace); err != nil {
		return fmt.Errorf("%s: %w", trace, err)
	}
	return nil
}

// union returns a plan for the runs of both.
func (p *plan) union(q *plan) *plan {
	// The same program may have different paths on different machines. Use one of them, and
	// not an empty one.
	one := *p
	if p.Command == "" || q.Command != "" && cmp.Or(cmp.Compare(q.Command, p.Command), cmp.Compare(q.Program, p.Program)) < 0 {
		one = *q
	}
	one.Runs = max(p.Runs, q.Runs)
	return &one
}

// describe sets the options from a head.
func (m *Merged) describe(head *stateHead) {
	o := &m.o
	o.First, o.Runs, o.Teams = head.Seed, int(m.limit), head.Teams
	o.Atomics, o.Suppressions, o.Predict = head.Atomics, head.Suppressions, head.Predict
	o.Run = Run{Args: head.Args, Env: head.Env, Root: head.Root, CPUs: head.CPUs, Quantum: head.Quantum, Depth: head.Depth}
	o.Run.Policy, _ = mpsim.ParsePolicy(head.Schedule)
	o.Run.Program, o.Command = head.Plan.Program, head.Plan.Command
}

// copyTraces copies the traces that all runs together need.
func (m *Merged) copyTraces(ctx context.Context, traces map[uint64]string) error {
	for seed := range m.toKeep() {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := m.TracePath(seed)
		if !sameFile(traces[seed], to) {
			if err := copyFile(ctx, traces[seed], to); err != nil {
				return err
			}
		}
		m.kept[seed] = true
	}
	return nil
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return outfile.Write(ctx, to, outfile.Options{}, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// write writes the state, in order of seeds.
func (m *Merged) write(f *outfile.File, head *stateHead) error {
	var lines bytes.Buffer
	for _, r := range m.InOrder() {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	return writeState(f, *head, lines.Bytes())
}
