package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/session"
	"hindsight/mpsim/suite"
	"hindsight/mpsim/survey"
)

// shardFlag is I/N: part I of N, from 1 on. The zero value means all.
type shardFlag struct{ part, of int }

func (s *shardFlag) Type() string { return "I/N" }

func (s *shardFlag) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.part, s.of)
}

func (s *shardFlag) Set(text string) error {
	part, of, _ := strings.Cut(text, "/")
	i, errI := strconv.Atoi(part)
	n, errN := strconv.Atoi(of)
	if errI != nil || errN != nil || i < 1 || i > n {
		return fmt.Errorf("want I/N with I from 1 to N, such as 2/5")
	}
	*s = shardFlag{i, n}
	return nil
}

// suffix returns the part of a directory's name that says which shard it has.
func (s *shardFlag) suffix() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf(".%d-of-%d", s.part, s.of)
}

func newMerge(std cli.Streams) *cobra.Command {
	var f racesFlags
	var dir string
	cmd := &cobra.Command{
		Use:   "merge [flags] DIR…",
		Short: "Join the explorations of several machines into one report",
		Long: `merge joins the directories of ` + "`hindsight explore --shard`" + `, and of other
explorations of the same program with the same options, into the directory of
-o. The result has each race once, with all the seeds that show it and the
traces that they need. The report is the same, byte for byte, as that of one
exploration with all the runs. The order of the directories does not matter, and
neither does merging in several steps. ` + "`hindsight explore --resume -o DIR`" + `
continues from the result. For directories of ` + "`explore --suite`" + `, merge does
this program by program.

The explorations may have been interrupted or killed. A run is left out if its
trace is needed but missing or damaged. The report names the missing seeds. -o
may name one of the directories, to add to it.

The exit status is 66 when a race was seen, and 130 when none was seen and runs
are missing. For a suite it is as for ` + "`explore --suite`" + `.`,
		Example: `  hindsight explore --runs 900 --shard 1/3 ./bank     # on one machine
  hindsight explore --runs 900 --shard 2/3 ./bank     # on another
  hindsight explore --runs 900 --shard 3/3 ./bank     # and on a third
  hindsight merge bank.*-of-3.explore                 # into bank.explore
  hindsight merge -o all --format junit night1 night2`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if hasSuite(args) {
				return mergeSuites(cmd.Context(), std, &f, dir, args, runtime.NumCPU())
			}
			return merge(cmd.Context(), std, &f, dir, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&dir, "output", "o", "", "`DIR` for the traces and the runs (default PROGRAM.explore in this directory)")
	flags.StringVar(&f.format, "format", "text", "text, json, markdown or junit; of a suite also sarif")
	flags.StringArrayVar(&f.suppressions, "suppressions", nil, "`FILE` of races not to report, the same as for the explorations; may be repeated")
	flags.StringVar(&f.color, "color", "auto", "emphasis: auto (on a terminal), always or never")
	cli.CompleteDir(cmd, "output")
	cli.Complete(cmd, "format", suite.Formats...)
	cli.Complete(cmd, "color", "auto", "always", "never")
	return cmd
}

// merge executes the command.
func merge(ctx context.Context, std cli.Streams, f *racesFlags, dir string, from []string) error {
	if err := cli.CheckFormat(f.format, exploreFormats...); err != nil {
		return err
	}
	f.atomics = "relaxed" // a valid value until the real one is known
	if _, err := f.options(); err != nil {
		return err
	}
	rules, err := f.rules(ctx)
	if err != nil {
		return err
	}
	all, err := session.Merge(ctx, session.MergeOptions{From: from, Dir: dir, Suppressions: survey.Digest(rules), Intact: intactTrace})
	if err != nil {
		return err
	}
	defer all.Close()
	for _, d := range all.Damaged {
		fmt.Fprintf(std.Err, "hindsight: %v\n", d)
	}
	o := all.Options()
	f.atomics, f.predict.on = o.Atomics, o.Predict
	e := &exploration{
		Survey: &survey.Survey{Exploration: all.Exploration, Races: f.analysis(rules, nil, "", "").Report, Planned: o.Runs, Missing: all.Missing()},
		flags:  f, ended: cli.ExitInterrupted,
	}
	if len(e.Missing) > 0 {
		are := "are"
		if len(e.Missing) == 1 {
			are = "is"
		}
		e.Unfinished = fmt.Sprintf("%s of %d %s missing; `hindsight explore --resume -o %s` makes them", survey.SeedsText(e.Missing), o.Runs, are, o.Dir)
	}
	return e.write(ctx, std)
}

// intactTrace reads a whole trace. If ctx is cancelled, it returns at once, and the
// reading continues until the process ends.
func intactTrace(ctx context.Context, name string) error {
	done := make(chan error, 1)
	go func() {
		t, err := analyze.Open(name)
		if err != nil {
			done <- err
			return
		}
		defer t.Close()
		done <- t.Verify(false)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
