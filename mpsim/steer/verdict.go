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

// Judge determines what the races of a trace do.
type Judge struct {
	*confirm.Confirmer
	t     *cdr.Trace
	of    *Original
	dir   string
	calls map[event.ThreadID][]uint64 // by thread: places of events, in order
}

// NewJudge returns a Judge of the races in t, whose run is of. tries is the number of
// random continuations. It writes the schedules of runs that differ to dir.
func NewJudge(t *cdr.Trace, of *Original, tries int, dir string) *Judge {
	r := &of.Run
	return &Judge{t: t, of: of, dir: dir, Confirmer: confirm.New(confirm.Options{
		Config: r.Config(r.Image, session.Streams{}), Image: r.Image, Hooks: r.Hooks, Schedule: of.Schedule,
		Input: of.Input, Insts: of.Insts, Tries: tries,
	})}
}

// Prepare reruns the run once, for races that will be examined, with the instances of each.
// Examining them then costs only what comes after their accesses.
func (j *Judge) Prepare(ctx context.Context, races []*report.Race, others map[string][][2]report.Access) error {
	var pairs []confirm.Pair
	for _, r := range races {
		list, err := j.pairs(r, others[r.ID])
		if err != nil {
			return err
		}
		pairs = append(pairs, list...)
	}
	return j.Confirmer.Prepare(ctx, pairs)
}

// pairs returns the first instance of a race and some others.
func (j *Judge) pairs(r *report.Race, others [][2]report.Access) ([]confirm.Pair, error) {
	all := [][2]report.Access{r.Accesses}
	for i := range others {
		if !sameInstance(&others[i], &r.Accesses) {
			all = append(all, others[i])
		}
	}
	pairs := make([]confirm.Pair, len(all))
	var err error
	for i := range all {
		if pairs[i], err = j.pair(&all[i]); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// Race determines what a race does: the worst of what its first instance and some others
// do. It stops at one that is harmful. The sides of an instance are the later and the
// earlier access.
func (j *Judge) Race(ctx context.Context, r *report.Race, others [][2]report.Access) (*report.Verdict, error) {
	var worst *confirm.Finding
	at, tried := 0, 0
	pairs, err := j.pairs(r, others)
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		f, err := j.Pair(ctx, pair)
		if err != nil {
			return nil, err
		}
		tried++
		if worst == nil || f.Verdict.Worse(worst.Verdict) {
			worst, at = f, tried
		}
		if f.Verdict == confirm.Harmful {
			break
		}
	}
	return j.verdict(ctx, r.ID, worst, at, tried)
}

// sameInstance reports whether two instances consist of the same executions.
func sameInstance(x, y *[2]report.Access) bool {
	same := func(a, b *report.Access) bool {
		return a.Thread == b.Thread && a.PC == b.PC && a.Site == b.Site && a.Ordinal == b.Ordinal && a.Segment == b.Segment
	}
	return same(&x[0], &y[0]) && same(&x[1], &y[1]) || same(&x[0], &y[1]) && same(&x[1], &y[0])
}

// pair returns an instance in the form that the confirmer needs.
func (j *Judge) pair(sides *[2]report.Access) (pair confirm.Pair, err error) {
	for i, to := range []*confirm.Access{&pair.B, &pair.A} {
		a := &sides[i]
		*to = confirm.Access{Thread: a.Thread, PC: a.PC, Ordinal: a.Ordinal, Address: a.Address, Size: a.Size, Call: !a.Op.Plain()}
		if to.Call {
			if to.Ordinal, err = j.ordinal(a); err != nil {
				return pair, err
			}
		}
	}
	return pair, nil
}

// verdict returns what was found for instance at among those that were tried.
func (j *Judge) verdict(ctx context.Context, id string, f *confirm.Finding, at, tried int) (_ *report.Verdict, err error) {
	v := &report.Verdict{Verdict: string(f.Verdict)}
	v.Evidence = report.Evidence{What: f.What, Tries: f.Tries, Variables: f.Variables, Place: j.of.Run.Image.PlaceName(f.Stands)}
	if tried > 1 {
		v.Evidence.Instance, v.Evidence.Instances = at, tried
	}
	if f.As == nil {
		return v, nil
	}
	if v.Evidence.AsWas, err = j.keep(ctx, id+"-as-was.txt", f.As); err != nil {
		return nil, err
	}
	v.Evidence.Swapped, err = j.keep(ctx, id+"-swapped.txt", f.Swapped)
	return v, err
}

// ordinal returns how many times the thread had executed the instruction of an access that
// is an event.
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
