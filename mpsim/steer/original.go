package steer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/outfile"
)

// Original is a run with which other runs are compared.
type Original struct {
	Run      session.Run // without a schedule to follow
	Schedule *schedule.Schedule
	Insts    uint64
	Input    []byte // standard input
	Command  string // reruns it; %s stands for the file of a schedule
}

// Source names the files that a trace was read from, for commands.
type Source struct {
	File  string // the trace
	Stdin string // the standard input; "": it is in the trace, or there is none
}

// Repeat reruns the run of a trace to obtain its schedule, and reads its input.
func Repeat(ctx context.Context, t *cdr.Trace, again *session.Rerun, from Source) (*Original, error) {
	r, std, done, err := again.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	defer done()
	input, err := io.ReadAll(std.In)
	if err != nil {
		return nil, err
	}
	std.In = bytes.NewReader(input)
	r.Trail = true
	res, err := r.Simulate(ctx, std, nil)
	if err == nil {
		err = session.SameEnd(t, res)
	}
	if err == nil && res.Interrupted {
		err = errors.Join(ctx.Err(), session.ErrOtherRun)
	}
	if err != nil {
		return nil, err
	}
	r.Follow, r.Trail = nil, false
	return &Original{Run: *r, Schedule: res.Schedule, Insts: res.Insts, Input: input, Command: Command(r, from)}, nil
}

// Command returns the command line of a run, as far as it is known, with %s for the file of
// its schedule.
func Command(r *session.Run, from Source) string {
	words := []string{"hindsight", "run", recordNothing, fmt.Sprintf("--seed %d", r.Seed), "--schedule %s"}
	if r.CPUs != 0 {
		words = append(words, fmt.Sprintf("--cpus %d", r.CPUs))
	}
	for _, e := range r.Env {
		words = append(words, "--env "+Quote(e))
	}
	if r.Root != "" {
		words = append(words, "--root "+Quote(r.Root))
	}
	if from.Stdin != "" {
		words = append(words, "--stdin "+Quote(from.Stdin))
	}
	program := r.Program
	if _, err := os.Stat(program); err != nil {
		at := filepath.Join(filepath.Dir(from.File), filepath.Base(program))
		if _, err := os.Stat(at); err == nil {
			program = at
		}
	}
	if !strings.Contains(program, "/") {
		program = "./" + program
	}
	words = append(words, Quote(program))
	for _, a := range r.Args {
		words = append(words, Quote(a))
	}
	return strings.Join(words, " ")
}

// recordNothing is the flag of commands that only show what a run does.
const recordNothing = "--record none"

// WithSchedule returns a [Command] with the file of its schedule, followed by flags.
func WithSchedule(command, file, flags string) string {
	return strings.Replace(command, "%s", Quote(file)+flags, 1)
}

// Quote quotes a word for the shell.
func Quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$&|;<>()*?[]#~`!{}%") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// WriteSchedule writes a schedule with the places where threads stop.
func WriteSchedule(w io.Writer, s *schedule.Schedule, img *image.Space) error {
	return s.Write(w, func(step *schedule.Step) string { return img.PlaceName(step.At) })
}

// keepSchedule writes a file in the directory for schedules and returns its path.
func keepSchedule(ctx context.Context, dir, name string, write func(io.Writer) error) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, outfile.Write(ctx, path, outfile.Options{}, write)
}
