package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Analyze finds out which of the races of a trace are artifacts. res is the result of
// [race.Analyze] for the trace, and img is the program.
//
// For a trace without addresses or control flow, the verdicts are Unknown, which is not
// an error. If ctx is done early, Analyze returns its error and what is known by then;
// the other verdicts are Unknown.
func Analyze(ctx context.Context, t *cdr.Trace, img *image.Space, res *race.Result, opts Options) (*Result, error) {
	opts.defaults()
	out := &Result{Verdicts: make([]Verdict, len(res.Races))}
	if len(res.Races) < 2 {
		return out, nil // a race is not an artifact of itself
	}
	if m := t.Info().Mode; m != format.ModeCDR {
		return out.unknown(fmt.Sprintf("the trace was recorded with --record %s", m)), nil
	}
	e, err := newExplainer(ctx, t, img, res, &opts)
	if errors.Is(err, errTooMuch) {
		return out.unknown(err.Error()), nil
	}
	if err == nil {
		err = e.judgeAll(ctx, out)
	}
	out.breakCycles()
	if err != nil && ctx.Err() != nil {
		for i := range out.Verdicts {
			if v := &out.Verdicts[i]; v.Status == Own && v.Checked == 0 {
				v.Status, v.Reason = Unknown, Interrupted
			}
		}
		return out, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	out.Stats = Stats{Records: e.index.records, Nodes: len(e.nodes), Steps: e.steps}
	return out, nil
}

// Interrupted is the reason of verdicts that were not reached.
const Interrupted = "the analysis was interrupted"

// judgeAll determines the verdicts of all races.
func (e *explainer) judgeAll(ctx context.Context, out *Result) error {
	e.budget = e.opts.TotalSteps
	doubts, err := e.judgeOrder(ctx, out)
	if err != nil {
		return err
	}
	e.ordering = e.steps
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		e.begin()
		// By address says less. If both apply, the threads met at an element that the
		// racy value chose, and may meet there unordered.
		byAddress, err := e.judge(i)
		if err != nil {
			return err
		}
		if v.Status != Artifact || byAddress.Status == Artifact {
			*v = byAddress
		}
		if v.Status == Own && doubts[i] != "" {
			v.Status, v.Reason = Unknown, doubts[i]
		}
		if v.Status != Artifact && !e.opts.Brief {
			if v.Behind, err = e.behind(i); err != nil {
				return err
			}
		}
		if e.opts.EventControl {
			if v.Controlled, err = e.controlled(i); err != nil {
				return err
			}
		}
		if e.opts.Progress != nil {
			e.opts.Progress()
		}
	}
	return nil
}

// begin sets the budget of a race.
func (e *explainer) begin() { e.budget = min(e.opts.Steps, e.opts.TotalSteps-(e.steps-e.ordering)) }

// judgeOrder finds the races that are explained by order. For those that may be but are
// not known to be, it returns the reason.
func (e *explainer) judgeOrder(ctx context.Context, out *Result) (doubts map[int]string, err error) {
	list := e.wanting()
	doubts = map[int]string{}
	doubt := func(err error) (map[int]string, error) {
		for _, i := range list {
			doubts[i] = err.Error()
		}
		return doubts, nil
	}
	if len(list) == 0 {
		return doubts, nil
	}
	reads, err := e.newReads()
	if errors.Is(err, errBudget) || errors.Is(err, errCode) {
		return doubt(err)
	}
	if reads == nil || err != nil {
		return doubts, err
	}
	var o *orderer
	var causes map[int][]int
	var together map[int]bool
	err = reads.walk(ctx, e.trace, e.index.survey)
	if err == nil {
		o, err = e.newOrderer(replay.FromTrace(e.trace), reads.found)
	}
	if err == nil {
		causes, together, err = o.byOrder(list)
	}
	for _, limit := range []error{errNoSchedule, errManyReads, errBudget, errOrder, errCode} {
		if errors.Is(err, limit) {
			return doubt(limit)
		}
	}
	if err != nil {
		return nil, err
	}
	for i, list := range causes {
		n := uint64(o.from[i][1] - o.from[i][0])
		v := &out.Verdicts[i]
		*v = Verdict{Status: Artifact, Causes: list, Together: together[i], By: ByOrder, Checked: n, Explained: n}
		if !e.opts.Brief {
			v.Chain = o.chain(i, list[0])
		}
	}
	return doubts, nil
}

