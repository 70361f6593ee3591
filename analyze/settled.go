package analyze

import (
	"context"
	"fmt"

	"hindsight/analyze/order"
	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cdr/format"
	"hindsight/mpsim/image"
)

// Settled finds out what became of the races of an earlier report, old, and adds that to
// rep, the report on this run, which may be of a changed program. It says which races
// remain, which are now ordered and by what, and which did not occur. It recognises
// accesses by function, operation and the name of a global variable, because lines may
// have changed. It examines all accesses of the run.
func (t *Trace) Settled(ctx context.Context, rep *report.Report, base *report.Baseline) error {
	img, err := t.Program()
	if err != nil {
		return err
	}
	shown := map[string]bool{}
	for _, list := range [][]report.Race{rep.Races, rep.Suppressed} {
		for i := range list {
			shown[list[i].Fingerprint] = true
		}
	}
	all := append([]report.Old{}, base.Races...)
	var questions []order.Question
	var about []*report.Old
	for i := range all {
		o := &all[i]
		if shown[o.Fingerprint] {
			o.Now, o.What = report.Remains, "this run shows it too"
			continue
		}
		var q order.Question
		for s := range q.Sides {
			side := &o.Sides[s]
			q.Sides[s] = func(p race.Place, addr uint64) bool { return isSide(img, o, side, p, addr) }
		}
		questions, about = append(questions, q), append(about, o)
	}
	opts := order.Options{Program: img, TLSSize: img.TLSSize()}
	answers, err := order.Settle(ctx, t.cdr, opts, questions)
	if err != nil {
		return err
	}
	for i := range answers {
		settle(about[i], &answers[i], img)
	}
	rep.Old, rep.OldFrom = all, base.Name
	return nil
}

// isSide reports whether a place is a side of an old race and, if the address is known,
// whether the address is in the variable of the race.
func isSide(img *image.Space, o *report.Old, side *report.OldSide, p race.Place, addr uint64) bool {
	if addr != 0 {
		s, _, ok := img.Object(addr)
		return (o.Kind != "global" || o.Name == "") == !ok || ok && s.Demangled() == o.Name
	}
	for _, f := range img.Frames(p.PC) {
		return side.Is(p.Op, report.Frame{Function: f.Function, File: f.Base()})
	}
	return false
}

// settle describes what became of a race.
func settle(o *report.Old, a *order.Answer, img *image.Space) {
	name := func(ev *format.Event) string {
		if ev == nil {
			return ""
		}
		text := ev.Kind.String()
		if obj := img.ObjectPath(ev.Obj); obj != "" {
			text += " of " + obj
		}
		if at := img.PlaceName(ev.PC); at != "" {
			text += " at " + at
		}
		return fmt.Sprintf("%s by T%d", text, ev.Thread)
	}
	switch {
	case a.Races:
		o.Now, o.What = report.Remains, "this run has a race between these functions about the same memory, on other lines"
	case a.Later != nil:
		o.Now, o.Release, o.Acquire = report.OrderedNow, name(a.Release), name(a.Acquire)
		o.What = fmt.Sprintf("the %s at %s comes before the %s at %s", a.Earlier.Op, img.PlaceName(a.Earlier.PC), a.Later.Op, img.PlaceName(a.Later.PC))
		if a.Release != nil && !a.Direct {
			o.What += ", through others"
		}
	default:
		o.Now = report.NotMet
		switch {
		case !a.Met[0] && !a.Met[1]:
			o.What = "the run executes neither access"
		case !a.Met[0]:
			o.What = "the run does not execute the " + o.Sides[0].String()
		case !a.Met[1]:
			o.What = "the run does not execute the " + o.Sides[1].String()
		default:
			o.What = "the run executes both accesses, and not on the same memory in different threads"
		}
	}
}

// Instances returns the first instances of the races of a report, by the IDs of the
// races. There are at most n pairs of accesses for each race, with the later access first
// and without call stacks.
func (t *Trace) Instances(ctx context.Context, rep *report.Report, n int) (map[string][][2]report.Access, error) {
	img, err := t.Program()
	if err != nil {
		return nil, err
	}
	var pairs [][2]race.Place
	for i := range rep.Races {
		var p [2]race.Place
		for s := range p {
			a := &rep.Races[i].Accesses[s]
			p[s] = race.Place{PC: a.PC, Op: a.Op}
		}
		pairs = append(pairs, p)
	}
	found, err := order.Instances(ctx, t.cdr, order.Options{Program: img, TLSSize: img.TLSSize()}, pairs, n)
	if err != nil {
		return nil, err
	}
	all := map[string][][2]report.Access{}
	for i := range found {
		for _, in := range found[i] {
			var sides [2]report.Access
			for s := range sides {
				a := &in[1-s]
				sides[s] = report.Access{Thread: a.Thread, Op: a.Op, Size: a.Size, Address: a.Address, PC: a.PC, Site: a.Site, Ordinal: a.Ordinal, Segment: a.Segment}
			}
			all[rep.Races[i].ID] = append(all[rep.Races[i].ID], sides)
		}
	}
	return all, nil
}
