package steer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"hindsight/analyze"
	"hindsight/cdr/format"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/minimize"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
)

// Failing is a run that fails, and how.
type Failing struct {
	Of      *Original
	Name    string // of the run, for messages
	Failure Failure
}

// Failure says which runs fail: all of its conditions must hold. The zero value with Status
// -1 means runs that end as the first one did.
type Failure struct {
	Status          int            // exit status; -1: any
	Output          *regexp.Regexp // matches either stream; nil: any
	Crash, Deadlock bool
	SameOutput      bool   // the output and exit status of the first run
	Race            string // the name of a race, for messages; "": none
	Fingerprint     string // of Race
}

// manyLines makes "^" and "$" of a pattern match at line boundaries.
const manyLines = "(?m)"

// LinePattern compiles a pattern for a line of output.
func LinePattern(text string) (*regexp.Regexp, error) { return regexp.Compile(manyLines + text) }

// ErrNoFailure says that a run ended successfully, or at a limit, and nothing else is
// specified as failing.
var ErrNoFailure = errors.New("say what counts as failing")

// ErrOtherEnd says that a run does not fail in the requested way.
var ErrOtherEnd = errors.New("the run does not fail")

// Shortest is the shortest schedule found.
type Shortest struct {
	minimize.Result
	Before  int      // number of preemptions of the first run
	Failure string   // how the runs fail
	Story   []string // one line per turn
	// Interrupted says that the search was interrupted.
	Interrupted bool
}

// Minimize looks for the shortest schedule under which a run still fails, with at most the
// given number of runs. It calls step for each of them. If ctx is cancelled, the result is
// the best one so far.
func (f *Failing) Minimize(ctx context.Context, runs int, step func()) (_ *Shortest, err error) {
	m := &minimization{run: f.Of.Run, every: mpsim.EveryOf(f.Of.Insts), input: f.Of.Input, name: f.Name, race: f.Failure.Fingerprint}
	if m.run.HangInsts > shortHang {
		m.run.HangInsts = shortHang
	}
	if f.Of.Insts > 0 {
		m.limit = max(patience*f.Of.Insts, leastPatience)
	}
	defer func() {
		if m.tries != nil {
			err = errors.Join(err, m.tries.m.Close())
		}
	}()
	first, err := m.once(ctx, f.Of.Schedule, mpsim.Random)
	if err != nil {
		return nil, err
	}
	if d := first.res.Diverged; d != nil {
		return nil, errors.New(d.String())
	}
	if err := m.choose(&f.Failure, first); err != nil {
		return nil, err
	}
	out := &Shortest{Failure: m.failure, Before: len(minimize.Preemptions(minimize.Turns(first.res.Schedule)))}
	if m.tries != nil {
		m.tries.take(first)
	}
	m.best, m.limit = first, max(patience*first.res.Insts, leastPatience)
	found, err := minimize.Search(first.res.Schedule, runs, func(s *schedule.Schedule) (*schedule.Schedule, error) {
		step()
		return m.try(ctx, s)
	})
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	out.Result, out.Interrupted = *found, ctx.Err() != nil
	out.Story = m.best.story.Lines(m.best.img, m.best.img.PlaceName)
	return out, nil
}

// minimization is a run whose schedule is being shortened.
type minimization struct {
	run   session.Run
	input []byte
	name  string // of the trace or program
	limit uint64 // in instructions

	fails   func(*attempt) bool
	failure string // how it fails, for messages
	race    string // fingerprint, of --race; "": none
	best    *attempt
	every   uint64 // instructions between checkpoints
	tries   *tries // nil: there was no run yet, or a race is looked for
}

// A run that takes this many times as long as the first does not fail as it did.
const (
	patience      = 10
	leastPatience = 4 << 20 // instructions
	longTurn      = 1 << 20 // instructions: after a schedule, threads are rarely preempted
)

// shortHang is the number of instructions after which a hanging run is stopped.
const shortHang = 4 << 20

// attempt is a run that was made.
type attempt struct {
	res    *mpsim.Result
	img    *image.Space
	output []byte // standard output and error
	races  bool   // with --race: it has the race
	story  *minimize.Story
}

// try is the oracle of the search.
func (m *minimization) try(ctx context.Context, s *schedule.Schedule) (*schedule.Schedule, error) {
	a, err := m.once(ctx, s, mpsim.RoundRobin)
	if err != nil {
		return nil, err
	}
	if !m.fails(a) {
		return nil, nil
	}
	if got := minimize.Turns(a.res.Schedule); len(minimize.Preemptions(got)) < len(minimize.Preemptions(minimize.Turns(m.best.res.Schedule))) {
		m.best = a
		if m.tries != nil {
			m.tries.take(a)
		}
	}
	return a.res.Schedule, nil
}