// newExplainer prepares an analysis. The error is errTooMuch if the run exceeds the
// limits of what is kept.
func newExplainer(ctx context.Context, t *cdr.Trace, img *image.Space, res *race.Result, opts *Options) (*explainer, error) {
	src := replay.FromTrace(t)
	x, err := newIndex(ctx, src, res.Races, img, img.TLSSize(), opts)
	if err != nil {
		return nil, err
	}
	c := newCode(t, img)
	if err := c.findHooked(src); err != nil {
		return nil, err
	}
	g, err := newGraph(ctx.Err, t, c, x)
	if err != nil {
		return nil, err
	}
	return &explainer{graph: g, res: res, opts: opts, slices: map[sliceKey]*slice{}, img: img, rivals: map[pairKey]int{}}, nil
}

func (r *Result) unknown(reason string) *Result {
	for i := range r.Verdicts {
		r.Verdicts[i] = Verdict{Status: Unknown, Reason: reason}
	}
	return r
}

// breakCycles makes the first race of each cycle of first causes independent. The races
// of a cycle are consequences of each other, and one must be the first.
func (r *Result) breakCycles() {
	for i := range r.Verdicts {
		at := i
		for n := 0; n < len(r.Verdicts) && r.Verdicts[at].Status == Artifact; n++ {
			if at = r.Verdicts[at].Causes[0]; at == i {
				r.Verdicts[i] = Verdict{Checked: r.Verdicts[i].Checked, Controlled: r.Verdicts[i].Controlled}
			}
		}
	}
}

// findHooked finds the calls of hooked functions.
func (c *code) findHooked(src replay.Source) error {
	for ev, err := range src.Events() {
		if err != nil {
			return err
		}
		if ev.Mode&event.Returns != 0 {
			c.hooked[ev.PC] = true
		}
	}
	return nil
}

// explainer determines the verdicts of races.
type explainer struct {
	*graph
	img    *image.Space
	res    *race.Result
	opts   *Options
	slices map[sliceKey]*slice
	// how many of the steps were for races by order
	ordering int
	rivals   map[pairKey]int // how often [explainer.led] has looked for rivals
}

// pairOf is a dynamic instance.
type pairOf struct{ c, d exec }

// instances returns dynamic instances of race i: the first one, the last one, and others
// in no particular order. A race with an event for a side has only the first two.
func (e *explainer) instances(i int) iter.Seq[pairOf] {
	return func(yield func(pairOf) bool) {
		r := &e.res.Races[i]
		var ends []pairOf
		for n, in := range []*race.Instance{&r.First, &r.Last} {
			c, ok := e.index.side(&in.Later)
			d, ok2 := e.index.side(&in.Earlier)
			if n == 1 && r.Dynamic == 1 || !ok || !ok2 {
				break
			}
			ends = append(ends, pairOf{c, d})
			if !yield(pairOf{c, d}) {
				return
			}
		}
		if len(ends) < 2 || ends[0].c.event || ends[0].d.event {
			return
		}
		for p := range e.index.instances(i) {
			if !p.same(&ends[0]) && !p.same(&ends[1]) && !yield(p) {
				return
			}
		}
	}
}

// same reports whether two instances are the same.
func (p *pairOf) same(q *pairOf) bool {
	return p.c.same(&q.c) && p.d.same(&q.d) || p.c.same(&q.d) && p.d.same(&q.c)
}

// maxCompared limits the records that are compared in search of instances of one race.
const maxCompared = 4 << 20

// instances returns the instances of race i between executions of sites.
func (x *index) instances(i int) iter.Seq[pairOf] {
	return func(yield func(pairOf) bool) {
		until := x.compared + maxCompared
		for _, k := range x.byRace[i] {
			for c := range x.sites[k.a].all(k.a) {
				for d := range x.partners(k.b, &c) {
					if k.a == k.b && d.unit.strand < c.unit.strand {
						continue // met the other way round
					}
					if !yield(pairOf{c, d}) {
						return
					}
				}
				if x.compared > until {
					return
				}
			}
		}
	}
}

// judge determines whether race i is an artifact by address.
func (e *explainer) judge(i int) (Verdict, error) {
	v := Verdict{Status: Artifact}
	for p := range e.instances(i) {
		if v.Checked == uint64(e.opts.Instances) {
			break
		}
		why, missing, err := e.explain(i, &p, ByAddress, v.Checked == 0)
		if errors.Is(err, errBudget) || errors.Is(err, errCode) {
			missing, err = err.Error(), nil
		}
		if err != nil {
			return Verdict{}, err
		}
		v.Checked++
		switch {
		case why != nil:
			v.Explained++
			if v.Checked == 1 && !e.opts.Brief {
				if v.Chain, err = e.chain(&why[0]); err != nil {
					return Verdict{}, err
				}
			}
			for k := range why {
				if !slices.Contains(v.Causes, why[k].cause) {
					v.Causes = append(v.Causes, why[k].cause)
				}
			}
		case missing != "":
			v.Status, v.Reason = Unknown, missing
			if e.budget < 0 {
				return Verdict{Status: Unknown, Reason: missing, Checked: v.Checked, Explained: v.Explained}, nil
			}
		default:
			return Verdict{Checked: v.Checked, Explained: v.Explained}, nil
		}
	}
	if v.Checked == 0 {
		return Verdict{Status: Unknown, Reason: "no instance is known"}, nil
	}
	if v.Status == Unknown {
		return Verdict{Status: Unknown, Reason: v.Reason, Checked: v.Checked, Explained: v.Explained}, nil
	}
	return v, nil
}

