package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/examples/golang"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

func newDemo(std cli.Streams) *cobra.Command {
	f := defaultRaces()
	var list, source, paper, licenses bool
	var seed uint64
	var limits limitFlags
	cmd := &cobra.Command{
		Use:   "demo [flags] [NAME [ARGS…]]",
		Short: "Run an embedded example and report its races",
		Long: `demo runs an example program that is embedded in hindsight, records it, and
reports its races. It does what run and races do, with nothing to install.
--list shows the examples: the paper's kernels and figures, and a gallery of
bugs, each race_… with its corrected norace_…. The exit status is 0 whether or
not there are races.`,
		Example: `  hindsight demo
  hindsight demo --list
  hindsight demo --source race_double_checked
  hindsight demo go-captured         # of the gallery of Go: race_go_captured
  hindsight demo --format json lu_nobarrier`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(f.format, "text", "json"); err != nil {
				return err
			}
			if err := limits.check(); err != nil {
				return err
			}
			if licenses {
				return examples.WriteLicenses(std.Out)
			}
			if list {
				return listExamples(std.Out)
			}
			name := examples.Programs()[0].Name
			if len(args) > 0 {
				name, args = args[0], args[1:]
			}
			p, err := demoOf(name, paper)
			if err != nil {
				return err
			}
			if source {
				text, err := p.source()
				if err == nil {
					_, err = std.Out.Write(text)
				}
				return err
			}
			if len(args) == 0 {
				args = p.args
			}
			elf, err := p.elf()
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
			r := &session.Run{
				Image: img, Program: p.name, Args: args, Policy: mpsim.Random, Seed: seed,
				MaxInsts: limits.insts, HangInsts: limits.hang, MaxMemory: uint64(limits.memory), MaxThreads: limits.threads,
				Mode: "cdr", Keep: "all", Alphabet: "path", Out: filepath.Join(dir, p.name+".hst"),
			}
			done, err := r.Record(cmd.Context(), session.Streams{Out: std.Err, Err: std.Err})
			if err != nil {
				return err
			}
			trouble(std.Err, done)
			fmt.Fprintf(std.Err, "hindsight: %s: %s\n", p.title, summary(done, p.name+".hst"))
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
	flags.BoolVar(&paper, "paper", false, "run a kernel with the paper's input")
	flags.Uint64Var(&seed, "seed", 1, "seed of the schedule")
	limits.add(cmd, 0, 0)
	cli.Complete(cmd, "format", "text", "json")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, p := range examples.Programs() {
			names = append(names, p.Name+"\t"+p.Title)
		}
		list, _ := golang.Programs()
		for _, p := range list {
			names = append(names, p.Name+"\t"+p.Title)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// demoProgram is an embedded program.
type demoProgram struct {
	name, title string
	args        []string
	source, elf func() ([]byte, error)
}

// demoOf finds a C example, or an example of the Go gallery, whose executable contains
// the whole gallery.
func demoOf(name string, paper bool) (*demoProgram, error) {
	if p, ok := examples.Lookup(name); ok {
		d := &demoProgram{name: p.Name, title: p.Title, args: p.Args}
		if paper && len(p.PaperArgs) > 0 {
			d.args = p.PaperArgs
		}
		d.source = func() ([]byte, error) { return examples.Source(p.Name) }
		d.elf = func() ([]byte, error) { return examples.ELF(p.Name) }
		return d, nil
	}
	if short, ok := strings.CutPrefix(name, "go-"); ok {
		name = "race_go_" + short
	}
	p, err := golang.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("no example %q; hindsight demo --list shows what there is", name)
	}
	return &demoProgram{name: p.Name, title: p.Title, args: []string{p.Name}, source: p.Source, elf: golang.ELF}, nil
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
	list, err := golang.Programs()
	if err != nil {
		return err
	}
	fmt.Fprintln(tw, "gallery of Go")
	for _, p := range list {
		fmt.Fprintf(tw, "  %s\t%s\n", p.Name, p.Title)
	}
	return tw.Flush()
}
