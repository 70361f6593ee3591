package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"hindsight/analyze/report"
	"hindsight/mpsim/session"
	"hindsight/mpsim/survey"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/numtext"
)

// Verdict summarises the outcome of a program.
type Verdict string

// Verdicts, in order of precedence.
const (
	Races      Verdict = "races"      // unexpected races were seen
	Unexpected Verdict = "unexpected" // some runs are not as expected
	Failed     Verdict = "failed"     // hindsight could not make or analyse runs
	Incomplete Verdict = "incomplete" // runs are missing
	OK         Verdict = "ok"
)

// Row is what is known about a program.
type Row struct {
	Program    *Program
	Verdict    Verdict
	Planned    int            // number of runs
	Runs       *survey.Runs   // nil: no run was made
	Report     *report.Report // nil: no run was made
	Command    string         // repeats one of the runs
	Unexpected []string       // how the runs differ from what is expected
	Problems   []string
	Missing    []uint64 // seeds of runs that were not made
}

// Made returns the number of runs that were made.
func (r *Row) Made() int {
	if r.Runs == nil {
		return 0
	}
	return r.Runs.Made
}

// Warnings returns the number of races and deadlocks that the text reports.
func (r *Row) Warnings() int {
	if r.Report == nil {
		return 0
	}
	return r.Report.Warnings()
}

// Report is the report about a suite.
type Report struct {
	Version       string // of hindsight
	List, Dir     string
	Seed          uint64
	Shard, Shards int // shard number and count; 0: not a shard
	Rows          []Row
}

// Count returns how many programs have a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Verdict == v {
			n++
		}
	}
	return n
}

// Made returns the numbers of runs made and planned, over all programs.
func (r *Report) Made() (made, planned int) {
	for i := range r.Rows {
		made += r.Rows[i].Made()
		planned += r.Rows[i].Planned
	}
	return made, planned
}

// Report creates the report from the kept traces, for several programs at a time. set
// contains the settings that the analysis needs and the state does not have: suppressions
// and the root.
func (s *Suite) Report(ctx context.Context, set Settings, jobs int) (*Report, error) {
	h := s.head
	set.First, set.Runs, set.StrictAtomics, set.Predict = h.Seed, h.Runs, h.Atomics == "strict", h.Predict
	out := &Report{Version: buildinfo.Version(), List: h.List, Dir: s.Dir, Seed: h.Seed, Shard: h.Shard, Shards: h.Shards, Rows: make([]Row, len(s.parts))}
	errs := make([]error, len(s.parts))
	next := make(chan int)
	var all sync.WaitGroup
	for range max(jobs, 1) {
		all.Go(func() {
			for i := range next {
				errs[i] = s.row(ctx, i, &set, &out.Rows[i])
			}
		})
	}
	for i := range s.parts {
		next <- i
	}
	close(next)
	all.Wait()
	return out, errors.Join(errs...)
}

// row fills in the row of a program.
func (s *Suite) row(ctx context.Context, index int, set *Settings, r *Row) error {
	p, e := s.List.Programs[index], s.parts[index]
	part := (&Options{List: s.List, Settings: *set, Shard: s.head.Shard, Shards: s.head.Shards}).shardOf(index)
	r.Program, r.Planned = p, part.Planned()
	done := map[uint64]bool{}
	if e != nil {
		for _, run := range e.InOrder() {
			done[run.Seed] = true
		}
	}
	for n := range part.Runs {
		if ours := part.Shards == 0 || n%part.Shards == part.Shard-1; ours && !done[set.First+uint64(n)] {
			r.Missing = append(r.Missing, set.First+uint64(n))
		}
	}
	s.problemsOf(p, done, r)
	if len(done) > 0 {
		r.Command = e.Options().Command
		all := &survey.Survey{Exploration: e, Races: set.Analysis(p, nil).Report, Planned: r.Planned, Missing: r.Missing}
		if len(r.Missing) > 0 {
			all.Unfinished = "runs are missing"
		}
		r.Runs = all.Describe()
		rep, err := explained(ctx, all)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Report = rep
		if err != nil {
			r.Problems = append(r.Problems, err.Error())
		} else {
			s.judge(index, e, r)
		}
	}
	r.verdict()
	return nil
}

