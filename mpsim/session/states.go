package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// MergeStates merges the contents of state files ([StateName]) of one exploration's parts,
// with the runs in order of their seeds. It is associative, commutative and idempotent.
// Unlike [Merge], it has no access to traces: each part must have the traces that it needs
// ([NeededTraces]). Together they then have those that the result needs.
func MergeStates(states ...[]byte) ([]byte, error) {
	var all *stateHead
	done := map[uint64]ExploredRun{}
	for _, data := range states {
		head, _, runs, ok := parseState(data)
		if !ok {
			return nil, ErrNoExploration
		}
		if all == nil {
			all = &head
		} else if d, err := difference(*all, head); err != nil || d != "" {
			return nil, cmp.Or(err, fmt.Errorf("the parts explore different things: %s", d))
		} else if all.Plan != nil && head.Plan != nil {
			all.Plan = all.Plan.union(head.Plan)
		}
		for _, r := range runs {
			if was, ok := done[r.Seed]; ok && !reflect.DeepEqual(was, r) {
				return nil, fmt.Errorf("seed %d is not the same run in two parts", r.Seed)
			}
			done[r.Seed] = r
		}
	}
	if all == nil {
		return nil, errors.New("no state to merge")
	}
	lines := []any{all}
	for _, seed := range slices.Sorted(maps.Keys(done)) {
		lines = append(lines, done[seed])
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, line := range lines {
		if err := enc.Encode(line); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// NeededTraces returns the seeds whose traces an exploration keeps. state is the content of
// its state file.
func NeededTraces(state []byte) ([]uint64, error) {
	head, _, runs, ok := parseState(state)
	if !ok || head.Plan == nil {
		return nil, ErrNoExploration
	}
	e := &Exploration{o: ExploreOptions{First: head.Seed}, done: map[uint64]*ExploredRun{}, limit: uint64(max(head.Plan.Runs, 0))}
	for i := range runs {
		e.done[runs[i].Seed] = &runs[i]
	}
	return slices.Sorted(maps.Keys(e.toKeep())), nil
}

// TraceName returns the file name of a seed's trace in the directory of an exploration.
func TraceName(seed uint64) string { return fmt.Sprintf("seed%d.hst", seed) }
