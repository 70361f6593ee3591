package witness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"hindsight/analyze/order"
	"hindsight/analyze/predict"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
)

// Runner runs witnesses. It implements the Witnesses of package analyze/rerun.
type Runner struct {
	Rerun *session.Rerun // what the trace does not contain of the run
	Known *Known         // witnesses of the same program that have been run; nil: each is run

	run *recorded // the last one requested
}

// Known holds witnesses that have been run, and their outcomes. Runners in several
// goroutines may share one. The zero value is ready for use.
type Known struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]report.Prediction
}

func (k *Known) get(name string) *report.Prediction {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.all[sha256.Sum256([]byte(name))]; ok {
		return &p
	}
	return nil
}

func (k *Known) put(name string, p *report.Prediction) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[[sha256.Size]byte]report.Prediction{}
	}
	k.all[sha256.Sum256([]byte(name))] = *p
}

// patience is the maximum length of a witness's run, as a multiple of the recorded run.
const (
	patience   = 10
	leastLimit = 2 << 20 // instructions
)

// noSchedule says why some witnesses are not run.
const noSchedule = "threads take turns as tasks or goroutines in the witness, which a schedule of threads cannot ask for"

// Schedule returns a witness as a schedule, or nil if there is none.
func Schedule(p *predict.Race) *schedule.Schedule {
	if p.Witness == nil {
		return nil
	}
	s := steps(p.Witness)
	// The access that came second in the run comes first here.
	s.Steps = append(s.Steps, step(p.Steps[1]), step(p.Steps[0]))
	return s
}

// steps returns the turns of a witness in which a thread makes progress.
func steps(turns []predict.Turn) *schedule.Schedule {
	s := &schedule.Schedule{Name: "witness"}
	at := map[event.ThreadID]predict.Turn{}
	for _, t := range turns {
		if b, ok := at[t.Thread]; !ok || t.Events > b.Events || t.Accesses > b.Accesses {
			at[t.Thread] = t
			s.Steps = append(s.Steps, step(t))
		}
	}
	return s
}

func step(t predict.Turn) schedule.Step {
	return schedule.Step{Kind: schedule.Until, Thread: t.Thread, Events: t.Events, Accesses: t.Accesses}
}

// Race runs the witness of a race that the run in t predicts. If the witness cannot be
// expressed as a schedule of threads, or the run does not follow it, the threads are
// steered to the two accesses as confirm does. The error is that of ctx, or says why the
// program cannot be run.
func (r *Runner) Race(ctx context.Context, t *cdr.Trace, opts race.Options, p *predict.Race) (*report.Prediction, error) {
	dir, err := os.MkdirTemp("", "hindsight")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	follow := func(asked *schedule.Schedule, first, second uint64) (*report.Prediction, error) {
		return r.follow(ctx, t, asked, follower{
			text: func(img *image.Space) []byte { return text(asked, img, first, second) },
			as: func(run *session.Run) {
				run.Only, run.Keep, run.Out, run.Scratch = true, "all", filepath.Join(dir, "witness.hst"), true
			},
			shows: func(run *session.Run, _ *session.Summary) (bool, error) { return has(ctx, run.Out, opts, p) },
			not:   "the run followed the witness to its end and did not race",
		})
	}
	out := &report.Prediction{Diverged: noSchedule}
	if asked := Schedule(p); asked != nil {
		if out, err = follow(asked, p.Accesses[1].PC, p.Accesses[0].PC); err != nil || out.Shown {
			return out, err
		}
	}
	met, why, err := r.meet(ctx, t, p)
	if err != nil {
		return nil, err
	}
	if met != nil {
		other, err := follow(met, p.Accesses[1].PC, p.Accesses[0].PC)
		if err != nil || other.Shown {
			return other, err
		}
		why = other.Diverged
	}
	if why != "" {
		with := *out // a copy, since others may know out
		with.Diverged += "; with the first access held instead, " + why
		out = &with
	}
	return out, nil
}

// follower holds what differs between the runs of witnesses.
type follower struct {
	text  func(*image.Space) []byte
	as    func(*session.Run) // sets how it is recorded
	shows func(*session.Run, *session.Summary) (bool, error)
	not   string // text about a run that does not show it
}

// follow runs a witness, unless it has been run before.
func (r *Runner) follow(ctx context.Context, t *cdr.Trace, asked *schedule.Schedule, f follower) (*report.Prediction, error) {
	run, std, done, err := r.Rerun.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	defer done()
	out := &report.Prediction{Schedule: f.text(run.Image)}
	name := fmt.Sprintf("%s %d %q %s", f.not, run.Seed, run.Env, out.Schedule)
	if known := r.Known.get(name); known != nil {
		return known, nil
	}
	run.Follow, run.MaxInsts = asked, max(patience*insts(t), leastLimit)
	f.as(run)
	sum, err := run.Record(ctx, std)
	switch {
	case err != nil:
		return nil, err
	case sum.Interrupted:
		return nil, errors.Join(ctx.Err(), session.ErrOtherRun)
	case sum.Diverged != nil:
		out.Diverged = reason(sum.Diverged)
	default:
		if out.Shown, err = f.shows(run, sum); err != nil {
			return nil, err
		}
		if !out.Shown {
			out.Diverged = f.not
		}
	}
	r.Known.put(name, out)
	return out, nil
}

// insts returns the number of instructions of the run in a trace.
func insts(t *cdr.Trace) (n uint64) {
	for _, th := range t.Threads() {
		n += th.Insts
	}
	return n
}

// reason says where a run left its witness.
func reason(d *mpsim.Divergence) string {
	return fmt.Sprintf("at %q of the witness: %s", d.Step.String(), d.What)
}

// has reports whether the race analysis finds a race in the recording of a run.
func has(ctx context.Context, file string, opts race.Options, p *predict.Race) (bool, error) {
	t, err := cdr.OpenFile(file)
	if err != nil {
		return false, err
	}
	defer t.Close()
	res, err := race.Analyze(ctx, replay.FromTrace(t), opts)
	if err != nil {
		return false, err
	}
	for i := range res.Races {
		if same(&res.Races[i].First, &p.Accesses) {
			return true, nil
		}
	}
	return false, nil
}

// same reports whether two races are between the same instructions.
func same(x *race.Instance, sides *[2]order.Access) bool {
	a, b := x.Later.Place, x.Earlier.Place
	return a == sides[0].Place && b == sides[1].Place || a == sides[1].Place && b == sides[0].Place
}

// text returns the text form of a witness, with the places of its two accesses, which are
// its last steps.
func text(s *schedule.Schedule, img *image.Space, first, second uint64) []byte {
	var b bytes.Buffer
	n := len(s.Steps)
	_ = s.Write(&b, func(st *schedule.Step) string { // a buffer takes everything
		switch st {
		case &s.Steps[n-2]:
			return "the access at " + named(img, first)
		case &s.Steps[n-1]:
			return "the access at " + named(img, second)
		}
		return ""
	})
	return b.Bytes()
}

// named returns text for a place in the code.
func named(img *image.Space, pc uint64) string {
	if name := img.PlaceName(pc); name != "" {
		return name
	}
	return fmt.Sprintf("%#x", pc)
}
