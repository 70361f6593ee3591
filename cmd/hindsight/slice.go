package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze/annotate"
	"hindsight/analyze/slice"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// sliceFlags are the flags of `hindsight slice`.
type sliceFlags struct {
	at             string
	race           string
	instance       string
	thread         string
	direction      string
	deps           string
	throughThreads bool
	depth          int
	format         string
	out            string
	summary        bool
	instructions   bool
	color          string
	sources        []string
	order          string
	all            bool
	lines          int
	sort           string
	why            string
	relevant       bool
}

func newSlice(std cli.Streams) *cobra.Command {
	var f sliceFlags
	cmd := &cobra.Command{
		Use:   "slice [flags] TRACE",
		Short: "Show what led to a value, or what followed from it",
		Long: `slice follows the dependences of a run that was recorded with values (run
--record wet, or hindsight wet) from one execution of a place in the program:
backward to everything that led to it, forward to everything that it led to,
through registers, memory and control flow, and from thread to thread.

` + specHelp + `

--instance K takes the Kth execution, from 0, or the last; "all" takes all of
them. A variable stands for the writes to it.

text is the source with the lines in the slice: how often each took part, which
values came of it (first, last, smallest … largest), and the dependences that
matter most, those between threads first. > marks where the slice begins. json
has every statement instance, or with --summary statements with counts
(docs/slice.schema.json); dot is for graphs small enough to draw; html is one
file with the source in it, in which dependences are links.

--race R1, a race that hindsight races reports, shows what led to each of the
two accesses, what led to both, and what the racy value reached.`,
		Example: `  hindsight slice bank.wet.hst --at bank.c:47
  hindsight slice bank.wet.hst --at total --direction forward --deps data
  hindsight slice bank.wet.hst --at bank.c:31:balance --instance 12 --format html -o why.html
  hindsight slice bank.wet.hst --race R1`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.run(cmd.Context(), std, args[0]); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.at, "at", "", "`SPEC` of the place to begin at")
	flags.StringVar(&f.race, "race", "", "slice around this race, an `ID` of hindsight races (R1)")
	flags.StringVar(&f.instance, "instance", "last", "which execution: a number from 0, last, or all")
	flags.StringVar(&f.thread, "thread", "", "only executions by thread `T`, as 2 or T2")
	flags.StringVar(&f.direction, "direction", "backward", "backward (what led to it) or forward (what followed)")
	flags.StringVar(&f.deps, "deps", "both", "dependences to follow: data, control, both, or sync (these and what orders)")
	flags.BoolVar(&f.throughThreads, "through-threads", true, "follow values that another thread wrote")
	flags.IntVar(&f.depth, "depth", 0, "follow so many dependences at most (0: all)")
	flags.StringVar(&f.format, "format", "text", "text, json, dot or html")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`")
	flags.BoolVar(&f.summary, "summary", false, "of json: statements with counts, not every instance")
	flags.BoolVar(&f.instructions, "instructions", false, "of text: each instruction of code without line numbers")
	flags.StringVar(&f.color, "color", "auto", "emphasis: auto (on a terminal), always or never")
	flags.StringArrayVar(&f.sources, "source-dir", nil, "`DIR` to look for source files in; may be repeated")
	flags.BoolVar(&f.relevant, "relevant", false, "also decisions that could have led to another write of what was read")
	flags.BoolVar(&f.all, "all", false, "with stack pointers, saves and restores of registers, and code of libraries")
	flags.IntVar(&f.lines, "lines", 40, "of text: so many lines of the program at most (0: all)")
	flags.StringVar(&f.sort, "sort", "distance", "of text: distance (nearest first) or source")
	flags.StringVar(&f.why, "why", "", "show the way from where the slice begins to this `LINE` (42 or file.c:42)")
	flags.StringVar(&f.order, "order", "hb", "with --race: what orders accesses, as for hindsight races")
	cli.Complete(cmd, "instance", "last", "all")
	cli.Complete(cmd, "direction", "backward", "forward")
	cli.Complete(cmd, "deps", "data", "control", "both", "sync")
	cli.Complete(cmd, "sort", "distance", "source")
	cli.Complete(cmd, "format", "text", "json", "dot", "html")
	cli.Complete(cmd, "color", "auto", "always", "never")
	cli.Complete(cmd, "order", orderNames()...)
	cli.CompleteDir(cmd, "source-dir")
	limitMemory(cmd)
	return cmd
}

func (f *sliceFlags) run(ctx context.Context, std cli.Streams, file string) error {
	if err := cli.CheckFormat(f.format, "text", "json", "dot", "html"); err != nil {
		return err
	}
	if (f.at == "") == (f.race == "") {
		return errors.New("give --at SPEC, a place to begin at, or --race ID, a race")
	}
	if f.why != "" && (f.format != "text" || f.race != "") {
		return errors.New("--why is for the text of a slice with --at")
	}
	if f.relevant && (f.race != "" || f.direction != "backward" || f.deps == "data" || f.depth != 0) {
		return errors.New("--relevant is for backward slices with control, of any depth")
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := outfile.Check(f.out, std.Besides(file)); err != nil {
		return err
	}
	v, err := openValues(file)
	if err != nil {
		return err
	}
	defer v.close()
	opts.Flow = v.flow
	done := cli.Waiting(std.Err, "following dependences")
	rep := v.report(file, f.sources)
	if f.race != "" {
		err = f.around(ctx, std, v, opts, rep)
	} else {
		err = f.from(ctx, v, opts, rep)
	}
	done()
	if err != nil {
		return err
	}
	return std.WriteTo(ctx, f.out, func(w io.Writer) error {
		if f.format == "html" {
			return slicePage(v, rep).WriteFile(ctx, w)
		}
		return f.write(std, w, rep)
	}, file)
}

func (f *sliceFlags) write(std cli.Streams, w io.Writer, rep *annotate.Report) error {
	switch f.format {
	case "json":
		return rep.WriteJSON(w, annotate.JSONOptions{Summary: f.summary})
	case "dot":
		return rep.WriteDOT(w)
	}
	color := f.color == "always" || f.color == "auto" && f.out == "" && cli.IsTerminal(std.Out)
	lines := f.lines
	if f.all {
		lines = 0
	}
	return rep.WriteText(w, annotate.TextOptions{Color: color, Instructions: f.instructions, BySource: f.sort == "source", Lines: lines, All: f.all, Why: f.why})
}

// options are those of the slice.
func (f *sliceFlags) options() (opts slice.Options, err error) {
	switch f.direction {
	case "backward":
	case "forward":
		opts.Direction = slice.Forward
	default:
		return opts, fmt.Errorf("--direction %q: want backward or forward", f.direction)
	}
	switch f.deps {
	case "both":
	case "data":
		opts.Kinds = slice.Data
	case "control":
		opts.Kinds = slice.Control
	case "sync":
		opts.Kinds = slice.Both | slice.Sync
	default:
		return opts, fmt.Errorf("--deps %q: want data, control, both or sync", f.deps)
	}
	if f.depth < 0 {
		return opts, fmt.Errorf("--depth %d: want a number of dependences", f.depth)
	}
	if f.sort != "distance" && f.sort != "source" {
		return opts, fmt.Errorf("--sort %q: want distance or source", f.sort)
	}
	opts.OneThread, opts.Depth, opts.Brief = !f.throughThreads, f.depth, !f.all
	return opts, nil
}

// which reads --instance.
func (f *sliceFlags) which() (slice.Which, error) {
	switch f.instance {
	case "last":
		return slice.Last, nil
	case "all":
		return slice.All, nil
	}
	n, err := strconv.ParseInt(f.instance, 10, 62)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("--instance %q: want a number from 0, last or all", f.instance)
	}
	return slice.Which(n), nil
}

// from slices from a place in the program.
func (f *sliceFlags) from(ctx context.Context, v *values, opts slice.Options, rep *annotate.Report) error {
	which, err := f.which()
	if err != nil {
		return err
	}
	thread, err := v.thread(f.thread)
	if err != nil {
		return err
	}
	criterion, title, err := f.criterion(v, thread, which)
	if err != nil {
		return err
	}
	find := func() (*slice.Slice, error) { return slice.Compute(ctx, v.graph, criterion, opts) }
	if f.relevant {
		find = func() (*slice.Slice, error) { return slice.Relevant(ctx, v.graph, v.img, criterion, opts) }
	}
	s, err := find()
	if err != nil {
		return err
	}
	rep.At = f.at
	rep.Parts = []annotate.Part{{Role: annotate.RoleSlice, Title: title, Slice: s}}
	return nil
}

// criterion finds the instances that a slice begins with.
func (f *sliceFlags) criterion(v *values, thread int, which slice.Which) (criterion []wet.Instance, title string, err error) {
	for fd, name := range [...]string{1: "stdout:", 2: "stderr:"} {
		if text, ok := strings.CutPrefix(f.at, name); ok && name != "" {
			return f.output(v, uint64(fd), text, which)
		}
	}
	target, err := slice.NewResolver(v.img).Resolve(v.graph, f.at)
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
	if f.direction == "backward" {
		args, err := slice.Arguments(v.graph, v.img, criterion)
		if err != nil {
			return nil, "", err
		}
		criterion = append(criterion, args...)
	}
	return criterion, title, nil
}

// output finds what made a text that the run put out.
func (f *sliceFlags) output(v *values, fd uint64, text string, which slice.Which) ([]wet.Instance, string, error) {
	puts, err := slice.FindOutput(v.graph, v.img, fd, text)
	if err != nil {
		return nil, "", err
	}
	if len(puts) == 0 {
		return nil, "", fmt.Errorf("%s: the run did not put that out there", f.at)
	}
	switch {
	case which == slice.All:
	case which == slice.Last:
		puts = puts[len(puts)-1:]
	case uint64(which) < uint64(len(puts)):
		puts = puts[which : which+1]
	default:
		return nil, "", fmt.Errorf("%s: %w: there are %d", f.at, slice.ErrNoInstance, len(puts))
	}
	var criterion []wet.Instance
	for _, p := range puts {
		from := p.Makers
		if len(from) == 0 || f.direction == "forward" {
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

// lastPass adds to the last instances of a line or function what the thread
// executed of it in the same pass: the last execution of each of its other
// instructions in that function, unless that was before the last time that its
// first instruction was executed.
func (v *values) lastPass(t *slice.Target, last []wet.Instance) ([]wet.Instance, error) {
	thread := int(last[0].Thread)
	pc := v.graph.Node(last[0].Node).Stmts[last[0].Stmt].PC
	in, ok := v.img.Func(pc)
	if !ok {
		return last, nil
	}
	began := uint64(0)
	out := slices.Clone(last)
	for n, pc := range t.PCs { // ascending
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

// title says what a slice begins at.
func (f *sliceFlags) title(v *values, criterion []wet.Instance) string {
	what := "execution " + f.instance
	switch f.instance {
	case "last":
		what = "the last execution"
	case "all":
		return fmt.Sprintf("slice of %s, all executions", f.at)
	}
	if len(criterion) == 0 {
		return fmt.Sprintf("slice of %s", f.at)
	}
	i := criterion[len(criterion)-1]
	text := fmt.Sprintf("slice of %s, %s, by T%d", f.at, what, i.Thread)
	if t, err := v.graph.Time(i.Thread, i.Node, i.K); err == nil {
		text += fmt.Sprintf(" at time %s", numtext.Grouped(t))
	}
	return text
}

// noInstance says which executions there are.
func (f *sliceFlags) noInstance(v *values, t *slice.Target, thread int, err error) error {
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
		return fmt.Errorf("%w; nothing that was recorded executed it", err)
	case thread != slice.AllThreads:
		return fmt.Errorf("%w in T%d; it was executed by %s", err, thread, strings.Join(have, ", "))
	}
	return fmt.Errorf("%w; --instance counts from 0", err)
}

// values is a trace with its values and dependences.
type values struct {
	trace *cdr.Trace
	graph *wet.Graph
	img   *image.Space
	flow  *cfg.Program
}

// openValues opens a trace that was recorded with values.
func openValues(file string) (*values, error) {
	v, err := openViewed(file)
	if err == nil && v.graph == nil {
		v.close()
		return nil, fmt.Errorf("it was recorded without values and dependences; add them with: hindsight wet %s", file)
	}
	return v, err
}

// openViewed opens a trace, with its values if it has them.
func openViewed(file string) (v *values, err error) {
	v = &values{}
	if v.trace, err = cdr.OpenFile(file); err != nil {
		return nil, err
	}
	if v.graph, err = wet.Open(file, wet.OpenOptions{Evaluate: eval.Inst}); errors.Is(err, wet.ErrNoGraph) {
		v.graph, err = nil, nil
	}
	if err == nil {
		err = v.findProgram()
	}
	if err != nil {
		v.close()
		return nil, err
	}
	if v.graph != nil {
		v.flow = cfg.New(v.img)
	}
	return v, nil
}

// findProgram reads the program of a trace; one that was imported has none.
func (v *values) findProgram() error {
	names, err := importedNames(v.trace)
	if err != nil || names != nil {
		return err
	}
	if v.img, err = v.trace.Space(); err != nil {
		return fmt.Errorf("the program in the trace: %w", err)
	}
	return nil
}

func (v *values) close() {
	if v.graph != nil {
		v.graph.Close()
	}
	v.trace.Close()
}

// thread reads a --thread flag: T2 or 2, "" for all.
func (v *values) thread(s string) (int, error) {
	if s == "" {
		return slice.AllThreads, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "T"), "t"), 10, 16)
	if err != nil {
		return 0, fmt.Errorf("--thread %q: want a number such as 2 or T2", s)
	}
	if list := v.graph.Threads(); n >= uint64(len(list)) {
		return 0, fmt.Errorf("--thread T%d: the run has threads T0 to T%d", n, len(list)-1)
	}
	return int(n), nil
}

func (v *values) report(file string, dirs []string) *annotate.Report {
	meta := v.trace.Info()
	info := annotate.Info{
		Version: buildinfo.Version(), File: file, Program: meta.Program, Args: meta.Args,
		Threads: len(v.trace.Threads()), Seed: meta.Seed, Complete: meta.Complete,
	}
	for _, th := range v.trace.Threads() {
		info.Instructions += th.Insts
	}
	return &annotate.Report{Info: info, Image: v.img, Sources: &annotate.Sources{Dirs: dirs}}
}

// specHelp explains SPEC in the help of commands.
const specHelp = `SPEC is file.c:42 (a line), file.c:42:name (what the line does to a variable), a
function, a variable, symbol+8, or 0x and an address. One that names nothing or
too much is answered with what there is.`

// specError lists candidates under each other.
func specError(err error) error {
	var e *slice.SpecError
	if !errors.As(err, &e) || len(e.Candidates) == 0 {
		return err
	}
	return fmt.Errorf("%s: %s; there is\n  %s", e.Spec, e.Reason, strings.Join(e.Candidates, "\n  "))
}
