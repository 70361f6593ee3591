package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"hindsight/mpsim"
	"hindsight/mpsim/coverage"
	"hindsight/tracefmt/event"
)

// The schedule coverage, in an exploration. Seeds are run in rounds. For each seed of a
// round, the earlier rounds show which orders are missing: a thread acquired a lock or a
// semaphore for the first time just before another thread did, and never just after it. A
// few of these orders become the targets of the seed. The seed alone determines the random
// choice. So a seed's targets depend on the runs of lower seeds but not on the number of
// jobs, and a run depends on its targets. Orders that were tried more often are chosen less
// often, since not all of them are possible. A quarter of the runs has no targets.

// longestRound is the maximum number of runs in a round.
const longestRound = 32

// roundOf returns where the round of a seed begins and ends, as offsets from the first
// seed. Rounds have 1, 1, 2, 4, … runs.
func roundOf(offset uint64) (from, to uint64) {
	for to = 1; to <= offset; {
		from, to = to, to+min(to, longestRound)
	}
	return from, to
}

// exploreRounds is like [Exploration.exploreUpTo], but works in rounds.
func (e *Exploration) exploreRounds(ctx context.Context, n uint64) error {
	for at := uint64(0); at < n && ctx.Err() == nil; {
		from, to := roundOf(at)
		at = min(to, n)
		e.missing = e.missingOrders(from)
		if err := e.exploreUpTo(ctx, at); err != nil {
			return err
		}
		if e.limit <= at {
			break // a run ended the exploration
		}
	}
	return nil
}

// missingOrder is an order in which no run has shown two threads arriving at an object.
type missingOrder struct {
	object        uint64
	first, second event.ThreadID // in the order that was seen
	tries         int            // number of tries to hold first there
}

// missingOrders returns the missing orders of the runs with seeds below an offset.
func (e *Exploration) missingOrders(upTo uint64) []missingOrder {
	type order struct {
		object        uint64
		first, second event.ThreadID
	}
	seen := map[order]bool{}
	tried := map[mpsim.Target]int{}
	for n := range upTo {
		r := e.done[e.o.First+n]
		if r == nil {
			continue
		}
		arrivals, err := coverage.ParseArrivals(r.Arrivals)
		targets, err2 := mpsim.ParseTargets(r.Targets)
		if err != nil || err2 != nil {
			continue
		}
		for _, a := range arrivals {
			for i := range len(a.Threads) - 1 {
				seen[order{a.Object, a.Threads[i], a.Threads[i+1]}] = true
			}
		}
		for _, t := range targets {
			t.Last = false
			tried[t]++
		}
	}
	var missing []missingOrder
	for o := range seen {
		if !seen[order{o.object, o.second, o.first}] {
			missing = append(missing, missingOrder{o.object, o.first, o.second, tried[mpsim.Target{Thread: o.first, Object: o.object}]})
		}
	}
	slices.SortFunc(missing, func(a, b missingOrder) int {
		return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
	})
	return missing
}

// mostTries is the number of tries after which an order counts as impossible.
const mostTries = 8

// targets chooses the targets of a seed.
func (e *Exploration) targets(seed uint64) []mpsim.Target {
	const stream = 0x5cf0
	rng := rand.New(rand.NewPCG(seed, stream))
	left := slices.DeleteFunc(slices.Clone(e.missing), func(m missingOrder) bool { return m.tries >= mostTries })
	if len(left) == 0 || rng.IntN(4) == 0 {
		return nil
	}
	var all []mpsim.Target
	for n := 1 + rng.IntN(2); n > 0 && len(left) > 0; n-- {
		total := 0.0
		for _, m := range left {
			total += m.weight()
		}
		at, i := rng.Float64()*total, 0
		for ; i < len(left)-1 && at >= left[i].weight(); i++ {
			at -= left[i].weight()
		}
		all = append(all, mpsim.Target{Thread: left[i].first, Object: left[i].object, Last: rng.IntN(2) == 0})
		left = slices.Delete(left, i, i+1)
	}
	return all
}

// TargetsOf returns the targets of a seed's run. state is the content of the exploration's
// file [StateName].
func TargetsOf(state []byte, seed uint64) ([]mpsim.Target, error) {
	_, _, runs, ok := parseState(state)
	if !ok {
		return nil, errors.New("not the state of an exploration")
	}
	for i := range runs {
		if runs[i].Seed == seed {
			return mpsim.ParseTargets(runs[i].Targets)
		}
	}
	return nil, fmt.Errorf("it has no run of seed %d", seed)
}

func (m missingOrder) weight() float64 { return 1 / float64(int(1)<<m.tries) }
