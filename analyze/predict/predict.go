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

// MaxNodes limits the events and accesses that are kept, some 64 bytes each.
const MaxNodes = 1 << 23

// ErrTooLarge says that a run has more relevant events and accesses than are kept. What
// was found in its beginning is still valid.
var ErrTooLarge = errors.New("the run has too many accesses to contended memory for a prediction; only its beginning was examined")

// Race is a static pair of accesses that did not race in the run.
type Race struct {
	// Accesses are the instance that the witness leads to. Each is the next step of its
	// thread. The first one came first in the run.
	Accesses [2]order.Access
	// At is the first common byte.
	At uint64
	// Reversed says that the witness takes critical sections of some mutex in another
	// order than the run did.
	Reversed bool
	// Witness is the schedule that leads to the race, from the beginning of the run. It
	// is nil if a thread acts as several strands in it (OpenMP tasks, goroutines): the
	// program's runtime then decides which thread runs a strand.
	Witness []Turn
	// Steps execute the two accesses after the witness, in either order.
	Steps [2]Turn
}

// Turn is a part of a schedule. The thread runs until it has had, since its start, this
// many events (those of event.Kind.IsStep) and this many plain accesses.
type Turn struct {
	Thread   event.ThreadID
	Events   uint64
	Accesses uint64
}

// Result is what a run predicts.
type Result struct {
	Races []Race // in the order in which the run met the pairs
	// Pairs is the number of static pairs that were examined: those that conflict without
	// a common mutex and did not race in the run. Undecided is how many of them had
	// instances that were not examined.
	Pairs, Undecided int
	// Deadlocks are the deadlocks that another schedule of the same events reaches.
	Deadlocks []Deadlock
}

// instances is the number of examined instances of a static pair: half of them are the
// first ones of the run, and half the last ones.
const instances = 16

// budget limits the nodes that all closures together visit.
const budget = 4 << 30

// Find predicts the races of a run. If the run is too large, the result is about its
// beginning, and the error is ErrTooLarge. If ctx is done early, the result has what was
// found until then.
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

// Analyze returns the races that a run predicts in the form in which package race returns
// the races of a run: it describes what the run did at the two accesses, and Dynamic is
// 1. The second result has the predictions in the same order. If the search was not
// complete, the error is a [*race.Partial] with the races found.
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

// Predictions are what [AnalyzeWith] predicts: for each race of its result the
// prediction, or nil if the run itself showed the race; and the deadlocks.
type Predictions struct {
	Races     []*Race
	Deadlocks []Deadlock
}

// AnalyzeWith is [Analyze] for a trace whose races by happens-before are known. The
// result includes those. If the search was not complete, it returns both a result and an
// error.
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
