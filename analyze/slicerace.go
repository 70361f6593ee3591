package analyze

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hindsight/analyze/annotate"
	"hindsight/analyze/report"
	"hindsight/analyze/slice"
	"hindsight/wet"
)

// around slices around a race.
func (t *Trace) around(ctx context.Context, v *values, f *SliceOptions, opts slice.Options, rep *annotate.Report) error {
	found, err := t.Races(ctx, RaceOptions{Order: f.Order, Artifacts: ArtifactsOff})
	if err != nil {
		return err
	}
	var one *report.Race
	var ids []string
	for i := range found.Races {
		ids = append(ids, found.Races[i].ID)
		if strings.EqualFold(found.Races[i].ID, f.Race) {
			one = &found.Races[i]
		}
	}
	switch {
	case len(ids) == 0:
		return optionErrorf("race", f.Race, "the run has no races")
	case one == nil:
		return optionErrorf("race", f.Race, "the run has the races %s", strings.Join(ids, ", "))
	}
	return aroundRace(ctx, v, f, opts, one, rep)
}

// aroundRace slices around a known race.
func aroundRace(ctx context.Context, v *values, f *SliceOptions, opts slice.Options, one *report.Race, rep *annotate.Report) error {
	a, b, err := v.sides(one)
	if err != nil {
		return err
	}
	around, err := slice.Race(ctx, v.graph, v.img, a, b, opts)
	if err != nil {
		return err
	}
	first, second := accessText(&one.Accesses[1]), accessText(&one.Accesses[0])
	rep.At = one.ID
	rep.Impact = &around.Impact
	rep.Parts = []annotate.Part{
		{Role: annotate.RoleParting, Title: fmt.Sprintf("%s: where the trouble starts: %s, %s", one.ID, first, second), Slice: around.Parting},
		{Role: annotate.RoleFirst, Title: "what led to the " + first, Slice: around.A},
		{Role: annotate.RoleSecond, Title: "what led to the " + second, Slice: around.B},
		{Role: annotate.RoleForward, Title: "what the racy value reached", Slice: around.Forward},
	}
	if f.Common {
		rep.Parts = append(rep.Parts, annotate.Part{Role: annotate.RoleCommon, Title: "what led to both accesses", Slice: around.Common})
	}
	return nil
}

func accessText(a *report.Access) string {
	text := fmt.Sprintf("%v of T%d", a.Op, a.Thread)
	if a.Top.File != "" {
		text += fmt.Sprintf(" at %s:%d", filepath.Base(a.Top.File), a.Top.Line)
	}
	return text
}

// sides returns the instances of a race's accesses, the earlier one first.
func (v *values) sides(r *report.Race) (a, b wet.Instance, err error) {
	if a, err = v.access(&r.Accesses[1]); err == nil {
		b, err = v.access(&r.Accesses[0])
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", r.ID, err)
	}
	return a, b, err
}

// errElsewhere says that the graph does not have an access of the race.
var errElsewhere = errors.New("its access is not in the recorded part of the run (a window, or --keep shared)")

// access finds the instance of an access. Graphs and traces count the executions of an
// instruction in the same way, unless they cover different parts of the run. The address
// shows whether they do.
func (v *values) access(a *report.Access) (wet.Instance, error) {
	n := a.Ordinal
	if !a.Op.Plain() {
		n = 0
		for e, err := range v.trace.Events() {
			if err != nil {
				return wet.Instance{}, err
			}
			if e.Thread == a.Thread && e.Index < a.Segment && e.PC == a.PC {
				n++
			}
		}
	}
	if !a.Op.Plain() && !a.Op.Atomic() {
		return v.hiddenCall(a, n)
	}
	i, err := slice.Nth(v.graph, a.Thread, a.PC, n)
	if errors.Is(err, slice.ErrNoInstance) {
		return i, errElsewhere
	}
	if err != nil {
		return i, err
	}
	addr, size, ok, err := v.graph.Addr(i)
	if err != nil {
		return i, err
	}
	if !ok || addr >= a.Address+a.Size || a.Address >= addr+uint64(size) {
		return i, errElsewhere
	}
	return i, nil
}

// hiddenCall finds the nth call, from 0, of a function that ran as one statement, such as
// free. It finds the function by its call instruction.
func (v *values) hiddenCall(a *report.Access, n uint64) (wet.Instance, error) {
	for _, s := range v.graph.Sites(a.PC) {
		if v.graph.Node(s.Node).Kind == wet.NodeCall && n < v.graph.Executions(a.Thread, s.Node) {
			return wet.Instance{Thread: a.Thread, Node: s.Node, Stmt: s.Stmt, K: n}, nil
		}
	}
	return wet.Instance{}, errElsewhere
}

// impact finds out what the value of a race reached.
func (v *values) impact(ctx context.Context, r *report.Race) (slice.Impact, error) {
	a, b, err := v.sides(r)
	if err != nil {
		return slice.Impact{}, err
	}
	_, m, err := slice.Poisoned(ctx, v.graph, v.img, a, b)
	return m, err
}
