package steer

import (
	"context"
	"fmt"
	"path"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/mpsim"
	"hindsight/mpsim/debug"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
)

// Debuggee is the run of a trace, ready to be debugged.
type Debuggee struct {
	Console debug.Console
	trace   *analyze.Trace
	past    *session.Past
	again   *session.Rerun
	report  *report.Report // of its races; nil: not requested yet
}

// Debug reruns the program of a trace, and calls progress with the number of instructions
// so far. Checkpoints use at most memory bytes.
func Debug(ctx context.Context, t *analyze.Trace, again *session.Rerun, memory uint64, progress func(insts uint64)) (*Debuggee, error) {
	run, err := again.Past(ctx, t.Recorded(), progress)
	if err != nil {
		return nil, err
	}
	d := &Debuggee{trace: t, past: run, again: again}
	r := mpsim.NewReplay(run.Journal, mpsim.ReplayOptions{Memory: memory})
	d.Console = debug.Console{Debugger: debug.New(r, run), Races: d.race}
	return d, nil
}

// race finds an access of a race. The races are computed when they are first requested.
func (d *Debuggee) race(ctx context.Context, id string, side int) (uint64, string, error) {
	if d.report == nil {
		rep, err := d.trace.Races(ctx, analyze.RaceOptions{Rerun: d.again, Artifacts: analyze.ArtifactsBrief})
		if err != nil {
			return 0, "", err
		}
		d.report = rep
	}
	for i := range d.report.Races {
		r := &d.report.Races[i]
		if r.ID != id {
			continue
		}
		var times [2]uint64
		for i := range times {
			var err error
			if times[i], err = d.access(ctx, &r.Accesses[i]); err != nil {
				return 0, "", fmt.Errorf("%s: %w", id, err)
			}
		}
		which := 0
		if times[1] < times[0] == (side == 1) {
			which = 1
		}
		a := &r.Accesses[which]
		return times[which], fmt.Sprintf("%s, %s of two accesses: T%d, %s of %s at %#x\n", id, [...]string{"the earlier", "the later"}[side-1], a.Thread, a.Op, numtext.Plural(a.Size, "byte"), a.Address), nil
	}
	return 0, "", fmt.Errorf("race %s: the trace has no such race; it has %d", id, len(d.report.Races))
}

func (d *Debuggee) access(ctx context.Context, a *report.Access) (uint64, error) {
	r := d.Console.Replay
	if a.Op.Plain() {
		return d.past.Access(ctx, r, a.Thread, a.Site, a.Ordinal)
	}
	return d.past.Event(ctx, r, a.Thread, a.Segment, a.PC)
}

// Program returns the path under which a debugger finds the program.
func (d *Debuggee) Program() string { return "/" + path.Base(d.trace.Recorded().Info().Program) }

// Files returns the program and its shared objects by path.
func (d *Debuggee) Files() map[string][]byte {
	files := map[string][]byte{}
	for i, img := range d.past.Journal.Image().Images() {
		name := debug.FileName(img)
		if i == 0 {
			name = d.Program()
		}
		files[name] = img.Data
	}
	return files
}
