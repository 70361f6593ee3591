package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hindsight/tracefmt/numtext"
)

// row is a line of the table.
type row struct {
	name, kind   string
	instructions uint64
	threads      int
	plain        time.Duration // simulated, not recorded
	recorded     time.Duration
	bytes        uint64 // of the trace without the program and its libraries
	races        time.Duration
	memory       uint64 // of races, bytes
	pairs        int    // of instructions that race
	groups       int    // variables or so that they are about
	same         string
}

// measure runs a program under qemu and under hindsight, and analyses the trace.
// A row comes back with an error as well when the run itself went well.
func (o *options) measure(ctx context.Context, p program, r run, kind, bin string) (*row, error) {
	name := p.name
	if r.name != "" {
		name += " " + r.name
	}
	fmt.Fprintf(os.Stderr, "real: running %s, %s\n", name, kind)
	program := filepath.Join(bin, r.args[0])
	trace := o.path("trace", p.name+r.name+"-"+kind+".hst")
	if err := os.MkdirAll(filepath.Dir(trace), 0o755); err != nil {
		return nil, err
	}
	qemu := []string{"qemu-riscv64-static", "-L", "/usr/" + target, "-E", "LD_LIBRARY_PATH=" + bin}
	guest := []string{"--root", "."}
	for _, v := range r.env {
		qemu, guest = append(qemu, "-E", v), append(guest, "--env", v)
	}
	qemu = append(append(qemu, program), r.args[1:]...)
	guest = append(append(guest, program), r.args[1:]...)
	if r.write {
		scratch := o.path("scratch")
		guest = append([]string{"--writable", scratch}, guest...)
	}
	want := o.command(ctx, r, qemu...)
	if want.err != nil {
		return nil, fmt.Errorf("under qemu: %w\n%s", want.err, lastLines(want.diagnostics))
	}
	first := o.command(ctx, r, append([]string{o.hindsight, "run", "--record", "none"}, guest...)...)
	if first.err != nil {
		return nil, fmt.Errorf("simulated: %w\n%s", first.err, lastLines(first.diagnostics))
	}
	got := o.command(ctx, r, append([]string{o.hindsight, "run", "-o", trace}, guest...)...)
	if got.err != nil {
		return nil, fmt.Errorf("recorded: %w\n%s", got.err, lastLines(got.diagnostics))
	}
	line := &row{name: name, kind: kind, plain: first.wall, recorded: got.wall, same: "yes"}
	if err := o.info(ctx, trace, line); err != nil {
		return nil, err
	}
	if err := o.analyse(ctx, trace, line); err != nil {
		return line, err
	}
	if !bytes.Equal(p.comparable(want.output), p.comparable(got.output)) {
		line.same = "no"
		for name, text := range map[string][]byte{".qemu": want.output, ".output": got.output} {
			if err := os.WriteFile(trace+name, text, 0o644); err != nil {
				return line, err
			}
		}
		return line, fmt.Errorf("output differs from that under qemu: compare %s.output with %s.qemu", trace, trace)
	}
	return line, nil
}

// result is how a command ended.
type result struct {
	output, diagnostics []byte
	wall                time.Duration
	memory              uint64
	err                 error
}

// command runs one in the directory of the inputs.
func (o *options) command(ctx context.Context, r run, args ...string) (res result) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = o.path("input")
	if r.write { // each run begins without what the last one wrote
		if res.err = os.RemoveAll(o.path("scratch")); res.err != nil {
			return res
		}
		cmd.Dir = o.path("written")
		if res.err = os.RemoveAll(cmd.Dir); res.err != nil {
			return res
		}
		if res.err = os.CopyFS(cmd.Dir, os.DirFS(o.path("input"))); res.err != nil {
			return res
		}
	}
	cmd.WaitDelay = time.Second
	if r.stdin != "" {
		in, err := os.Open(o.path("input", r.stdin))
		if err != nil {
			return result{err: err}
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	start := time.Now()
	res.err = cmd.Run()
	if ctx.Err() != nil {
		res.err = context.Cause(ctx)
	}
	res.wall, res.output, res.diagnostics = time.Since(start), out.Bytes(), diagnostics.Bytes()
	if cmd.ProcessState != nil {
		res.memory = peakMemory(cmd.ProcessState)
	}
	return res
}

// info takes the sizes from a trace.
func (o *options) info(ctx context.Context, trace string, line *row) error {
	res := o.command(ctx, run{}, o.hindsight, "info", "--format", "json", trace)
	if res.err != nil {
		return fmt.Errorf("info: %w\n%s", res.err, lastLines(res.diagnostics))
	}
	var info struct {
		Threads []struct{ Instructions uint64 }
		Sizes   struct{ File, Image uint64 }
	}
	if err := json.Unmarshal(res.output, &info); err != nil {
		return fmt.Errorf("info: %w", err)
	}
	for _, t := range info.Threads {
		line.instructions += t.Instructions
	}
	line.threads = len(info.Threads)
	line.bytes = info.Sizes.File - info.Sizes.Image
	return nil
}

const foundRaces = 66 // the status of races that has found some

// analyse looks for races, and keeps the report beside the trace.
func (o *options) analyse(ctx context.Context, trace string, line *row) error {
	res := o.command(ctx, run{}, o.hindsight, "races", "--format", "json", trace)
	var exit *exec.ExitError
	if res.err != nil && (!errors.As(res.err, &exit) || exit.ExitCode() != foundRaces) {
		return fmt.Errorf("races: %w\n%s", res.err, lastLines(res.diagnostics))
	}
	if err := os.WriteFile(trace+".json", res.output, 0o644); err != nil {
		return err
	}
	var report struct{ Races []struct{ Group string } }
	if err := json.Unmarshal(res.output, &report); err != nil {
		return fmt.Errorf("races: %w", err)
	}
	groups := map[string]bool{}
	for _, r := range report.Races {
		groups[r.Group] = true
	}
	line.races, line.memory, line.pairs, line.groups = res.wall, res.memory, len(report.Races), len(groups)
	return nil
}

// printTable writes what was measured.
func printTable(w io.Writer, rows []row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(w, "| program | linked | threads | instructions | MIPS simulated | MIPS recorded | trace bytes/1000 inst | `races` s | `races` MB | pairs | groups | as qemu |")
	fmt.Fprintln(w, "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |")
	for _, r := range rows {
		n := float64(r.instructions)
		fmt.Fprintf(w, "| %s | %s | %d | %s | %.2g | %.2g | %.3g | %.2g | %.0f | %d | %d | %s |\n", r.name, r.kind, r.threads, numtext.Grouped(r.instructions),
			n/1e6/r.plain.Seconds(), n/1e6/r.recorded.Seconds(), 1000*float64(r.bytes)/n, r.races.Seconds(), float64(r.memory)/1e6,
			r.pairs, r.groups, r.same)
	}
}
