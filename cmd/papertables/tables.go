package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/outfile"
)

// tableNames are the values of --table.
var tableNames = []string{"ppopp2003", "ppopp2003-3", "ppopp2003-4", "ppopp2003-5", "ppopp2003-f4", "ppopp2003-f5", "sigmetrics2004", "sigmetrics1999", "fse2005", "all", "micro2004", "micro2004-1", "micro2004-2", "micro2004-3", "micro2004-4", "micro2004-5", "micro2004-6", "micro2004-7", "micro2004-8", "micro2004-9"}

// wetTableNames are those of MICRO 2004.
var wetTableNames = tableNames[slices.Index(tableNames, "micro2004"):]

// paperKernels are the parallel-trace paper's programs, in its order.
var paperKernels = []string{"fft", "lu", "mp3d", "water", "sor"}

// tableFlags are the flags of `papertables`.
type tableFlags struct {
	table   string
	threads []int
	small   bool
	format  string
	out     string
	seed    uint64
	plots   string

	statements []string // of micro2004: millions
	long       bool
}

func newRoot(std cli.Streams) *cobra.Command {
	var f tableFlags
	cmd := &cobra.Command{
		Use:   "papertables [flags] [KERNEL…]",
		Short: "Measure the papers' tables again on the example kernels",
		Long: `papertables runs the five kernels of the parallel-trace paper (fft, lu, mp3d,
water, sor) with the paper's inputs. It measures the tables of the papers again
and prints them beside the published figures. The name of a table is the
conference, the year and the table's number in the paper:

  ppopp2003       the next three, measured together
  ppopp2003-3     Table 3: control flow and synchronisation (COR)
  ppopp2003-4     Table 4: one string of accesses per thread (DOR)
  ppopp2003-5     Table 5: control flow and data (CDR); gzip, xz, zstd
  ppopp2003-f4    Figure 4: addresses, Sequitur alone and Diff∘RLE∘SEQ
  ppopp2003-f5    Figure 5: time of Sequitur alone and Diff∘RLE∘SEQ
  sigmetrics2004  VPC3, Table 2 and speeds: traces of store addresses, cache
                  misses and load values
  sigmetrics1999  LD&R: ratio over block-leader traces
  fse2005         APP, Tables 1 to 3: directions of branches against grammars
                  of paths, also for compiler, interpreter and sort
  micro2004       whole execution traces: micro2004-1 to micro2004-9 are the
                  tables, for runs of 10 and 100 million statements
                  (--statements) of compiler, interpreter, sort, the parts of
                  structures (hash, btree, keys, graph, json) and the kernels;
                  not included in all, because it takes long

Rows that do not reach the paper's figure are marked. Raw traces are temporary
files, for one run at a time. gzip, bzip2, xz and zstd are the installed
programs. --small uses small inputs, for which there are no published figures.`,
		Example: `  papertables --small
  papertables --table ppopp2003-5 --threads 2,4 \
      --format markdown -o t5.md fft lu`,
		ValidArgs:     wetPrograms,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildinfo.Version(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), std, args)
		},
	}
	cli.WrapHelp(cmd)
	cmd.SetIn(std.In)
	cmd.SetOut(std.Out)
	cmd.SetErr(std.Err)
	flags := cmd.Flags()
	flags.StringVar(&f.table, "table", "all", "tables to measure: "+strings.Join(tableNames, ", "))
	flags.IntSliceVar(&f.threads, "threads", []int{2, 4, 8}, "numbers of threads; sigmetrics2004, sigmetrics1999 and fse2005 take the first")
	flags.BoolVar(&f.small, "small", false, "small inputs, for a quick look")
	flags.StringSliceVar(&f.statements, "statements", []string{"10", "100"}, "micro2004: lengths of the runs in millions of statements: 1, 10, 100")
	flags.BoolVar(&f.long, "long", false, "micro2004: also measure all figures for runs of 100 million statements, which takes hours and 16 GB")
	flags.StringVar(&f.format, "format", "text", "text, markdown or csv")
	flags.StringVarP(&f.out, "output", "o", "", "write to `FILE`")
	flags.StringVar(&f.plots, "plots", "", "also draw the tables, as SVG files in `DIR`")
	cli.CompleteDir(cmd, "plots")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the schedules")
	cli.Complete(cmd, "table", tableNames...)
	cli.Complete(cmd, "format", "text", "markdown", "csv")
	return cmd
}

