package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindsight/analyze/annotate"
	"hindsight/analyze/report"
	"hindsight/analyze/slice"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/numtext"
	"hindsight/wet"
)

// SliceOptions say where a slice begins and what it follows. Exactly one of At, Race
// and Around must be set.
type SliceOptions struct {
	// At is the place at which to begin (see Places in a program). stdout:TEXT and
	// stderr:TEXT stand for the output of that text.
	At string
	// Instance selects an execution of At: its ordinal, counted from 0, or last, or all.
	// "" means last. For a line or a function, that includes all that the thread executed
	// of it in the same pass.
	Instance string
	// Thread is the thread whose executions count, as T2 or 2. "" means all threads.
	Thread string

	// Race is a race to slice around, by its ID in reports (R1). The slice shows what led
	// to each access, where the two paths diverge, and what the racy value reached.
	Race string
	// Around is like Race, for a race of a report that the caller already has.
	Around *report.Race
	// Order is the order by which to find Race, as in [RaceOptions].
	Order string
	// Common includes what led to both accesses of Race. That is long, and begins at the
	// start of the program.
	Common bool

	Direction slice.Direction // the zero value is backward
	Kinds     slice.Kinds     // dependences to follow; zero is data and control
	OneThread bool            // do not follow values that another thread wrote
	Depth     int             // largest number of dependences to follow in a row; 0 means no limit
	// All includes stack pointers, saves and restores of registers, and code of
	// libraries.
	All bool
	// Relevant includes decisions that could have led to another write of a value that
	// was read. It needs a backward slice with control dependences and without Depth.
	Relevant bool

	SourceDirs []string // directories in which to look for source files
}

// Slice follows dependences from an execution of a place in the program: backward to
// everything that led to it, or forward to everything that it led to. Dependences are
// through registers, memory and control flow, and may lead from thread to thread. If the
// trace was recorded without values, the error is a [*NoValuesError].
func (t *Trace) Slice(ctx context.Context, o SliceOptions) (*annotate.Report, error) {
	v, err := t.withValues()
	if err != nil {
		return nil, err
	}
	opts := slice.Options{Direction: o.Direction, Kinds: o.Kinds, OneThread: o.OneThread, Depth: o.Depth, Brief: !o.All, Flow: v.flow}
	meta := t.cdr.Info()
	rep := &annotate.Report{
		Info: annotate.Info{
			Version: buildinfo.Version(), File: t.file, Program: meta.Program, Args: meta.Args,
			Threads: len(t.cdr.Threads()), Seed: meta.Seed, Complete: meta.Complete, Instructions: t.instructions(),
		},
		Image: v.img, Sources: &annotate.Sources{Dirs: o.SourceDirs},
	}
	if o.Around != nil {
		return rep, aroundRace(ctx, v, &o, opts, o.Around, rep)
	}
	if o.Race != "" {
		return rep, t.around(ctx, v, &o, opts, rep)
	}
	return rep, o.from(ctx, v, opts, rep)
}

func (f *SliceOptions) instance() string { return cmp.Or(f.Instance, "last") }

// which parses Instance.
func (f *SliceOptions) which() (slice.Which, error) {
	switch f.instance() {
	case "last":
		return slice.Last, nil
	case "all":
		return slice.All, nil
	}
	n, err := strconv.ParseInt(f.instance(), 10, 62)
	if err != nil || n < 0 {
		return 0, optionErrorf("instance", strconv.Quote(f.instance()), "want a number from 0, last or all")
	}
	return slice.Which(n), nil
}

// from slices from a place in the program.
func (f *SliceOptions) from(ctx context.Context, v *values, opts slice.Options, rep *annotate.Report) error {
	which, err := f.which()
	if err != nil {
		return err
	}
	thread, err := v.thread(f.Thread)
	if err != nil {
		return err
	}
	criterion, title, err := f.criterion(v, thread, which)
	if err != nil {
		return err
	}
	find := func() (*slice.Slice, error) { return slice.Compute(ctx, v.graph, criterion, opts) }
	if f.Relevant {
		find = func() (*slice.Slice, error) { return slice.Relevant(ctx, v.graph, v.img, criterion, opts) }
	}
	s, err := find()
	if err != nil {
		return err
	}
	rep.At = f.At
	rep.Parts = []annotate.Part{{Role: annotate.RoleSlice, Title: title, Slice: s}}
	return nil
}

// criterion returns the instances at which a slice begins.
func (f *SliceOptions) criterion(v *values, thread int, which slice.Which) (criterion []wet.Instance, title string, err error) {
	for fd, name := range [...]string{1: "stdout:", 2: "stderr:"} {
		if text, ok := strings.CutPrefix(f.At, name); ok && name != "" {
			return f.output(v, uint64(fd), text, which)
		}
	}
	target, err := slice.NewResolver(v.img).Resolve(v.graph, f.At)
	if err != nil {
		return nil, "", specError(err)
	}
	if criterion, err = slice.Instances(v.graph, target, thread, which); err != nil {
		return nil, "", f.noInstance(v, target, thread, err)
	}
	title = f.title(v, criterion)
	if which == slice.Last && len(target.PCs) > 1 {
		if criterion, err = v.lastPass(target, criterion); err != nil {
			return nil, "", err
		}
	}
	if f.Direction == slice.Backward {
		args, err := slice.Arguments(v.graph, v.img, criterion)
		if err != nil {
			return nil, "", err
		}
		criterion = append(criterion, args...)
	}
	return criterion, title, nil
}

