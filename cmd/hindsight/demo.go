package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
)

func newDemo(std streams) *cobra.Command {
	var f racesFlags
	var list, source, paper, licenses bool
	var seed uint64
	var limits limitFlags
	cmd := &cobra.Command{
		Use:   "demo [flags] [NAME [ARGS…]]",
		Short: "Run an embedded example and report its races",
		Long: `demo runs an example program that is part of hindsight, records it, and reports
its races: what run and races do, with nothing to install. --list shows the
examples: the paper's kernels and figures, and a gallery of bugs, each race_…
with a corrected norace_… beside it. It ends with status 0, races or not.`,
		Example: `  hindsight demo
  hindsight demo --list
  hindsight demo --source race_double_checked
  hindsight demo --format json lu_nobarrier`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(f.format, "text", "json"); err != nil {
				return err
			}
			if err := limits.check(); err != nil {
				return err
			}
			if licenses {
				return examples.WriteLicenses(std.out)
			}
			if list {
				return listExamples(std.out)
			}
			name := examples.Programs()[0].Name
			if len(args) > 0 {
				name, args = args[0], args[1:]
			}
			p, ok := examples.Lookup(name)
			if !ok {
				return fmt.Errorf("no example %q; hindsight demo --list shows what there is", name)
			}
			if source {
				text, err := examples.Source(p.Name)
				if err == nil {
					_, err = std.out.Write(text)
				}
				return err
			}
			if len(args) == 0 {
				args = p.Args
				if paper && len(p.PaperArgs) > 0 {
					args = p.PaperArgs
				}
			}
			elf, err := examples.ELF(p.Name)
			if err != nil {
				return err
			}
			img, err := image.Parse(elf)
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "hindsight-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			r := &recording{
				Image: img, Program: p.Name, Args: args, Policy: mpsim.Random, Seed: seed,
				MaxInsts: limits.insts, MaxMemory: uint64(limits.memory), MaxThreads: limits.threads,
				Mode: "cdr", Keep: "all", Alphabet: "path", Out: filepath.Join(dir, p.Name+".hst"),
			}
			done, err := r.record(cmd.Context(), streams{out: std.err, err: std.err})
			if err != nil {
				return err
			}
			done.trouble(std.err)
			fmt.Fprintf(std.err, "hindsight: %s: %s\n", p.Title, done.summary(p.Name+".hst"))
			_, err = f.report(cmd.Context(), std, r.Out)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVar(&f.format, "format", "text", "text or json")
	flags.BoolVar(&list, "list", false, "list the examples")
	flags.BoolVar(&source, "source", false, "print the example's source instead")
	flags.BoolVar(&licenses, "licenses", false, "print the licences of the libraries in the examples instead")
	flags.BoolVar(&paper, "paper", false, "of a kernel: the paper's input")
	flags.Uint64Var(&seed, "seed", 1, "seed of the schedule")
	limits.add(cmd, 0, 0)
	f.atomics, f.color = "relaxed", "auto"
	complete(cmd, "format", "text", "json")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range examples.Programs() {
			names = append(names, p.Name+"\t"+p.Title)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func listExamples(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	group := examples.Group("")
	for _, p := range examples.Programs() {
		if p.Group != group {
			group = p.Group
			fmt.Fprintf(tw, "%s\n", group)
		}
		fmt.Fprintf(tw, "  %s\t%s\n", p.Name, p.Title)
	}
	return tw.Flush()
}