// once runs the program under a schedule. If it was interrupted, the error is that of ctx.
func (m *minimization) once(ctx context.Context, s *schedule.Schedule, policy mpsim.Policy) (a *attempt, err error) {
	quantum := 0
	if policy == mpsim.RoundRobin {
		quantum = longTurn
	}
	if m.race == "" {
		if m.tries == nil {
			if m.tries, err = m.newTries(); err != nil {
				return nil, err
			}
		}
		return m.tries.run(ctx, s, policy, quantum, m.limit)
	}
	r := m.run
	r.Follow, r.Trail, r.Policy, r.Quantum, r.MaxInsts = s, true, policy, quantum, m.limit
	a = &attempt{img: r.Image.Anew(), story: new(minimize.Story)}
	r.Sliced = a.story.Heard
	var out bytes.Buffer
	if err = m.recorded(ctx, &r, session.Streams{In: bytes.NewReader(m.input), Out: &out, Err: &out}, a); err == nil {
		err = ctx.Err()
	}
	a.output = out.Bytes()
	return a, err
}

// recorded is like once, but writes a trace and looks for the race in it.
func (m *minimization) recorded(ctx context.Context, r *session.Run, std session.Streams, a *attempt) error {
	f, err := os.CreateTemp("", "hindsight-*.hst")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return err
	}
	r.Mode, r.Keep, r.Out, r.Scratch = string(format.ModeCDR), "all", f.Name(), true
	done, err := r.Record(ctx, std)
	if err != nil {
		return err
	}
	a.res, a.img = done.Result, done.Image
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t, err := analyze.Open(f.Name())
	if err != nil {
		return err
	}
	defer t.Close()
	rep, err := t.Races(ctx, analyze.RaceOptions{})
	if err != nil {
		return err
	}
	for i := range rep.Races {
		a.races = a.races || rep.Races[i].Fingerprint == m.race
	}
	return nil
}

// choose determines which runs fail, and checks that the first one does.
func (m *minimization) choose(f *Failure, first *attempt) error {
	var all []func(*attempt) bool
	var names []string
	add := func(name string, fails func(*attempt) bool) { names, all = append(names, name), append(all, fails) }
	if f.Status >= 0 {
		add(fmt.Sprintf("exit status %d", f.Status), func(a *attempt) bool { return a.res.Status == f.Status })
	}
	if f.Output != nil {
		text := strings.TrimPrefix(f.Output.String(), manyLines)
		add(fmt.Sprintf("output that matches %q", text), func(a *attempt) bool { return f.Output.Match(a.output) })
	}
	if f.Crash {
		add("a crash", (*attempt).crashed)
	}
	if f.Deadlock {
		add("a deadlock", (*attempt).deadlocked)
	}
	if f.SameOutput {
		status := first.res.Status
		add("the same output", func(a *attempt) bool { return a.res.Status == status && bytes.Equal(a.output, first.output) })
	}
	if f.Race != "" {
		add("race "+f.Race, func(a *attempt) bool { return a.races })
	}
	if len(all) == 0 {
		name, fails := ending(first)
		if fails == nil {
			return fmt.Errorf("%s: the run ended with %s; %w", m.name, name, ErrNoFailure)
		}
		add(name, fails)
	}
	m.failure = strings.Join(names, " and ")
	m.fails = func(a *attempt) bool {
		for _, fails := range all {
			if a.stopped() || !fails(a) {
				return false
			}
		}
		return true
	}
	if !m.fails(first) {
		name, _ := ending(first)
		return fmt.Errorf("%s: %w with %s; it ended with %s", m.name, ErrOtherEnd, m.failure, name)
	}
	return nil
}

// stopped reports whether a run reached a limit although it could have continued.
func (a *attempt) stopped() bool    { return a.res.LimitReached && !a.res.Hung }
func (a *attempt) hung() bool       { return a.res.Hung }
func (a *attempt) deadlocked() bool { return a.res.Deadlock != nil }
func (a *attempt) crashed() bool    { return a.res.Signal != 0 && !a.deadlocked() && !a.res.LimitReached }

// crash returns the signal that ended the run, and the function if an instruction caused
// it.
func (a *attempt) crash() string {
	text := linux.SignalName(a.res.Signal)
	if f := a.res.Fault; f != nil {
		if s, ok := a.img.Func(f.PC); ok {
			text += " in " + s.Name
		}
	}
	return text
}

// ending returns how a run ended, and which runs end in the same way, or nil for one that
// ended successfully or was stopped.
func ending(a *attempt) (string, func(*attempt) bool) {
	switch {
	case a.deadlocked():
		return "a deadlock", (*attempt).deadlocked
	case a.hung():
		return "a hang", (*attempt).hung
	case a.res.LimitReached:
		return "its limit: " + a.res.Message, nil
	case a.crashed():
		name := a.crash()
		return name, func(b *attempt) bool { return b.crashed() && b.crash() == name }
	case a.res.Status != 0:
		status := a.res.Status
		return fmt.Sprintf("exit status %d", status), func(b *attempt) bool { return !b.crashed() && b.res.Status == status }
	}
	return "exit status 0", nil
}

// Write writes the schedule with the story in its comments, each sentence at the end of its
// turn.
func (m *Shortest) Write(w io.Writer) error {
	turns := minimize.Turns(m.Schedule)
	at, left := -1, 0
	err := m.Schedule.Write(w, func(*schedule.Step) string {
		for left == 0 && at+1 < len(turns) {
			at++
			left = len(turns[at].Steps)
		}
		if left--; left == 0 && at < len(m.Story) {
			return m.Story[at]
		}
		return ""
	})
	if err == nil {
		_, err = fmt.Fprintf(w, "# The run ends: %s\n", m.Failure)
	}
	return err
}
