package race

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"hindsight/analyze/hb"
	"hindsight/analyze/race/internal/count"
	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/race/internal/resolve"
	"hindsight/analyze/race/internal/sieve"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// ErrSource is wrapped by errors about a source that contradicts itself.
var ErrSource = replay.ErrTrace

// ErrLimit is wrapped by errors about runs whose analysis would take too much memory or
// time.
var ErrLimit = pass.ErrTooLarge

// Analyze finds the races of a run.
//
// It reads S_synch up to four times: for the atomic variables and the threads that no
// thread creates; with the bytes that each segment accesses, for the memory on which
// there are races; with the accesses to that memory, for the races; and for the locks and
// locations of the instances in the result. An error after the second walk is a
// *[Partial].
func Analyze(ctx context.Context, src replay.Source, opts Options) (*Result, error) {
	if opts.SweepEvery <= 0 {
		opts.SweepEvery = 1 << 18
	}
	opts.columnsLimit = cmp.Or(opts.columnsLimit, count.ColumnsLimit)
	opts.staleAfter = cmp.Or(opts.staleAfter, staleAfter)
	opts.batchItems = cmp.Or(opts.batchItems, batchItems)
	if opts.Workers <= 0 {
		opts.Workers = min(runtime.GOMAXPROCS(0), 8)
	}
	opts.Workers = min(opts.Workers, maxWorkers)
	e, err := newEngine(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	if !opts.noSieve {
		if err := e.sieve(ctx, src); err != nil {
			return nil, err
		}
	}
	if opts.Suspect != nil {
		e.suspects.Each(opts.Suspect)
	}
	if e.suspects == nil || e.suspects.Any() {
		if err := e.exact(ctx, src); err != nil {
			return nil, e.partial(false, err)
		}
	}
	if opts.Found != nil {
		opts.Found(e.partial(true, nil))
	}
	res, err := e.result(ctx, src)
	if err != nil {
		return nil, e.partial(true, err)
	}
	return res, nil
}

// maxWorkers limits the workers among which memory is divided.
const maxWorkers = 64

// sieve returns the pass that finds the granules on which there are races.
func (e *engine) sieve(ctx context.Context, src replay.Source) error {
	sieves := make([]*sieve.Sieve, e.opts.Workers)
	takers := make([]pass.Taker, len(sieves))
	for i := range sieves {
		sieves[i] = sieve.New(i, len(sieves), e.survey.Threads, e.survey.Atomic, e.opts.layers)
		takers[i] = sieves[i]
	}
	e.sieving, e.touches = true, make([]sieve.Sketch, e.sites)
	if err := e.pass(ctx, src, takers); err != nil {
		return err
	}
	e.sieving = false
	e.suspects = sieve.Gather(sieves)
	near := e.suspects.Sketch()
	for i := range e.wanted {
		e.wanted[i] = e.wanted[i] && e.suspects.Touches(&e.touches[i], &near)
	}
	e.touches = nil
	for _, s := range sieves {
		e.stats.Pages += s.Size()
	}
	return nil
}

// exact returns the pass that counts the pairs.
func (e *engine) exact(ctx context.Context, src replay.Source) error {
	shards := make([]*count.Shard, e.opts.Workers)
	takers := make([]pass.Taker, len(shards))
	for i := range shards {
		c := count.Config{Number: i, Of: len(shards), Accesses: e.accesses, Atomic: e.survey.Atomic,
			Own:        func(t event.ThreadID, addr uint64) bool { return e.run.Own(t, addr) },
			SweepEvery: e.opts.SweepEvery, ColumnsLimit: e.opts.columnsLimit}
		if e.suspects != nil {
			c.Suspects = e.suspects.Pages[i]
		}
		shards[i] = count.New(c)
		takers[i] = shards[i]
	}
	err := e.pass(ctx, src, takers)
	for _, s := range shards {
		e.pairs.Merge(&s.Pairs)
		e.stats.Accesses += s.Stats.Accesses
		e.stats.Groups += s.Stats.Groups
		e.stats.Peak += s.Stats.Peak
		e.stats.Sweeps += s.Stats.Sweeps
	}
	return err
}

func newEngine(ctx context.Context, src replay.Source, opts Options) (*engine, error) {
	n := src.NumThreads()
	if n > event.MaxThreads {
		return nil, fmt.Errorf("%w: %d threads", hb.ErrThread, n)
	}
	e := &engine{
		opts:     opts,
		business: replay.NewBusiness(opts.Program),
		placeIDs: map[Place]uint32{},
		eventIDs: map[Place]uint32{},
		pairs:    count.NewPairTable(),
	}
	for id := range src.NumSites() {
		site := src.Site(replay.SiteID(id))
		op := replay.SiteOp(&site)
		if site.Size == 0 || site.Size > 8 {
			return nil, fmt.Errorf("%w: site %d accesses %d bytes", ErrSource, id, site.Size)
		}
		e.accesses = append(e.accesses, pass.Access{Place: e.placeID(Place{site.PC, op}), Op: op,
			User: e.business.User(site.PC), Atomic: e.business.Atomicity(op, site.PC, opts.Atomics == Strict), Mute: e.business.Muted(site.PC), Size: site.Size, Site: replay.SiteID(id)})
	}
	e.sites, e.eachExtent = len(e.accesses), e.takeExtent
	e.wanted = make([]bool, e.sites)
	for i := range e.wanted {
		e.wanted[i] = !e.accesses[i].Mute
	}
	return e, e.scan(ctx, src)
}

// scan returns the first walk along S_synch.
func (e *engine) scan(ctx context.Context, src replay.Source) (err error) {
	e.survey, err = replay.NewSurvey(ctx, src, src.NumThreads(), e.opts.Atomics == Strict, &e.business, func(ev *replay.Event) error {
		if op, ok := replay.OpOf(ev.Kind); ok {
			e.eventAccess(Place{ev.PC, op})
		}
		return nil
	})
	return err
}

// pass is a walk over the run whose accesses the takers receive.
func (e *engine) pass(ctx context.Context, src replay.Source, takers []pass.Taker) error {
	e.run = e.survey.Walk(replay.Options{TLSSize: e.opts.TLSSize, Atomics: true, Share: true})
	e.horizon, e.batch = nil, nil
	e.stats = Stats{Pages: e.stats.Pages}
	e.crew, e.canceled = pass.NewCrew(takers), ctx.Err
	err := e.walk(ctx, src)
	if err == nil {
		err = e.flush()
	}
	if stopped := e.crew.Stop(); err == nil {
		err = stopped
	}
	e.stats.Merged = e.run.Order.Merged()
	return err
}

func (e *engine) walk(ctx context.Context, src replay.Source) error {
	cursors := replay.NewCursors(src, e.survey.Threads, e.wanted)
	defer cursors.Close()
	v := replay.Visitor{
		Segment: func(u *replay.Unit) error { return e.takeSegments(ctx, cursors, u) },
		Access: func(u *replay.Unit, a *replay.Access) error {
			e.begin(u)
			return e.feedEvent(a, u.Index)
		},
		Life: e.feedCut,
		Done: func(*replay.Event) error { e.stats.Events++; return nil },
	}
	if e.survey.Tasks { // the workers check which memory is a thread's own
		v.Changes = func(*replay.Event) error { return e.settle() }
	}
	return e.run.Run(ctx, src, &v)
}

// takeSegments takes the segments of a unit.
func (e *engine) takeSegments(ctx context.Context, cursors *replay.Cursors, u *replay.Unit) error {
	for {
		seg, err := cursors.Next(u)
		if err != nil || seg == nil {
			return err
		}
		e.stats.Segments++
		e.begin(u)
		if e.sieving {
			err = e.feedExtents(seg)
		} else {
			err = e.feedTallies(seg)
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// result builds the report of what was found, with two more walks along S_synch.
func (e *engine) result(ctx context.Context, src replay.Source) (*Result, error) {
	res := &Result{Stats: e.stats}
	found, err := resolve.Pairs(ctx, src, e.survey.Threads, e.accesses, &e.pairs)
	if err != nil {
		return nil, err
	}
	res.Races = make([]Race, len(found))
	d := newDetails(e, src, res, e.survey.Threads)
	for i := range found {
		p, r := &found[i], &res.Races[i]
		r.Dynamic = p.Dynamic
		r.First, r.Last = d.instance(&p.First), d.instance(&p.Last)
	}
	for i := range res.Races {
		d.want(&res.Races[i])
	}
	if err := d.walk(ctx, src); err != nil {
		return nil, err
	}
	res.Threads = slices.Clone(d.threads())
	return res, nil
}