// output returns what produced a text in the output of the run.
func (f *SliceOptions) output(v *values, fd uint64, text string, which slice.Which) ([]wet.Instance, string, error) {
	puts, err := slice.FindOutput(v.graph, v.img, fd, text)
	if err != nil {
		return nil, "", err
	}
	if len(puts) == 0 {
		return nil, "", fmt.Errorf("%s: the run did not write that text there", f.At)
	}
	switch {
	case which == slice.All:
	case which == slice.Last:
		puts = puts[len(puts)-1:]
	case uint64(which) < uint64(len(puts)):
		puts = puts[which : which+1]
	default:
		return nil, "", fmt.Errorf("%s: %w: there are %d", f.At, slice.ErrNoInstance, len(puts))
	}
	var criterion []wet.Instance
	for _, p := range puts {
		from := p.Makers
		if len(from) == 0 || f.Direction == slice.Forward {
			from = p.Calls
		}
		for _, i := range from {
			if !slices.Contains(criterion, i) {
				criterion = append(criterion, i)
			}
		}
	}
	title := f.title(v, []wet.Instance{puts[len(puts)-1].Call})
	return criterion, title + " (the write that put it out)", nil
}

// lastPass adds, to the last instances of a line or function, what the thread executed of
// it in the same pass. This is the last execution of each of its other instructions in
// that function, unless it was before the last execution of the first instruction.
func (v *values) lastPass(t *slice.Target, last []wet.Instance) ([]wet.Instance, error) {
	thread := int(last[0].Thread)
	pc := v.graph.Node(last[0].Node).Stmts[last[0].Stmt].PC
	in, ok := v.img.Func(pc)
	if !ok {
		return last, nil
	}
	began := uint64(0)
	out := slices.Clone(last)
	for n, pc := range t.PCs { // in ascending order
		if f, ok := v.img.Func(pc); !ok || f.Addr != in.Addr {
			continue
		}
		one, err := slice.Instances(v.graph, &slice.Target{Text: t.Text, PCs: t.PCs[n : n+1]}, thread, slice.Last)
		if errors.Is(err, slice.ErrNoInstance) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, i := range one {
			at, err := v.graph.Time(i.Thread, i.Node, i.K)
			if err != nil {
				return nil, err
			}
			if began == 0 {
				began = at
			}
			if at >= began && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	return out, nil
}

// title says where a slice begins.
func (f *SliceOptions) title(v *values, criterion []wet.Instance) string {
	what := "execution " + f.instance()
	switch f.instance() {
	case "last":
		what = "the last execution"
	case "all":
		return fmt.Sprintf("slice of %s, all executions", f.At)
	}
	if len(criterion) == 0 {
		return fmt.Sprintf("slice of %s", f.At)
	}
	i := criterion[len(criterion)-1]
	text := fmt.Sprintf("slice of %s, %s, by T%d", f.At, what, i.Thread)
	if t, err := v.graph.Time(i.Thread, i.Node, i.K); err == nil {
		text += fmt.Sprintf(" at time %s", numtext.Grouped(t))
	}
	return text
}

// noInstance returns an error that says which executions there are.
func (f *SliceOptions) noInstance(v *values, t *slice.Target, thread int, err error) error {
	if !errors.Is(err, slice.ErrNoInstance) {
		return err
	}
	var have []string
	for _, th := range v.graph.Threads() {
		if all, e := slice.Instances(v.graph, t, int(th.ID), slice.All); e == nil && len(all) > 0 {
			have = append(have, fmt.Sprintf("T%d", th.ID))
		}
	}
	switch {
	case len(have) == 0:
		return fmt.Errorf("%w; nothing in the recorded part of the run executed it", err)
	case thread != slice.AllThreads:
		return fmt.Errorf("%w in T%d; it was executed by %s", err, thread, strings.Join(have, ", "))
	}
	return fmt.Errorf("%w; instances count from 0", err)
}

// thread parses the name of a thread: T2 or 2, or "" for all threads.
func (v *values) thread(s string) (int, error) {
	if s == "" {
		return slice.AllThreads, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "T"), "t"), 10, 16)
	if err != nil {
		return 0, optionErrorf("thread", strconv.Quote(s), "want a number such as 2 or T2")
	}
	if list := v.graph.Threads(); n >= uint64(len(list)) {
		return 0, optionErrorf("thread", fmt.Sprintf("T%d", n), "the run has threads T0 to T%d", len(list)-1)
	}
	return int(n), nil
}

// specError returns an error that lists the candidates, one on each line.
func specError(err error) error {
	var e *slice.SpecError
	if !errors.As(err, &e) || len(e.Candidates) == 0 {
		return err
	}
	return fmt.Errorf("%s: %s; there is\n  %s", e.Spec, e.Reason, strings.Join(e.Candidates, "\n  "))
}