func (f *tableFlags) run(ctx context.Context, std cli.Streams, kernels []string) error {
	if !slices.Contains(tableNames, f.table) {
		return fmt.Errorf("--table %q: want one of %s", f.table, strings.Join(tableNames, ", "))
	}
	if err := cli.CheckFormat(f.format, "text", "markdown", "csv"); err != nil {
		return err
	}
	if len(f.threads) == 0 {
		return fmt.Errorf("--threads: want a number of threads")
	}
	for _, n := range f.threads {
		if n < 1 || n > 64 || n&(n-1) != 0 {
			return fmt.Errorf("--threads %d: want a power of two up to 64", n)
		}
	}
	known := paperKernels
	if strings.HasPrefix(f.table, "micro2004") {
		known = wetPrograms
	} else if f.table == "all" || f.table == "fse2005" {
		known = slices.Concat(paperKernels, paperWorkloads)
	}
	for _, k := range kernels {
		if !slices.Contains(known, k) {
			return fmt.Errorf("no kernel %q: want some of %s", k, strings.Join(known, ", "))
		}
	}
	for _, n := range f.statements {
		if !slices.Contains(wetSizes, n) {
			return fmt.Errorf("--statements %s: want some of %s", n, strings.Join(wetSizes, ", "))
		}
	}
	workloads := paperWorkloads
	if len(kernels) == 0 {
		kernels = paperKernels
	} else if f.table == "all" || f.table == "fse2005" {
		workload := func(k string) bool { return slices.Contains(paperWorkloads, k) }
		workloads = slices.DeleteFunc(slices.Clone(kernels), func(k string) bool { return !workload(k) })
		kernels = slices.DeleteFunc(slices.Clone(kernels), workload)
	}
	dir, err := os.MkdirTemp("", "hindsight-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &comparison{tableFlags: f, std: std, dir: dir, kernels: kernels, workloads: workloads}
	defer c.progress("")
	if f.out == "" {
		return c.write(ctx, std.Out)
	}
	out, err := outfile.Create(ctx, f.out, std.Besides())
	if err != nil {
		return err
	}
	// A table takes long, so it is kept whatever happens to the next one.
	c.measured = out.Publish
	if err := c.write(ctx, out); err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Close()
}

// comparison is one run of `papertables`.
type comparison struct {
	*tableFlags
	std     cli.Streams
	dir     string // of temporary files
	kernels []string

	workloads []string       // beside the kernels, in fse2005
	drawn     map[string]int // tables, by their names
	measured  func() error   // called after each table that is written; may be nil
}

// write measures and prints one paper after the other.
func (c *comparison) write(ctx context.Context, w io.Writer) error {
	if c.format != "csv" {
		if err := c.preface(ctx, w); err != nil {
			return err
		}
	}
	for _, paper := range []struct {
		tables  []string
		measure func(context.Context) ([]*table, error)
	}{
		{[]string{"ppopp2003", "ppopp2003-3", "ppopp2003-4", "ppopp2003-5"}, c.parallel},
		{[]string{"ppopp2003-f4"}, c.figure}, {[]string{"ppopp2003-f5"}, c.timing}, {[]string{"sigmetrics2004"}, c.predictors},
		{[]string{"sigmetrics1999"}, c.loops}, {[]string{"fse2005"}, c.arithmetic},
		{wetTableNames, c.wholeTraces},
	} {
		if c.table == "all" && paper.tables[0] == wetTableNames[0] || c.table != "all" && !slices.Contains(paper.tables, c.table) {
			continue
		}
		tables, err := paper.measure(ctx)
		if err != nil {
			return err
		}
		c.progress("")
		for _, t := range tables {
			if c.table != "all" && c.table != t.id && c.table != paper.tables[0] {
				continue
			}
			if err := t.write(w, c.format); err != nil {
				return err
			}
			if err := c.plot(ctx, t); err != nil {
				return err
			}
			if c.measured != nil {
				if err := c.measured(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// preface says where, when and how the tables were measured.
func (c *comparison) preface(ctx context.Context, w io.Writer) error {
	words := []string{"papertables --table", c.table, "--threads", joinInts(c.threads)}
	if strings.HasPrefix(c.table, "micro2004") {
		words = []string{"papertables --table", c.table, "--statements", strings.Join(c.statements, ",")}
	}
	if c.small {
		words = append(words, "--small")
	}
	if !slices.Equal(c.kernels, paperKernels) || !slices.Equal(c.workloads, paperWorkloads) {
		words = append(words, c.kernels...)
		if c.table == "all" || c.table == "fse2005" {
			words = append(words, c.workloads...)
		}
	}
	lines := []string{
		fmt.Sprintf("Measured %s on %s (%d cores, %s/%s) with", time.Now().UTC().Format("2006-01-02"), processorName(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH),
		"`" + strings.Join(words, " ") + "`.",
		"Compressors: " + strings.Join(c.versions(ctx), ", ") + ".",
	}
	_, err := fmt.Fprintf(w, "%s\n\n", strings.Join(lines, "\n"))
	return err
}

// versions names the installed programs that take part.
func (c *comparison) versions(ctx context.Context) []string {
	var names []string
	for _, name := range []string{"gzip", "xz", "zstd"} {
		out, err := exec.CommandContext(ctx, name, "--version").Output()
		if err != nil {
			names = append(names, "no "+name)
			continue
		}
		line, _, _ := strings.Cut(string(out), "\n")
		names = append(names, strings.TrimSpace(strings.Trim(line, "*")))
	}
	return names
}

// processorName returns the system's name of the processor.
func processorName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(data)) {
			key, value, ok := strings.Cut(line, ":")
			if ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "a processor without a name"
}

func joinInts(values []int) string {
	var words []string
	for _, v := range values {
		words = append(words, strconv.Itoa(v))
	}
	return strings.Join(words, ",")
}

// progress shows on a terminal what is being measured. "" removes the line.
func (c *comparison) progress(what string) {
	if cli.IsTerminal(c.std.Err) {
		fmt.Fprintf(c.std.Err, "\r\x1b[K%s", what)
	}
}

// recording prepares runs of a kernel, which several simulations repeat.
func (c *comparison) recording(kernel string, threads int) (*session.Run, error) {
	p, ok := examples.Lookup(kernel)
	if !ok {
		return nil, fmt.Errorf("no example %s", kernel)
	}
	elf, err := examples.ELF(kernel)
	if err != nil {
		return nil, err
	}
	img, err := image.Parse(elf)
	if err != nil {
		return nil, err
	}
	args := p.PaperArgs
	if c.small {
		args = p.Args
	}
	if slices.Contains(paperKernels, kernel) {
		args = append(slices.Clone(args), "-p", strconv.Itoa(threads))
	}
	return &session.Run{
		Image: img, Program: kernel, Args: args,
		Policy: mpsim.Random, Seed: c.seed, Mode: "cdr", Keep: "all", Alphabet: "path",
	}, nil
}

// simulate runs a program and discards its output. A run that fails is not a measurement.
func (c *comparison) simulate(ctx context.Context, r *session.Run, o event.Observer) error {
	res, err := r.Simulate(ctx, session.Streams{Out: io.Discard, Err: io.Discard}, o)
	switch {
	case err != nil:
		return err
	case res.Interrupted:
		return context.Canceled
	case res.Status != 0:
		return fmt.Errorf("%s %s ended with status %d", r.Program, strings.Join(r.Args, " "), res.Status)
	}
	return nil
}

func (c *comparison) file(name string) string { return filepath.Join(c.dir, name) }
