// Command real builds programs from Debian's source packages, unmodified, with
// the cross compiler, static and dynamic, runs each under hindsight and under
// qemu-riscv64-static, and prints the cost of recording and of races as a
// Markdown table. See docs/real-programs.md.
//
// It exits with status 1 if a program could not be built or run, or if its
// output differs from that under qemu.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// options of the command.
type options struct {
	hindsight string
	dir       string
	only      string
	kinds     string
	limit     time.Duration
	until     string
}

func main() {
	var o options
	flag.StringVar(&o.hindsight, "hindsight", "hindsight", "the program to be measured")
	flag.StringVar(&o.dir, "dir", "bin/real", "directory for sources, builds, inputs and traces")
	flag.StringVar(&o.only, "only", ".", "only programs whose names match")
	flag.StringVar(&o.kinds, "kinds", "static,dynamic", "how programs are linked")
	flag.DurationVar(&o.limit, "limit", 30*time.Minute, "time that a build or a run may take")
	flag.StringVar(&o.until, "until", "races", "last step: fetch, build or races")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := o.status(ctx)
	stop()
	os.Exit(status)
}

// status does it all and returns the exit status.
func (o *options) status(ctx context.Context) int {
	failures, err := o.main(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		return 2
	}
	for _, f := range failures {
		fmt.Fprintln(os.Stderr, "real:", f)
	}
	if len(failures) > 0 {
		return 1
	}
	return 0
}

// main measures the programs that were asked for, and returns what went wrong with
// single ones.
func (o *options) main(ctx context.Context, w io.Writer) ([]error, error) {
	match, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return nil, err
	}
	if err := writeInputs(o.path("input")); err != nil {
		return nil, err
	}
	store, err := newStore(o.path("apt"), o.path("src"))
	if err != nil {
		return nil, err
	}
	var failures []error
	var rows []row
	for _, p := range programs {
		if !match.MatchString(p.name) {
			continue
		}
		for _, source := range p.packages {
			if err := store.fetch(ctx, source); err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			}
		}
		if p.rust {
			if err := o.fetchRust(ctx); err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			}
		}
		if o.until == "fetch" {
			continue
		}
		for _, kind := range strings.Split(o.kinds, ",") {
			if p.only != "" && kind != p.only {
				continue
			}
			got, err := o.program(ctx, p, kind)
			rows = append(rows, got...)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s, %s: %w", p.name, kind, err))
			}
			if ctx.Err() != nil {
				printTable(w, rows)
				return failures, context.Cause(ctx)
			}
		}
	}
	printTable(w, rows)
	return failures, nil
}

func (o *options) path(elem ...string) string {
	return filepath.Join(append([]string{o.dir}, elem...)...)
}

// program builds one program and measures its runs.
func (o *options) program(ctx context.Context, p program, kind string) ([]row, error) {
	bin := o.path("bin", p.name+"-"+kind)
	if err := o.build(ctx, p, kind, bin); err != nil {
		return nil, err
	}
	if o.until == "build" {
		return nil, nil
	}
	var rows []row
	var failures []error
	for _, r := range p.runs {
		got, err := o.measure(ctx, p, r, kind, bin)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", r.name, err))
		}
		if got != nil {
			rows = append(rows, *got)
		}
	}
	return rows, errors.Join(failures...)
}
