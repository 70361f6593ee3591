package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindsight/tracefmt/buildinfo"
)

// fakeRun returns the run of a seed. It is the same on every call.
func fakeRun(seed uint64) ExploredRun {
	rng := rand.New(rand.NewPCG(seed, 0))
	r := ExploredRun{Seed: seed, Ending: "exit", Output: "o", Insts: rng.Uint64N(100), Threads: 2, Races: []string{}}
	if rng.IntN(6) == 0 {
		r.Ending, r.At = "fault", fmt.Sprint("line ", rng.IntN(2))
	}
	for n := range 4 {
		if rng.IntN(5) == 0 {
			r.Races = append(r.Races, fmt.Sprint("race", n))
		}
	}
	return r
}

// fakeShard writes the exploration of some seeds, in that order, with the traces that it
// needs except those that are gone. path is the path of its program.
func fakeShard(t *testing.T, dir string, runs int, path string, seeds []uint64, gone func(uint64) bool) {
	t.Helper()
	head := stateHead{
		explored: explored{Tool: buildinfo.Version(), Args: []string{}, Env: []string{}, Seed: 5, Schedule: "random"},
		Plan:     &plan{Runs: runs, Program: "p", Command: path},
	}
	s, _, err := openState(t.Context(), dir, head, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	e := &Exploration{o: ExploreOptions{Dir: dir, First: 5}, done: map[uint64]*ExploredRun{}, limit: uint64(runs)}
	for _, seed := range seeds {
		r := fakeRun(seed)
		e.done[seed] = &r
		if err := s.add(&r); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range e.toKeep() {
		if gone(seed) {
			continue
		}
		if err := os.WriteFile(e.TracePath(seed), fmt.Append(nil, "trace ", seed), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns the contents of the files in a directory, by name.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(data)
	}
	return all
}

func mergeInto(t *testing.T, to string, from ...string) *Merged {
	t.Helper()
	m, err := Merge(t.Context(), MergeOptions{From: from, Dir: to})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMergeAnyOrder merges explorations that overlap, lack runs and traces, and end in the
// middle of a line. The resulting files must be the same in any order and any grouping,
// with some inputs twice, and in place.
func TestMergeAnyOrder(t *testing.T) {
	for trial := range uint64(10) {
		rng := rand.New(rand.NewPCG(trial, 1))
		base := t.TempDir()
		var dirs []string
		for n := range 2 + rng.IntN(4) {
			runs := 20 + 5*rng.IntN(3)
			var seeds []uint64
			for _, k := range rng.Perm(runs) {
				if rng.IntN(2) == 0 {
					seeds = append(seeds, 5+uint64(k))
				}
			}
			dir := filepath.Join(base, fmt.Sprint("part", n))
			fakeShard(t, dir, runs, fmt.Sprint("path", rng.IntN(3)), seeds, func(uint64) bool { return rng.IntN(5) == 0 })
			if rng.IntN(3) == 0 {
				tear(t, dir)
			}
			dirs = append(dirs, dir)
		}
		all := filepath.Join(base, "all")
		mergeInto(t, all, dirs...)
		want := tree(t, all)
		for n := range 3 {
			// Merge two random pieces until only one is left.
			left := slices.Clone(dirs)
			for step := 0; len(left) > 1; step++ {
				rng.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
				to := filepath.Join(base, fmt.Sprintf("to%d-%d", n, step))
				from := slices.Clone(left[:2])
				if rng.IntN(3) == 0 {
					from = append(from, dirs[rng.IntN(len(dirs))])
				}
				mergeInto(t, to, from...)
				left = append(left[2:], to)
			}
			if got := tree(t, left[0]); !reflect.DeepEqual(got, want) {
				t.Fatalf("trial %d: got %v\nwant %v", trial, got, want)
			}
		}
		mergeInto(t, all, append(dirs, all)...)
		if got := tree(t, all); !reflect.DeepEqual(got, want) {
			t.Fatalf("trial %d, in place: got %v\nwant %v", trial, got, want)
		}
	}
}

// tear truncates a state within its last line.
func tear(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, StateName)
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, data[:len(data)-3], 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestMergeShards checks that the complete shards of an exploration make up all of it:
// every run, and exactly the traces that one exploration of all seeds keeps.
func TestMergeShards(t *testing.T) {
	const runs = 40
	base := t.TempDir()
	var all []uint64
	for n := range uint64(runs) {
		all = append(all, 5+n)
	}
	whole := filepath.Join(base, "whole")
	none := func(uint64) bool { return false }
	fakeShard(t, whole, runs, "path", all, none)
	var dirs []string
	for shard := 1; shard <= 3; shard++ {
		e := &Exploration{o: ExploreOptions{First: 5, Runs: runs, Shard: shard, Shards: 3}, limit: runs, upTo: runs}
		var seeds []uint64
		for seed, ok := e.take(t.Context()); ok; seed, ok = e.take(t.Context()) {
			seeds = append(seeds, seed)
		}
		if len(seeds) != e.o.Planned() {
			t.Errorf("shard %d: %d runs, and %d are planned", shard, len(seeds), e.o.Planned())
		}
		dir := filepath.Join(base, fmt.Sprint(shard))
		fakeShard(t, dir, runs, "path", seeds, none)
		dirs = append(dirs, dir)
	}
	m := mergeInto(t, filepath.Join(base, "all"), dirs...)
	if got, want := tree(t, m.o.Dir), tree(t, whole); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if len(m.Missing()) > 0 || len(m.Damaged) > 0 {
		t.Errorf("missing %v, damaged %v", m.Missing(), m.Damaged)
	}
}

// TestMergeRefuses checks that explorations that contradict each other are not merged, and
// that the attempt leaves nothing behind.
func TestMergeRefuses(t *testing.T) {
	base := t.TempDir()
	a, b, to := filepath.Join(base, "a"), filepath.Join(base, "b"), filepath.Join(base, "to")
	none := func(uint64) bool { return false }
	fakeShard(t, a, 10, "path", []uint64{5, 6}, none)
	fakeShard(t, b, 10, "path", []uint64{7}, none)
	other := fakeRun(6)
	other.Insts++
	line, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(b, StateName)
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(append(data, line...), '\n'), 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(b, "seed6.hst"), []byte("trace 6"), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = Merge(t.Context(), MergeOptions{From: []string{a, b}, Dir: to})
	if err == nil || !strings.Contains(err.Error(), "seed 6 is not the same run") {
		t.Errorf("contradiction: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := filepath.Join(base, "many")
	fakeShard(t, many, 40, "path", []uint64{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, none)
	if _, err := Merge(ctx, MergeOptions{From: []string{many}, Dir: to}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left := tree(t, to); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