// because says why an instance is an artifact.
type because struct {
	cause int  // race
	write exec // its writing side
	side  exec // the side of the artifact that the value led to
	slice *slice
	hit   int // index in the slice
}

// explain looks for causes of an instance of race i: a racy read b whose value
// one side depends on, of a race with a write a that event-controls the other
// side. It returns the first that it finds, or with all set one for each race.
// missing is not empty when none was found and something could not be followed.
func (e *explainer) explain(i int, p *pairOf, by By, all bool) (why []because, missing string, err error) {
	sides, doubt := [2]*exec{&p.d, &p.c}, ""
	var s [2]*slice
	for k, x := range sides {
		if s[k], err = e.slice(x, by); err != nil {
			return nil, "", err
		}
	}
	// try examines one racy read. It returns true if that is enough.
	try := func(k, h int, c *exec, other *slice) (bool, error) {
		w, cause, err := e.controls(i, s[k].hits[h].read, c, other)
		if err != nil || cause < 0 {
			return false, err
		}
		if s[k].hits[h].doubt || other != nil && other.doubtful() {
			doubt = inputDoubt
			return false, nil
		}
		if !slices.ContainsFunc(why, func(b because) bool { return b.cause == cause }) {
			why = append(why, because{cause, w, *sides[k], s[k], h})
		}
		return !all, nil
	}
	// Nearest first. The write is often the first in its thread, which is found before
	// the walks end.
	for k := range sides {
		for h := 0; ; h++ {
			if h == len(s[k].hits) {
				more, err := e.grow(s[k])
				if errors.Is(err, errBudget) && len(why) > 0 {
					return why, "", nil
				}
				if err != nil {
					return nil, "", err
				}
				if !more {
					break
				}
			}
			if enough, err := try(k, h, sides[1-k], nil); enough || err != nil {
				return why, "", err
			}
		}
	}
	for k := range sides {
		for h := range s[k].hits {
			if enough, err := try(k, h, nil, s[1-k]); enough || err != nil {
				return why, "", err
			}
		}
	}
	if len(why) > 0 {
		return why, "", nil
	}
	return nil, cmp.Or(s[0].missing, s[1].missing, doubt), nil
}

const inputDoubt = "a system call may have written a value on the way"

// maxWriters limits the writes that are tried for one racy read.
const maxWriters = 64

// controls looks for a write that races with b and event-controls the other
// side of the instance: it comes before c in c's thread (c not nil), or the
// other side too depends on a value that is racy with it (other not nil). It
// returns the race of the two, or -1.
func (e *explainer) controls(i int, b, c *exec, other *slice) (a exec, cause int, err error) {
	x := e.index
	for _, id := range x.sites[b.site].partner {
		cause := x.pairs[keyOf(id, b.site)]
		if cause == i || x.sites[id].site.Access != event.Write {
			continue
		}
		tried := 0
		for a := range x.partners(id, b) {
			if c != nil && a.thread() == c.thread() && a.unit.strand == c.unit.strand {
				before, err := e.precedes(&a, c)
				if before || err != nil {
					return a, cause, err
				}
			}
			if other != nil && e.reaches(other, &a, b, cause) {
				return a, cause, nil
			}
			if tried++; tried >= maxWriters {
				break
			}
		}
	}
	return a, -1, nil
}

// reaches reports whether a slice depends on the racy read b, or on another one
// that races with the write a.
func (e *explainer) reaches(s *slice, a, b *exec, cause int) bool {
	for h := range s.hits {
		if o := s.hits[h].read; o.same(b) || e.index.races(a, o) && e.index.pairs[keyOf(a.site, o.site)] == cause {
			return true
		}
	}
	return false
}

// precedes reports whether a is before c in the order of their thread.
func (e *explainer) precedes(a, c *exec) (bool, error) {
	if c.event {
		return a.unit.end <= c.unit.end, nil
	}
	if a.unit != c.unit && a.unit.end != c.unit.end {
		return a.unit.end < c.unit.end, nil
	}
	p, err := e.place(a)
	if err != nil {
		return false, err
	}
	q, err := e.place(c)
	if err != nil {
		return false, err
	}
	return cmp.Or(cmp.Compare(p.block, q.block), cmp.Compare(p.inst, q.inst)) < 0, nil
}
