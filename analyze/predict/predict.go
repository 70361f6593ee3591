package predict

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"hindsight/analyze/order"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// MaxNodes bounds the events and accesses that are kept, some 64 bytes each.
const MaxNodes = 1 << 23

// ErrTooLarge says that a run has more events and accesses that matter than are
// kept. What was found in its beginning is still true.
var ErrTooLarge = errors.New("the run has too many accesses to contended memory for a prediction; only its beginning was examined")

// Race is a static pair of accesses that did not race in the run.
type Race struct {
	// Accesses are the instance that the witness leads to: each is the next step
	// of its thread. The first is the one that came first in the run.
	Accesses [2]order.Access
	// At is the first common byte.
	At uint64
	// Reversed says that the witness takes critical sections of some mutex in
	// another order than the run.
	Reversed bool
	// Witness is the schedule that leads to the race, from the beginning of the
	// run. It is nil if a thread acts as several strands in it (OpenMP tasks,
	// goroutines): which thread runs a strand is then up to the program's runtime.
	Witness []Turn
	// Steps make the two accesses after that, in either order.
	Steps [2]Turn
}

// Turn is a stretch of a schedule: the thread runs until it has had, since it began,
// so many events (those of event.Kind.IsStep) and so many plain accesses.
type Turn struct {
	Thread   event.ThreadID
	Events   uint64
	Accesses uint64
}

// Result is what a run predicts.
type Result struct {
	Races []Race // in the order in which the run met the pairs
	// Pairs is how many static pairs were examined: those that conflict without a
	// common mutex and did not race in the run. Undecided is how many of these had
	// instances that were not examined.
	Pairs, Undecided int
	// Deadlocks are those that another schedule of the same events reaches.
	Deadlocks []Deadlock
}

// instances is how many instances of a static pair are examined: half of them the
// first, half the last of the run.
const instances = 16

// budget bounds the nodes that all closures together visit.
const budget = 4 << 30

// Find predicts the races of a run. If the run is too large the result is about its
// beginning, and the error is ErrTooLarge; if ctx is cancelled the result has what
// was found until then.
func Find(ctx context.Context, src order.Source, opts order.Options) (*Result, error) {
	r := newRecord()
	err := order.Watch(ctx, src, opts, r)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return &Result{}, err
	}
	res := &Result{}
	s := newSearch(r)
	for _, p := range r.candidates() {
		if ctx.Err() != nil || s.visited > budget {
			res.Undecided++
			continue
		}
		res.Pairs++
		found := false
		for _, in := range p.all() {
			if found = s.try(in); found {
				res.Races = append(res.Races, s.race(in))
				break
			}
		}
		if !found && p.more {
			res.Undecided++
		}
	}
	res.Deadlocks = s.deadlocks(ctx)
	return res, errors.Join(err, ctx.Err())
}

// Name is the name of the order by which [Analyze] reports races.
const Name = "osr"

// Analyze returns the races that a run predicts, as package race returns those that
// it shows: what the run did at the two accesses is described, and Dynamic is 1. The
// second result is the predictions, in the same order. When not all could be looked
// for, the error is a [*race.Partial] with those that were found.
func Analyze(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, []Race, error) {
	res, all, err := AnalyzeWith(ctx, t, opts, &race.Result{})
	found := all.Races
	switch {
	case res == nil || err != nil && len(found) == 0:
		return nil, nil, err
	case err != nil: // these are not all
		return nil, nil, race.PartialOf(res, err)
	}
	races := make([]Race, len(found))
	for i, r := range found {
		races[i] = *r
	}
	return res, races, nil
}

// Predictions are what [AnalyzeWith] finds: of each race of its result the prediction,
// nil of those that the run showed; and deadlocks.
type Predictions struct {
	Races     []*Race
	Deadlocks []Deadlock
}

// AnalyzeWith is [Analyze] of a trace whose races by happens-before are known: the
// result has those as well. When not all could be looked for, there is a
// result beside the error.
func AnalyzeWith(ctx context.Context, t *cdr.Trace, opts race.Options, exact *race.Result) (*race.Result, Predictions, error) {
	found, err := Find(ctx, t, order.Options{Atomics: opts.Atomics, Program: opts.Program, TLSSize: opts.TLSSize})
	if len(found.Races) == 0 {
		return exact, Predictions{make([]*Race, len(exact.Races)), found.Deadlocks}, err
	}
	var sides []*order.Access
	for i := range found.Races {
		sides = append(sides, &found.Races[i].Accesses[0], &found.Races[i].Accesses[1])
	}
	if err := order.PlaceAll(ctx, t, sides); err != nil {
		return nil, Predictions{}, err
	}
	type listed struct {
		race race.Race
		of   *Race
	}
	var all []listed
	for _, r := range exact.Races {
		all = append(all, listed{race: r})
	}
	for i := range found.Races {
		r := &found.Races[i]
		all = append(all, listed{race.Race{Dynamic: 1, Orders: []string{Name}, First: order.InstanceOf(r.Accesses, r.At)}, r})
	}
	slices.SortStableFunc(all, func(a, b listed) int { return order.ByUnits(a.race, b.race) })
	races, of := make([]race.Race, len(all)), make([]*Race, len(all))
	for i := range all {
		races[i], of[i] = all[i].race, all[i].of
	}
	res, failed := race.Describe(ctx, replay.FromTrace(t), opts, races)
	if failed != nil {
		return nil, Predictions{}, failed
	}
	res.Stats = exact.Stats
	return res, Predictions{of, found.Deadlocks}, err
}

func comparePlaces(a, b race.Place) int {
	return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Op, b.Op))
}
