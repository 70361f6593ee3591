package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/suite"
	"hindsight/mpsim/survey"
	"hindsight/tracefmt/numtext"
)

// suiteHelp explains explore --suite.
const suiteHelp = `With --suite FILE, explore runs all programs of a list, each under all seeds. A
line of the list is a program:

  [NAME:] [VARIABLE=VALUE …] PROGRAM [ARGUMENT …] [<INPUT] [=> EXPECTED …]

Words are quoted as in a shell, and # begins a comment. EXPECTED are words such
as exit=0,3 (statuses, deadlock, fault, signal, limit or any; default 0),
output=FILE, races=none (or some, any, a number), and limits of the program:
runs=50, max-instructions=1000000, max-memory=512M, run-time=30s. The programs
take turns. One that hangs or cannot be run ends no other. The report has a row
for each program. The exit status is 66 when a program showed races that are not
expected, and 1 when anything else was not as expected.`

// settings returns the flags' settings for all programs.
func (f *exploreFlags) settings(ctx context.Context) (*suite.Settings, error) {
	policy, err := f.check()
	if err != nil {
		return nil, err
	}
	rules, err := f.races.rules(ctx)
	if err != nil {
		return nil, err
	}
	return &suite.Settings{
		First: f.seed, Runs: f.runs, RunTime: f.runTime, Teams: f.teams, Env: f.env,
		Policy: policy, Quantum: f.quantum, Depth: f.depth, Root: f.root, CPUs: f.cpus,
		MaxInsts: f.limits.insts, HangInsts: f.limits.hang, MaxMemory: uint64(f.limits.memory), MaxThreads: f.limits.threads,
		StrictAtomics: f.races.atomics == "strict", Suppressions: rules, Predict: f.races.predict.on,
	}, nil
}

// exploreSuite explores the programs of a list.
func (f *exploreFlags) exploreSuite(ctx context.Context, std cli.Streams) error {
	switch {
	case f.until:
		return errors.New("--suite and --until-race: want one of them")
	case f.stdin != "":
		return errors.New("--suite and --stdin: the list names the standard input of each program, <FILE")
	case f.show:
		return errors.New("--suite and --show-output: want one of them")
	case f.short.on:
		return errors.New("--suite and --minimize: want one of them; `hindsight minimize` takes the traces")
	}
	text, err := cli.ReadFile(ctx, f.suite)
	if err != nil {
		return err
	}
	list, err := suite.Parse(f.suite, text)
	if err != nil {
		return err
	}
	if err := f.checkFlags(suite.Formats); err != nil {
		return err
	}
	set, err := f.settings(ctx)
	if err != nil {
		return err
	}
	o := suite.Options{
		List: list, Settings: *set, Jobs: f.jobs, Shard: f.shard.part, Shards: f.shard.of, Resume: f.resume,
		Dir: cmp.Or(f.dir, suite.DefaultDir(f.suite, f.shard.part, f.shard.of)),
	}
	clear := func() {}
	if cli.IsTerminal(std.Err) {
		o.Progress, clear = progressLine(std.Err, o.Planned())
	}
	err = suite.Explore(ctx, o)
	clear()
	if err != nil {
		return fmt.Errorf("%w; --resume continues", err)
	}
	s, err := suite.Read(context.WithoutCancel(ctx), o.Dir, nil)
	if err != nil {
		return err
	}
	r := suiteReport{Suite: s, set: set, flags: &f.races, jobs: f.jobs, ended: cli.Interrupted(ctx)}
	if ctx.Err() != nil {
		r.why = "interrupted: "
	}
	return r.write(ctx, std)
}

// suiteReport is the report of a finished suite.
type suiteReport struct {
	*suite.Suite
	set   *suite.Settings
	flags *racesFlags
	jobs  int
	ended cli.ExitStatus // if runs are missing and nothing else is wrong
	why   string         // the reason for missing runs, for the message
}

// write writes the report.
func (s *suiteReport) write(ctx context.Context, std cli.Streams) error {
	for _, d := range s.Damaged {
		fmt.Fprintf(std.Err, "hindsight: %v\n", d)
	}
	bar := cli.Waiting(std.Err, "making the report")
	rep, err := s.Report(context.WithoutCancel(ctx), *s.set, s.jobs)
	bar()
	if err != nil {
		return err
	}
	status := s.status(rep)
	opts := report.TextOptions{Color: s.flags.color == "always" || s.flags.color == "auto" && cli.IsTerminal(std.Out)}
	err = rep.Write(std.Out, s.flags.format, opts)
	if n := rep.Missing(); err == nil && n > 0 {
		_, err = fmt.Fprintf(std.Err, "hindsight: %s%s missing; `hindsight explore --suite FILE --resume -o %s` makes them\n", s.why, numtext.Count(uint64(n), "run is", "runs are"), s.Dir)
	}
	if err == nil && status != 0 {
		err = status
	}
	return err
}

// status returns the exit status. If an exploration was interrupted, it is that of an
// incomplete one.
func (s *suiteReport) status(rep *suite.Report) cli.ExitStatus {
	if status := cli.ExitStatus(rep.Status()); status != cli.ExitInterrupted {
		return status
	}
	return s.ended
}

// mergeSuites merges explorations of a list.
func mergeSuites(ctx context.Context, std cli.Streams, f *racesFlags, dir string, from []string, jobs int) error {
	if err := cli.CheckFormat(f.format, suite.Formats...); err != nil {
		return err
	}
	rules, err := f.rules(ctx)
	if err != nil {
		return err
	}
	s, err := suite.Merge(ctx, suite.MergeOptions{From: from, Dir: dir, Suppressions: survey.Digest(rules), Intact: intactTrace})
	if err != nil {
		return err
	}
	r := suiteReport{Suite: s, set: &suite.Settings{Suppressions: rules}, flags: f, jobs: jobs, ended: cli.ExitInterrupted}
	return r.write(ctx, std)
}

// hasSuite reports whether one of the directories has the exploration of a list.
func hasSuite(dirs []string) bool {
	for _, dir := range dirs {
		if suite.Is(dir) {
			return true
		}
	}
	return false
}
