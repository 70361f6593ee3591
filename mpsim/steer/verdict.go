package steer

import (
	"context"
	"fmt"
	"io"

	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/mpsim/confirm"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
)

// Judge finds out what the races of a trace do.
type Judge struct {
	*confirm.Confirmer
	t     *cdr.Trace
	of    *Original
	dir   string
	calls map[event.ThreadID][]uint64 // places of events, in order, by thread
}

// NewJudge makes a Judge of the races in t, whose run is of. It tries so many random
// continuations, and writes the schedules of runs that differ into dir.
func NewJudge(t *cdr.Trace, of *Original, tries int, dir string) *Judge {
	r := &of.Run
	return &Judge{t: t, of: of, dir: dir, Confirmer: confirm.New(confirm.Options{
		Config: r.Config(r.Image, session.Streams{}), Image: r.Image, Hooks: r.Hooks, Schedule: of.Schedule,
		Input: of.Input, Insts: of.Insts, Tries: tries,
	})}
}

// Race finds out what the first instance of a race does.
func (j *Judge) Race(ctx context.Context, r *report.Race) (*report.Verdict, error) {
	var pair confirm.Pair
	for i, to := range []*confirm.Access{&pair.B, &pair.A} {
		a := &r.Accesses[i]
		*to = confirm.Access{Thread: a.Thread, PC: a.PC, Ordinal: a.Ordinal, Address: a.Address, Size: a.Size, Call: !a.Op.Plain()}
		if to.Call {
			var err error
			if to.Ordinal, err = j.ordinal(a); err != nil {
				return nil, err
			}
		}
	}
	f, err := j.Pair(ctx, pair)
	if err != nil {
		return nil, err
	}
	v := &report.Verdict{Verdict: string(f.Verdict)}
	v.Evidence = report.Evidence{What: f.What, Tries: f.Tries, Variables: f.Variables, Place: j.of.Run.Image.PlaceName(f.Stands)}
	if f.As == nil {
		return v, nil
	}
	if v.Evidence.AsWas, err = j.keep(ctx, r.ID+"-as-was.txt", f.As); err != nil {
		return nil, err
	}
	v.Evidence.Swapped, err = j.keep(ctx, r.ID+"-swapped.txt", f.Swapped)
	return v, err
}

// ordinal is how often the thread had executed the instruction of an access that is
// an event.
func (j *Judge) ordinal(a *report.Access) (uint64, error) {
	if j.calls == nil {
		j.calls = map[event.ThreadID][]uint64{}
		for e, err := range j.t.Events() {
			if err != nil {
				return 0, err
			}
			j.calls[e.Thread] = append(j.calls[e.Thread], e.PC)
		}
	}
	n, last := uint64(0), false
	for i, pc := range j.calls[a.Thread] {
		if uint64(i) >= a.Segment {
			break
		}
		// Events of one call are adjacent.
		if pc == a.PC && !last {
			n++
		}
		last = pc == a.PC
	}
	return n, nil
}

// keep writes the schedule of a run.
func (j *Judge) keep(ctx context.Context, name string, o *confirm.Outcome) (*report.Rerun, error) {
	path, err := keepSchedule(ctx, j.dir, name, func(w io.Writer) error { return WriteSchedule(w, o.Schedule, j.of.Run.Image) })
	if err != nil {
		return nil, err
	}
	flags := ""
	if o.Endless() {
		flags = fmt.Sprintf(" --max-instructions %d", o.Schedule.Insts())
	}
	return &report.Rerun{Schedule: path, Command: WithSchedule(j.of.Command, path, flags), Outcome: o.String()}, nil
}
