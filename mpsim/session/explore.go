package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cdr"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/outfile"
)

// exploration makes the runs of many seeds.
type exploration struct {
	run   session.Run // of any seed
	teams []int       // numbers of OpenMP threads that the seeds take in turn; nil: the program's
	input []byte
	dir   string
	first uint64
	runs  int
	jobs  int
	until bool // stop at the first seed with a race
	opts  analyze.RaceOptions
	rules func() (*report.Suppressions, error) // a fresh copy for each analysis
	show  io.Writer                            // the guests' output; nil: nowhere

	progress func(done, races int)

	mu      sync.Mutex
	state   *runState
	done    map[uint64]*explorationRun
	kept    map[uint64]bool // seeds whose traces exist
	next    uint64          // offset from first of the next seed to run
	limit   uint64          // no seeds from this offset on
	failure error
}

// explore makes the runs that are not done yet, several at a time, until all
// are done, ctx is cancelled or one of them fails.
func (e *exploration) explore(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.limit = uint64(e.runs)
	for _, r := range e.done {
		e.stopAt(r)
	}
	var all sync.WaitGroup
	for range e.jobs {
		all.Go(func() {
			for {
				seed, ok := e.take(ctx)
				if !ok {
					return
				}
				if err := e.one(ctx, seed); err != nil {
					e.fail(err)
					cancel()
					return
				}
			}
		})
	}
	all.Wait()
	return e.failure
}

// take gives a seed that is not done.
func (e *exploration) take(ctx context.Context) (uint64, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.next < e.limit && ctx.Err() == nil {
		seed := e.first + e.next
		e.next++
		if e.done[seed] == nil {
			return seed, true
		}
	}
	return 0, false
}

func (e *exploration) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failure == nil {
		e.failure = err
	}
}

// stopAt makes a run with a race the last, if that was asked for. Seeds below
// it are still run, so that it does not depend on luck which seed is the last.
func (e *exploration) stopAt(r *explorationRun) {
	if e.until && len(r.Races) > 0 {
		e.limit = min(e.limit, r.Seed-e.first+1)
	}
}

func (e *exploration) tracePath(seed uint64) string {
	return filepath.Join(e.dir, fmt.Sprintf("seed%d.hst", seed))
}

// env is the environment of the run of a seed.
func (e *exploration) env(seed uint64) []string {
	if len(e.teams) == 0 {
		return e.run.Env
	}
	n := e.teams[(seed-e.first)%uint64(len(e.teams))]
	return append(slices.Clone(e.run.Env), fmt.Sprintf("%s=%d", teamVariable, n))
}

// one makes the run of a seed and analyses it.
func (e *exploration) one(ctx context.Context, seed uint64) error {
	r := e.run
	r.Seed, r.Env = seed, e.env(seed)
	r.Out, r.Scratch = e.tracePath(seed)+".part", true
	defer os.Remove(r.Out)
	out := newOutputs(e.show != nil)
	done, err := r.Record(ctx, session.Streams{In: bytes.NewReader(e.input), Out: &out.stdout, Err: &out.stderr})
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	if done.Interrupted {
		return nil // as if it had not begun
	}
	sum := &explorationRun{
		Seed: seed, Status: done.Status, Output: out.name(), Insts: done.Insts, Threads: done.Threads, Races: []string{},
	}
	sum.end(done)
	t, err := cdr.OpenFile(r.Out)
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	defer t.Close()
	rules, err := e.rules()
	if err != nil {
		return err
	}
	opts := e.opts
	opts.Suppressions = rules
	rep, err := analyze.New(t, r.Out).Races(ctx, opts)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	for i := range rep.Races {
		sum.Races = append(sum.Races, rep.Races[i].Fingerprint)
	}
	return e.finished(ctx, sum, r.Out, out)
}

// end says how a run ended.
func (s *explorationRun) end(done *session.Summary) {
	s.Message = done.Message
	switch {
	case len(done.Deadlock) > 0:
		s.Ending = "deadlock"
	case done.LimitReached || done.Limit != linux.NoLimit:
		s.Ending = "limit"
	case done.Fault != nil:
		s.Ending = "fault"
		s.At = "in unknown code"
		for i, pc := range done.Fault.Stack {
			if i > 0 {
				pc--
			}
			if frames := done.Image.Frames(pc); len(frames) > 0 && done.Image.User(pc) {
				s.At = frames[0].Short()
				break
			}
		}
	case done.Signal != 0:
		s.Ending = "signal"
	default:
		s.Ending = "exit"
	}
}

// finished takes a run that is over: its trace is kept if it is, of the runs so
// far, the one with the lowest seed that shows some race or end.
func (e *exploration) finished(ctx context.Context, r *explorationRun, trace string, out *outputs) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.show != nil {
		fmt.Fprintf(e.show, "== seed %d\n%s%s", r.Seed, out.stdout.text.Bytes(), out.stderr.text.Bytes())
	}
	e.done[r.Seed] = r
	e.stopAt(r)
	keep := e.toKeep()
	if keep[r.Seed] {
		// The trace is there before the state says so.
		if err := outfile.Move(ctx, trace, e.tracePath(r.Seed)); err != nil {
			return err
		}
		e.kept[r.Seed] = true
	}
	if err := e.state.add(r); err != nil {
		return err
	}
	if err := e.prune(keep); err != nil {
		return err
	}
	if e.progress != nil {
		races := map[string]bool{}
		for _, d := range e.done {
			for _, f := range d.Races {
				races[f] = true
			}
		}
		e.progress(len(e.done), len(races))
	}
	return nil
}

// prune removes the traces that others stand for.
func (e *exploration) prune(keep map[uint64]bool) error {
	for seed := range e.kept {
		if !keep[seed] {
			if err := os.Remove(e.tracePath(seed)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			delete(e.kept, seed)
		}
	}
	return nil
}

// inOrder gives the runs that the report is about, by seed.
func (e *exploration) inOrder() []*explorationRun {
	var all []*explorationRun
	for _, r := range e.done {
		if r.Seed-e.first < e.limit {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *explorationRun) int {
		if a.Seed < b.Seed {
			return -1
		}
		return 1
	})
	return all
}

// toKeep gives the seeds whose traces are kept: the lowest for each race, and
// for each end other than by exit.
func (e *exploration) toKeep() map[uint64]bool {
	keep := map[uint64]bool{}
	seen := map[string]bool{}
	for _, r := range e.inOrder() {
		news := r.Races
		if r.Ending != "exit" {
			news = append(slices.Clone(news), r.ended())
		}
		for _, name := range news {
			if !seen[name] {
				seen[name], keep[r.Seed] = true, true
			}
		}
	}
	return keep
}

// outputs takes what a guest writes: a digest of it, and the beginning of it
// when it is to be shown.
type outputs struct{ stdout, stderr output }

// shownOutput bounds what is shown of a stream of a run, in bytes.
const shownOutput = 1 << 20

func newOutputs(show bool) *outputs {
	o := &outputs{}
	for _, s := range []*output{&o.stdout, &o.stderr} {
		s.digest = sha256.New()
		if show {
			s.room = shownOutput
		}
	}
	return o
}

type output struct {
	digest hash.Hash
	text   bytes.Buffer
	room   int
}

func (o *output) Write(b []byte) (int, error) {
	n := min(len(b), o.room)
	o.text.Write(b[:n])
	o.room -= n
	return o.digest.Write(b)
}

// name is a name for the content of both streams.
func (o *outputs) name() string {
	h := sha256.New()
	for _, s := range []*output{&o.stdout, &o.stderr} {
		h.Write(s.digest.Sum(nil))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
