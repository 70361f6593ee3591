// Command answers writes what a build of hindsight prints and writes about the
// examples into a directory: for every command the output and the exit status,
// for every trace its length and its hash. A change that is not to be seen
// leaves the directory as it was (make same BASE=REVISION). The builds must have
// the same version, which traces hold: go build -buildvcs=false.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"hindsight/examples"
	"hindsight/examples/golang"
)

func main() {
	program := flag.String("hindsight", "bin/hindsight", "the build of hindsight that is asked")
	dir := flag.String("o", "bin/answers", "write the answers into `DIR`")
	only := flag.String("only", ".", "only examples whose names match `REGEXP`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := write(ctx, *program, *dir, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		os.Exit(1)
	}
}

func write(ctx context.Context, program, dir, only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "hindsight-answers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	subjects, err := all()
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if !wanted.MatchString(s.name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(work, s.name), s.elf, 0o777); err != nil {
			return err
		}
		a := asker{program: program, dir: work}
		if err := a.about(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.name+".txt"), a.answers.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// subject is an example that is run and asked about.
type subject struct {
	name   string
	elf    []byte
	args   []string
	forms  bool     // recorded in all forms
	values bool     // recorded with values too
	places []string // where slices and queries begin
	memory []string // variables whose writes are asked for
}

func all() ([]subject, error) {
	programs := map[string]examples.Program{}
	for _, p := range examples.Programs() {
		programs[p.Name] = p
	}
	var list []subject
	for e, err := range examples.Executables() {
		if err != nil {
			return nil, err
		}
		p := programs[e.Name]
		s := subject{name: p.Name, elf: e.ELF, args: p.Args, values: true}
		s.forms = p.Group == examples.Demo || p.Group == examples.Figure || p.Name == "sor" || p.Name == "race_index"
		for _, r := range p.Expect {
			for _, line := range slices.Concat(r.Sure, r.May) {
				s.places = append(s.places, fmt.Sprintf("%s:%d", p.File, line))
			}
			if r.Storage == examples.Global {
				s.memory = append(s.memory, r.Variable)
			}
		}
		list = append(list, s)
	}
	gallery, err := golang.Programs()
	if err != nil {
		return nil, err
	}
	elf, err := golang.ELF()
	if err != nil {
		return nil, err
	}
	for _, p := range gallery {
		list = append(list, subject{name: p.Name, elf: elf, args: []string{p.Name}})
	}
	return list, nil
}

// asker runs commands of hindsight and keeps what they answer.
type asker struct {
	program string
	dir     string
	answers bytes.Buffer
}

func (a *asker) about(ctx context.Context, s subject) error {
	if err := a.run(ctx, s); err != nil {
		return err
	}
	err := a.ask(ctx,
		"info trace.hst", "races trace.hst", "races --format json trace.hst", "races --format sarif trace.hst",
		"races --order shb trace.hst", "sharing trace.hst", "contention trace.hst",
	)
	if err != nil {
		return err
	}
	if s.forms {
		if err := a.forms(ctx, s); err != nil {
			return err
		}
	}
	if !s.values {
		return nil
	}
	for _, epoch := range []string{"64M", "64K"} {
		if err := a.run(ctx, s, "--record", "wet", "--epoch-memory", epoch); err != nil {
			return err
		}
		if err := a.values(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// forms records a run in the other forms that there are.
func (a *asker) forms(ctx context.Context, s subject) error {
	for _, form := range [][]string{
		{"--record", "cor"}, {"--record", "dor"}, {"--alphabet", "block"}, {"--control", "app"},
		{"--sched", "rr", "--epoch-memory", "16K"},
	} {
		if err := a.run(ctx, s, form...); err != nil {
			return err
		}
		if err := a.ask(ctx, "info trace.hst", "races trace.hst"); err != nil {
			return err
		}
	}
	return nil
}

// values asks about a trace with values.
func (a *asker) values(ctx context.Context, s subject) error {
	err := a.ask(ctx,
		"info trace.hst", "races trace.hst", "races --impact trace.hst",
		"query --limit 2000 trace.hst cf", "query --limit 2000 --backward trace.hst cf", "query --from 40 --thread 1 --limit 200 trace.hst cf",
		"query --limit 2000 --at main trace.hst values", "query --limit 2000 --at main trace.hst addrs", "slice --race R1 trace.hst",
	)
	if err != nil {
		return err
	}
	for _, place := range s.places[:min(len(s.places), 4)] {
		err := a.ask(ctx,
			"query --limit 5000 --at "+place+" trace.hst values", "query --limit 5000 --at "+place+" trace.hst addrs",
			"slice --at "+place+" trace.hst", "slice --direction forward --at "+place+" trace.hst",
			"slice --instance 0 --format json --summary --at "+place+" trace.hst",
		)
		if err != nil {
			return err
		}
	}
	for _, v := range s.memory[:min(len(s.memory), 2)] {
		if err := a.ask(ctx, "query --limit 2000 --to "+v+" trace.hst writes"); err != nil {
			return err
		}
	}
	return nil
}

// run records a run as trace.hst.
func (a *asker) run(ctx context.Context, s subject, flags ...string) error {
	args := slices.Concat([]string{"run", "-o", "trace.hst"}, flags, []string{"./" + s.name}, s.args)
	if err := a.command(ctx, args); err != nil {
		return err
	}
	trace, err := os.ReadFile(filepath.Join(a.dir, "trace.hst"))
	fmt.Fprintf(&a.answers, "trace: %d bytes, %x\n\n", len(trace), sha256.Sum256(trace))
	return err
}

func (a *asker) ask(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		if err := a.command(ctx, strings.Fields(c)); err != nil {
			return err
		}
	}
	return nil
}

// times match how long something took, which differs from run to run.
var times = regexp.MustCompile(`[\d,]+(\.\d+)?(ns|µs|ms|s|m| MIPS)\b`)

func (a *asker) command(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, a.program, args...)
	cmd.Dir = a.dir
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return errors.Join(ctx.Err(), err)
	}
	fmt.Fprintf(&a.answers, "$ hindsight %s\n%s", strings.Join(args, " "), out.Bytes())
	if trouble.Len() > 0 {
		fmt.Fprintf(&a.answers, "stderr:\n%s", times.ReplaceAll(trouble.Bytes(), []byte("TIME")))
	}
	fmt.Fprintf(&a.answers, "status: %d\n\n", cmd.ProcessState.ExitCode())
	return nil
}
