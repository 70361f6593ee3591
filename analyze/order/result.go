package order

import (
	"cmp"
	"context"
	"slices"

	"hindsight/analyze/race"
	"hindsight/cdr"
)

// Analyze gives the races of a trace by the orders in want, as package race
// gives those by happens-before, each with the orders that report it. What
// happens-before reports has its exact number of dynamic pairs; of other races
// Dynamic is how often an access raced with the last execution of the other
// instruction by another strand.
func Analyze(ctx context.Context, t *cdr.Trace, opts race.Options, want Set) (*race.Result, error) {
	src := race.FromTrace(t)
	exact, err := race.Analyze(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	find := Options{Atomics: opts.Atomics, Program: opts.Program, TLSSize: opts.TLSSize, NoLockset: !want.Has(Lockset)}
	pairs, err := Find(ctx, t, find)
	if err != nil {
		return nil, err
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
				r.First = race.Instance{Later: p.First[o][1].side(), Earlier: p.First[o][0].side(), Address: p.At[o]}
				if !ok {
					r.Dynamic = p.Count[o]
				}
				break
			}
		}
		found = append(found, r)
	}
	slices.SortStableFunc(found, func(x, y race.Race) int {
		return cmp.Or(cmp.Compare(x.First.Later.Seq, y.First.Later.Seq), cmp.Compare(x.First.Earlier.Seq, y.First.Earlier.Seq))
	})
	res, err := race.Describe(ctx, src, opts, found)
	if err != nil {
		return nil, err
	}
	res.Stats = exact.Stats
	return res, nil
}

func (a *Access) side() race.Side {
	return race.Side{Place: a.Place, Thread: a.Thread, Address: a.Address, Size: a.Size, Segment: a.Segment, Site: a.Site, Ordinal: a.Ordinal, Seq: a.Seq}
}