// explained returns the report of a program. A panic of the analysis becomes an error.
func explained(ctx context.Context, all *survey.Survey) (rep *report.Report, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			rep, err = nil, fmt.Errorf("hindsight failed: %v", fault)
		}
	}()
	return all.Report(ctx)
}

// problemsOf lists the problems of a program that remain: those of runs that have not been
// made since, and those of all runs while any run is missing.
func (s *Suite) problemsOf(p *Program, done map[uint64]bool, r *Row) {
	for _, problem := range s.problems {
		switch {
		case problem.Program != p.Key:
		case problem.Seed == nil:
			if len(r.Missing) > 0 {
				r.Problems = append(r.Problems, problem.Text)
			}
		case !done[*problem.Seed]:
			r.Problems = append(r.Problems, fmt.Sprintf("seed %d: %s", *problem.Seed, problem.Text))
		}
	}
	r.Problems = slices.Compact(r.Problems)
}

// judge compares the runs with what the list expects.
func (s *Suite) judge(index int, e *session.Exploration, r *Row) {
	want := &r.Program.Expect
	type group struct {
		key, what string
		seeds     []uint64
	}
	var groups []group
	add := func(key, what string, seed uint64) {
		i := slices.IndexFunc(groups, func(g group) bool { return g.key == key })
		if i < 0 {
			i, groups = len(groups), append(groups, group{key: key, what: what})
		}
		groups[i].seeds = append(groups[i].seeds, seed)
	}
	for _, run := range e.InOrder() {
		if !want.ends(run) {
			add(run.Ended(), cmp.Or(run.Message, run.Ended()), run.Seed)
		} else if out := s.head.Programs[index].Stdout; out != "" && out != run.Stdout {
			add("", "other output than "+want.Output, run.Seed)
		}
	}
	for _, g := range groups {
		r.Unexpected = append(r.Unexpected, fmt.Sprintf("%s (%d of %s: %s)", g.what, len(g.seeds), numtext.Plural(uint64(r.Runs.Made), "run"), survey.SeedsText(g.seeds)))
	}
	if n, err := strconv.Atoi(want.Races); err == nil && r.Warnings() < n || want.Races == racesSome && r.Warnings() == 0 {
		r.Unexpected = append(r.Unexpected, fmt.Sprintf("%s, and %s expected", numtext.Plural(uint64(r.Warnings()), "race"), map[bool]string{true: "some are", false: want.Races + " were"}[want.Races == racesSome]))
	}
}

// ends reports whether a run may end in this way. A status is the one that a shell shows.
func (e *Expect) ends(run *session.ExploredRun) bool {
	switch {
	case slices.Contains(e.Ends, "any") || slices.Contains(e.Ends, run.Ending):
		return true
	case run.Ending == "deadlock" || run.Ending == "limit":
		return false
	case e.Ends == nil:
		return run.Status == 0
	}
	return slices.Contains(e.Ends, strconv.Itoa(run.Status))
}

// tooMany reports whether this number of races is more than expected.
func (e *Expect) tooMany(races int) bool {
	n, err := strconv.Atoi(e.Races)
	return races > 0 && (e.Races == "" || e.Races == racesNone) || err == nil && races > n
}

// verdict sets the verdict of the row.
func (r *Row) verdict() {
	switch {
	case r.Program.Expect.tooMany(r.Warnings()):
		r.Verdict = Races
	case len(r.Unexpected) > 0:
		r.Verdict = Unexpected
	case len(r.Problems) > 0:
		r.Verdict = Failed
	case len(r.Missing) > 0:
		r.Verdict = Incomplete
	default:
		r.Verdict = OK
	}
}

// Missing returns the number of missing runs, over all programs.
func (r *Report) Missing() int {
	n := 0
	for i := range r.Rows {
		n += len(r.Rows[i].Missing)
	}
	return n
}
