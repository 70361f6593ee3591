// Package suite explores many programs, each with many seeds. It parses a list of commands
// with their expected outcomes ([Parse]), runs them on this machine ([Explore]), unites
// what several machines did ([Merge]), and writes one report about all programs
// ([Suite.Report]).
//
// A program that hangs, or that hindsight cannot load, simulate or analyse, affects only
// its own runs. A row in the report says so.
package suite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"hindsight/mpsim/session"
	"hindsight/tracefmt/outfile"
)

// Options say what to explore, and how.
type Options struct {
	List     *List
	Settings Settings
	Dir      string
	Jobs     int // maximum number of concurrent runs, over all programs; 0: 1
	// Shards, if not 0, is the number of parts that the runs are split into. This
	// exploration is number Shard, counted from 1.
	Shard, Shards int
	Resume        bool                  // continue the exploration in Dir
	Progress      func(done, races int) // totals over all programs; may be nil
}

// MaxProblems is the number of failed runs after which a program is given up.
const MaxProblems = 3

// firstRound is the number of runs that a program makes before the other programs have
// their turn. Each further round multiplies the number of runs so far by nextRounds.
const (
	firstRound  = 16
	nextRounds  = 4
	endOfRounds = 1 << 30
)

// exploring is a suite in progress.
type exploring struct {
	o     Options
	slots chan struct{} // one element per concurrent run

	mu       sync.Mutex
	state    *outfile.File
	problems map[string]int // by key: number of failed runs
	done     map[string]int // by key: number of runs made
	races    map[string]int // by key: number of races seen
	queue    []turn
	fatal    error
}

// turn is a part of a program's runs: those of the first seeds.
type turn struct {
	index int // of the program
	upTo  int
}

// Explore makes the runs of all programs that are not in the directory yet. Programs take
// turns, so that an interrupted exploration has about the same number of runs of each.
// Problems with one program are noted in the state and do not stop the others. An error is
// about the directory. If ctx is cancelled, Explore returns no error.
func Explore(ctx context.Context, o Options) error {
	h, err := newHead(o.List, &o.Settings)
	if err != nil {
		return err
	}
	h.Shard, h.Shards = o.Shard, o.Shards
	if err := canContinue(o.Dir, h, o.Resume); err != nil {
		return err
	}
	state, err := session.LockState(ctx, o.Dir, StateName)
	if err != nil {
		return err
	}
	if err := begin(state, h, nil); err != nil {
		return errors.Join(err, state.Discard())
	}
	e := &exploring{o: o, state: state, slots: make(chan struct{}, max(o.Jobs, 1)), problems: map[string]int{}, done: map[string]int{}, races: map[string]int{}}
	e.turns()
	e.run(ctx)
	return errors.Join(e.fatal, state.Close())
}

// Planned returns the number of runs of this shard, over all programs.
func (o *Options) Planned() int {
	n := 0
	for i := range o.List.Programs {
		n += o.shardOf(i).Planned()
	}
	return n
}

// shardOf returns the part of a program's runs that this shard makes. The shards take turns
// at the first seed, so that each has about the same number of runs if explorations are
// short.
func (o *Options) shardOf(index int) *session.ExploreOptions {
	part := &session.ExploreOptions{Runs: o.Settings.RunsOf(o.List.Programs[index]), Shards: o.Shards}
	if o.Shards > 0 {
		part.Shard = (o.Shard-1+index)%o.Shards + 1
	}
	return part
}

// turns fills the queue, round by round.
func (e *exploring) turns() {
	shards := max(e.o.Shards, 1)
	for from, upTo := 0, firstRound; from < endOfRounds; from, upTo = upTo, upTo*nextRounds {
		left := false
		for i, p := range e.o.List.Programs {
			if runs := e.o.Settings.RunsOf(p); runs > from*shards {
				e.queue = append(e.queue, turn{i, min(upTo*shards, runs)})
				left = true
			}
		}
		if !left {
			return
		}
	}
}

// run takes turns until none are left.
func (e *exploring) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	busy := map[int]bool{} // programs with a turn in progress
	more := sync.NewCond(&e.mu)
	var all sync.WaitGroup
	for range max(e.o.Jobs, 1) {
		all.Go(func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			for len(e.queue) > 0 && ctx.Err() == nil && e.fatal == nil {
				t, ok := e.next(busy)
				if !ok {
					more.Wait()
					continue
				}
				busy[t.index] = true
				e.mu.Unlock()
				err := e.turn(ctx, t)
				e.mu.Lock()
				delete(busy, t.index)
				if err != nil && e.fatal == nil {
					e.fatal = err
					cancel()
				}
				more.Broadcast()
			}
		})
	}
	all.Wait()
}

// next takes the first turn of a program that is not busy.
func (e *exploring) next(busy map[int]bool) (turn, bool) {
	for i, t := range e.queue {
		if !busy[t.index] {
			e.queue = append(e.queue[:i:i], e.queue[i+1:]...)
			return t, true
		}
	}
	return turn{}, false
}

// turn makes some of the runs of a program.
func (e *exploring) turn(ctx context.Context, t turn) error {
	p := e.o.List.Programs[t.index]
	part := e.o.shardOf(t.index)
	if e.over(p, part.Planned()) {
		return nil
	}
	o, err := e.o.Settings.Explored(p, filepath.Join(e.o.Dir, p.Key))
	if err != nil {
		return e.problem(p, nil, err, MaxProblems)
	}
	o.Shard, o.Shards, o.Resume = part.Shard, part.Shards, true
	o.Jobs, o.Slots = cap(e.slots), e.slots
	o.Progress = func(done, races int) { e.progress(p, done, races) }
	var lost error
	o.Failed = func(seed uint64, err error) bool {
		lost = errors.Join(lost, e.problem(p, &seed, err, 1))
		return lost == nil && !e.over(p, o.Runs+1)
	}
	all, err := session.OpenExploration(ctx, *o)
	if err != nil {
		return e.problem(p, nil, err, MaxProblems)
	}
	err = all.ExploreFirst(ctx, t.upTo)
	e.noteDone(p, all.Done())
	return errors.Join(err, lost, all.Close())
}

// noteDone notes how many runs of a program are done, even if none was made now.
func (e *exploring) noteDone(p *Program, done int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[p.Key] = done
}

// over reports whether a program needs no further turn: it has made all planned runs, or
// has been given up.
func (e *exploring) over(p *Program, planned int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.problems[p.Key] >= MaxProblems || e.done[p.Key] >= planned
}

// problem notes a problem with a program, which counts as weight failed runs.
func (e *exploring) problem(p *Program, seed *uint64, err error, weight int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.problems[p.Key] += weight
	return writeLine(e.state, &Problem{p.Key, seed, err.Error()})
}

// progress reports how many runs of a program are done, and how many races they have.
func (e *exploring) progress(p *Program, done, races int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[p.Key], e.races[p.Key] = done, races
	if e.o.Progress == nil {
		return
	}
	allDone, allRaces := 0, 0
	for key, n := range e.done {
		allDone += n
		allRaces += e.races[key]
	}
	e.o.Progress(allDone, allRaces)
}
