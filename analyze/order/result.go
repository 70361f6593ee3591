package order

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
)

// ErrNoSchedule says that only SHB was requested, for a run without the order of
// accesses.
var ErrNoSchedule = errors.New("the trace does not say in which order accesses were executed, which shb needs; record it again")

// Analyze returns the races of a trace by the orders in want, as package race returns
// those by happens-before, each with the orders that report it. Races by happens-before
// have their exact number of dynamic pairs. For other races Dynamic is how often an
// access raced with the last execution of the other instruction by another strand.
func Analyze(ctx context.Context, t *cdr.Trace, opts race.Options, want Set) (*race.Result, error) {
	if want == 1<<SHB && !t.HasSchedule() {
		return nil, ErrNoSchedule
	}
	src := replay.FromTrace(t)
	var suspects []span
	var kept replay.Footprints
	if want != 1<<SHB {
		src = replay.Keeping(t, &kept)
	} else {
		opts.Suspect = func(lo, hi uint64) { suspects = append(suspects, span{lo, hi}) }
	}
	exact, err := race.Analyze(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	find := Options{Atomics: opts.Atomics, Program: opts.Program, TLSSize: opts.TLSSize, NoLockset: !want.Has(Lockset)}
	var pairs []*Pair
	switch {
	case want != 1<<SHB:
		pairs, err = findKept(ctx, t, find, &kept)
	case len(exact.Races) > 0:
		pairs, err = findSchedulable(ctx, t, find, suspects)
	}
	if err != nil {
		return nil, race.PartialOf(exact, err)
	}
	counts := map[key]uint64{}
	for i := range exact.Races {
		r := &exact.Races[i]
		counts[keyOf(r.First.Later.Place, r.First.Earlier.Place)] = r.Dynamic
	}
	var found []race.Race
	for _, p := range pairs {
		if p.Orders&want == 0 {
			continue
		}
		a, b := p.Places()
		n, ok := counts[key{a, b}]
		r := race.Race{Dynamic: n, Orders: p.Orders.Names()}
		for o := range NumOrders {
			if (p.Orders & want).Has(o) {
				r.First = InstanceOf(p.First[o], p.At[o])
				if !ok {
					r.Dynamic = p.Count[o]
				}
				break
			}
		}
		found = append(found, r)
	}
	slices.SortStableFunc(found, ByUnits)
	res, err := race.Describe(ctx, src, opts, found)
	if err != nil {
		return nil, err
	}
	res.Stats = exact.Stats
	return res, nil
}

// ByUnits compares races by the units of their first instances.
func ByUnits(x, y race.Race) int {
	return cmp.Or(cmp.Compare(x.First.Later.Seq, y.First.Later.Seq), cmp.Compare(x.First.Earlier.Seq, y.First.Earlier.Seq))
}

// InstanceOf is two accesses as package race has them, the later one by their units.
func InstanceOf(sides [2]Access, at uint64) race.Instance {
	earlier, later := &sides[0], &sides[1]
	if earlier.endsAfter(later) {
		earlier, later = later, earlier
	}
	return race.Instance{Later: later.side(), Earlier: earlier.side(), Address: at}
}

// endsAfter reports whether the unit of an access comes after that of another.
func (a *Access) endsAfter(b *Access) bool {
	if a.Seq != b.Seq {
		return a.Seq > b.Seq
	}
	return a.Seq == math.MaxUint64 && a.Thread > b.Thread || b.Op.Plain() && !a.Op.Plain()
}

func (a *Access) side() race.Side {
	return race.Side{Place: a.Place, Thread: a.Thread, Address: a.Address, Size: a.Size, Segment: a.Segment, Site: a.Site, Ordinal: a.Ordinal, Seq: a.Seq}
}
