// Command hindsight-beam explores the programs of a list on a distributed engine. It is
// an Apache Beam pipeline that does what `hindsight explore --suite` does, and writes the
// same directory. It runs on any runner of Beam: prism (in this process, the default), or
// Flink, Spark, Dataflow and others by their job service.
//
// It is a separate module, so that hindsight does not depend on Beam.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"hindsight/analyze/report"
	"hindsight/mpsim"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/suite"
	"hindsight/tracefmt/numtext"
)

// options are the flags other than those of Beam.
type options struct {
	list, out, format, sched, memory string
	set                              suite.Settings
	chunk                            int
}

func main() {
	var o options
	flag.StringVar(&o.list, "suite", "", "list of programs, as for hindsight explore --suite")
	flag.StringVar(&o.out, "output", "", "directory for traces and states, of a file system that Beam knows (default: as hindsight explore)")
	flag.StringVar(&o.format, "format", "text", "text, json, sarif, markdown or junit")
	flag.IntVar(&o.set.Runs, "runs", 100, "runs of each program")
	flag.Uint64Var(&o.set.First, "seed", 1, "first seed")
	flag.IntVar(&o.chunk, "chunk", 25, "runs of a work item")
	flag.StringVar(&o.sched, "sched", "random", "scheduler: rr, random or pct")
	flag.IntVar(&o.set.Depth, "depth", mpsim.DefaultDepth, "pct: ordering constraints to aim for")
	flag.StringVar(&o.set.Root, "root", "", "directory that the programs see as /")
	flag.Uint64Var(&o.set.MaxInsts, "max-instructions", 1_000_000_000, "stop a run after this number of instructions")
	flag.StringVar(&o.memory, "max-memory", "1G", "memory of a run")
	flag.DurationVar(&o.set.RunTime, "run-time", suite.DefaultRunTime, "stop a run that takes longer, with its analysis")
	flag.Parse()
	beam.Init() // a worker does not return from here
	status, err := o.run(context.Background(), os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "hindsight-beam: %v\n", err)
		status = 2
	}
	os.Exit(status)
}

// job checks the flags.
func (o *options) job() (*job, error) {
	if o.list == "" {
		return nil, errors.New("--suite: want a list of programs")
	}
	if o.chunk < 1 || o.set.Runs < 1 {
		return nil, errors.New("--runs and --chunk: want 1 or more")
	}
	var ok bool
	if o.set.Policy, ok = mpsim.ParsePolicy(o.sched); !ok || o.set.Policy == mpsim.Coverage {
		return nil, fmt.Errorf("--sched %q: want rr, random or pct", o.sched)
	}
	var err error
	if o.set.MaxMemory, err = numtext.ParseSize(o.memory); err != nil {
		return nil, fmt.Errorf("--max-memory: %w", err)
	}
	o.set.MaxThreads, o.set.HangInsts = linux.DefaultMaxTasks, suite.DefaultHangInsts
	text, err := os.ReadFile(o.list)
	if err != nil {
		return nil, err
	}
	j := &job{ListName: o.list, List: string(text), Settings: o.set, Chunk: o.chunk, Out: strings.TrimSuffix(o.out, "/")}
	if j.Out == "" {
		j.Out = suite.DefaultDir(o.list, 0, 0)
	}
	if !strings.Contains(j.Out, "://") {
		if j.Out, err = filepath.Abs(j.Out); err != nil {
			return nil, err
		}
	}
	_, err = j.programs()
	return j, err
}

// run runs the pipeline and writes the report. It returns the exit status.
func (o *options) run(ctx context.Context, w io.Writer) (int, error) {
	j, err := o.job()
	if err != nil {
		return 0, err
	}
	p, s := beam.NewPipelineWithRoot()
	build(s, j)
	if err := beamx.Run(ctx, p); err != nil {
		return 0, err
	}
	name := o.out
	if name == "" {
		name = suite.DefaultDir(o.list, 0, 0)
	}
	dir, remove, err := local(ctx, name)
	if err != nil {
		return 0, err
	}
	defer remove()
	found, err := suite.Read(ctx, dir, nil)
	if err != nil {
		return 0, err
	}
	rep, err := found.Report(ctx, o.set, runtime.NumCPU())
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	if err := rep.Write(&text, o.format, report.TextOptions{}); err != nil {
		return 0, err
	}
	// It names the traces where they are, even if it was computed from copies.
	_, err = w.Write(bytes.ReplaceAll(text.Bytes(), []byte(dir), []byte(name)))
	return rep.Status(), err
}

// local returns a local directory with the content of the output directory.
func local(ctx context.Context, out string) (dir string, remove func(), err error) {
	if !strings.Contains(out, "://") {
		return out, func() {}, nil
	}
	fs, err := filesystem.New(ctx, out)
	if err != nil {
		return "", nil, err
	}
	defer fs.Close()
	out = strings.TrimSuffix(out, "/")
	if dir, err = os.MkdirTemp("", "hindsight-beam"); err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	for _, pattern := range []string{out + "/" + suite.StateName, out + "/*/explore.jsonl", out + "/*/*.hst"} {
		files, err := fs.List(ctx, pattern)
		if err != nil {
			return "", remove, err
		}
		for _, file := range files {
			data, err := filesystem.Read(ctx, fs, file)
			to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(file, out)))
			if err == nil {
				err = os.MkdirAll(filepath.Dir(to), 0o777)
			}
			if err == nil {
				err = os.WriteFile(to, data, 0o666)
			}
			if err != nil {
				return "", remove, err
			}
		}
	}
	return dir, remove, nil
}
