package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hindsight/analyze/report"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/tracefmt/numtext"
	"hindsight/tracefmt/outfile"
)

// Minimal is the shortest schedule found for an outcome or a race of an exploration.
type Minimal struct {
	Outcome     string   `json:"outcome"` // how the runs fail
	Seed        uint64   `json:"seed"`    // of the run that was minimized
	Before      int      `json:"preemptions_before"`
	Preemptions int      `json:"preemptions"`
	Runs        int      `json:"runs"`
	Minimal     bool     `json:"minimal"` // no preemption can be left out
	Story       []string `json:"story"`   // one line per turn
	Schedule    string   `json:"schedule"`
	Command     string   `json:"command"`
	// Failed says why there is no schedule; "": there is one.
	Failed string `json:"failed,omitempty"`
}

// MinimizeOptions say how outcomes are minimized.
type MinimizeOptions struct {
	Runs  int    // maximum number for each outcome
	Stdin string // file with the standard input, for commands; "": none
	Step  func() // called for each run
}

// maxOtherOutputs bounds how many different outputs of successful runs are minimized.
const maxOtherOutputs = 6

// outcome is an outcome to minimize.
type outcome struct {
	name, file string
	seed       uint64
	failure    steer.Failure
}

// outcomes returns the failures among the runs: each ending other than exit status 0, each
// output of runs with exit status 0 other than the most frequent one, and each group of
// races that a recorded run showed.
func (e *Survey) outcomes(rep *report.Report, runs *Runs) (all []outcome) {
	usual := -1 // index of the most frequent output of successful runs
	for i := range runs.Outcomes {
		o := &runs.Outcomes[i]
		if o.well() && (usual < 0 || len(o.Seeds) > len(runs.Outcomes[usual].Seeds)) {
			usual = i
		}
	}
	seen, others := map[string]bool{}, 0
	as := steer.Failure{Status: -1}
	for i := range runs.Outcomes {
		o := &runs.Outcomes[i]
		switch {
		case i == usual || seen[o.ended]:
		case o.well():
			if others++; others <= maxOtherOutputs {
				other := as
				other.SameOutput = true
				all = append(all, outcome{"another output", fmt.Sprintf("output-%d", others), o.Seeds[0], other})
			}
		default:
			seen[o.ended] = true
			all = append(all, outcome{o.how(), fmt.Sprintf("%s-%d", o.Ending, o.Status), o.Seeds[0], as})
		}
	}
	for i := range rep.Races {
		if r := &rep.Races[i]; r.Group == r.ID && r.Prediction == nil && len(r.Seeds) > 0 {
			race := as
			race.Race, race.Fingerprint = r.ID, r.Fingerprint
			all = append(all, outcome{"race " + r.ID, r.ID, r.Seeds[0], race})
		}
	}
	return all
}

// well reports whether the runs exited with status 0.
func (o *Outcome) well() bool { return o.Ending == "exit" && o.Status == 0 }

// Minimize looks for the shortest schedule of each failure among the runs of an
// exploration, and writes it to the directory of the traces. If ctx is cancelled, the
// result contains what was found until then.
func (e *Survey) Minimize(ctx context.Context, rep *report.Report, runs *Runs, o MinimizeOptions) ([]Minimal, error) {
	var all []Minimal
	for _, what := range e.outcomes(rep, runs) {
		m, err := e.minimal(ctx, &what, o)
		switch {
		case ctx.Err() != nil:
			return all, nil
		case err != nil:
			return all, fmt.Errorf("seed %d: %w", what.seed, err)
		}
		all = append(all, *m)
	}
	return all, nil
}

// minimal minimizes a run.
func (e *Survey) minimal(ctx context.Context, what *outcome, o MinimizeOptions) (*Minimal, error) {
	m := &Minimal{Outcome: what.name, Seed: what.seed}
	of, err := e.original(ctx, what.seed, o.Stdin)
	if err != nil {
		return nil, err
	}
	failing := steer.Failing{Of: of, Name: fmt.Sprintf("seed %d", what.seed), Failure: what.failure}
	found, err := failing.Minimize(ctx, o.Runs, o.Step)
	switch {
	case errors.Is(err, steer.ErrNoFailure):
		m.Failed = "a run that is stopped at a limit is not minimized"
		return m, nil
	case errors.Is(err, steer.ErrOtherEnd):
		m.Failed = err.Error()
		return m, nil
	case err != nil:
		return nil, err
	}
	m.Before, m.Preemptions, m.Runs, m.Minimal, m.Story = found.Before, found.Preemptions, found.Runs, found.Minimal, found.Story
	m.Schedule = filepath.Join(e.Options().Dir, fmt.Sprintf("seed%d.%s.minimal.txt", what.seed, what.file))
	m.Command = steer.WithSchedule(of.Command, m.Schedule, "")
	return m, outfile.Write(context.WithoutCancel(ctx), m.Schedule, outfile.Options{}, found.Write)
}

// original reruns the run of a seed to obtain its schedule.
func (e *Survey) original(ctx context.Context, seed uint64, stdin string) (*steer.Original, error) {
	o := e.Options()
	r := e.RunOf(seed)
	r.Trail = true
	done, err := r.Record(ctx, session.Streams{In: bytes.NewReader(o.Input)})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	r.Trail = false
	return &steer.Original{Run: *r, Schedule: done.Schedule, Insts: done.Insts, Input: o.Input, Command: steer.Command(r, steer.Source{Stdin: stdin})}, nil
}

// shownTurns is the number of turns of a story that the text shows.
const shownTurns = 20

// text writes a schedule as a story.
func (m *Minimal) text(b *strings.Builder) {
	fmt.Fprintf(b, "hindsight: %s (seed %d)", m.Outcome, m.Seed)
	if m.Failed != "" {
		fmt.Fprintf(b, ": %s\n", m.Failed)
		return
	}
	fmt.Fprintf(b, " with %d of %s, after %s", m.Preemptions, numtext.Plural(uint64(m.Before), "preemption"), numtext.Plural(uint64(m.Runs), "run"))
	if !m.Minimal {
		b.WriteString("; perhaps some can be left out")
	}
	b.WriteByte('\n')
	for i, line := range m.Story {
		if i == shownTurns {
			fmt.Fprintf(b, "  … %d more turns, in the schedule\n", len(m.Story)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", line)
	}
	fmt.Fprintf(b, "  schedule: %s\n  rerun:    %s\n", m.Schedule, m.Command)
}
