package race

import (
	"context"
	"slices"

	"hindsight/analyze/replay"
)

// Describe completes a result of pairs found by something else: it adds the locks held,
// the segments and the locations. The sides of the instances must have the place, the
// thread, Seq and, for plain accesses, Site, Ordinal, Address and Size. Each race must
// have First and Dynamic.
func Describe(ctx context.Context, src replay.Source, opts Options, races []Race) (*Result, error) {
	e := &engine{opts: opts}
	res := &Result{Races: slices.Clone(races)}
	d := newDetails(e, src, res, src.NumThreads())
	for i := range res.Races {
		first := &res.Races[i].First
		for _, s := range []*Side{&first.Later, &first.Earlier} {
			if s.Op.Plain() {
				s.Address, s.Size = replay.Whole(src, s.Site, s.Address)
			}
		}
		res.Races[i].Last = *first
		d.want(&res.Races[i])
	}
	if err := d.walk(ctx, src); err != nil {
		return nil, err
	}
	res.Threads = slices.Clone(d.threads())
	return res, nil
}
