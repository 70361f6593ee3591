package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"hindsight/mpsim/session"
	"hindsight/mpsim/suite"
	"hindsight/tracefmt/buildinfo"
)

// job is the input of the pipeline. It is sent to each worker.
type job struct {
	ListName string
	List     string // the text of the list
	Settings suite.Settings
	Chunk    int    // runs in a work item
	Out      string // directory, in a file system that Beam knows
}

// programs parses the list.
func (j *job) programs() (*suite.List, error) { return suite.Parse(j.ListName, []byte(j.List)) }

// item is a part of a program's runs: every Shards-th seed.
type item struct {
	Program       int // index in the list
	Shard, Shards int
}

// partName is the name of the file with the result of an item. A retry, or a second
// pipeline, finds it there. The name depends on everything that the runs depend on.
func (j *job) partName(p *suite.Program, it *item) (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode([]any{buildinfo.Version(), j.Settings, p.String()})
	if err != nil {
		return "", err
	}
	for _, name := range []string{p.Words[0], p.Stdin} {
		// If the program cannot be read, the part reports that as a problem.
		if content, err := os.ReadFile(name); err == nil {
			fmt.Fprintf(h, "%s %d\n%s", name, len(content), content)
		}
	}
	return fmt.Sprintf("%s/parts/%s.%d-of-%d.%x.json", j.Out, p.Key, it.Shard, it.Shards, h.Sum(nil)[:8]), nil
}

// store writes a file so that it is complete or absent, if the file system can rename.
// Others, such as object stores, show a file when it is closed.
func store(ctx context.Context, fs filesystem.Interface, name string, data []byte) error {
	renamer, ok := fs.(filesystem.Renamer)
	if !ok {
		return filesystem.Write(ctx, fs, name, data)
	}
	beside := fmt.Sprintf("%s.%016x", name, rand.Uint64()) // a retry may be running elsewhere
	if err := filesystem.Write(ctx, fs, beside, data); err != nil {
		return err
	}
	return renamer.Rename(ctx, beside, name)
}

// part is what is known about some of a program's runs: the content of a state file, and
// problems. Its traces are in the output directory.
type part struct {
	State    string          `json:"state,omitempty"`
	Problems []suite.Problem `json:"problems,omitempty"`
}

func init() {
	register.DoFn2x1[[]byte, func(string, []byte), error](&splitFn{})
	register.DoFn4x1[context.Context, string, []byte, func(string, []byte), error](&runFn{})
	register.DoFn4x1[context.Context, string, []byte, func(string, []byte), error](&keepFn{})
	register.DoFn3x1[context.Context, string, func(*[]byte) bool, error](&stateFn{})
	register.Combiner1[[]byte](&mergeFn{})
	register.Emitter2[string, []byte]()
	register.Iter1[[]byte]()
}

// build builds the pipeline. It runs all programs × seeds, reshuffled, combines what is
// known about each program, and writes the files that hindsight explore --suite would
// write to the directory.
func build(s beam.Scope, j *job) {
	items := beam.ParDo(s.Scope("Split"), &splitFn{*j}, beam.Impulse(s))
	parts := beam.ParDo(s.Scope("Run"), &runFn{Job: *j}, beam.Reshuffle(s, items))
	whole := beam.CombinePerKey(s.Scope("Merge"), &mergeFn{}, parts)
	problems := beam.ParDo(s.Scope("Keep"), &keepFn{*j}, whole)
	beam.ParDo0(s.Scope("State"), &stateFn{*j}, beam.GroupByKey(s, problems))
}

// splitFn emits the work items by the key of their program.
type splitFn struct{ Job job }

func (f *splitFn) ProcessElement(_ []byte, emit func(string, []byte)) error {
	l, err := f.Job.programs()
	if err != nil {
		return err
	}
	for i, p := range l.Programs {
		runs := f.Job.Settings.RunsOf(p)
		for shard, shards := 1, (runs+f.Job.Chunk-1)/f.Job.Chunk; shard <= shards; shard++ {
			text, err := json.Marshal(item{i, shard, shards})
			if err != nil {
				return err
			}
			emit(fmt.Sprintf("%s %d", p.Key, shard), text)
		}
	}
	return nil
}

// runFn executes the runs of an item. Its result depends only on the item, so it may be
// repeated.
type runFn struct {
	Job  job
	list *suite.List
}

func (f *runFn) ProcessElement(ctx context.Context, _ string, text []byte, emit func(string, []byte)) error {
	var it item
	err := json.Unmarshal(text, &it)
	if f.list == nil && err == nil {
		f.list, err = f.Job.programs()
	}
	if err != nil {
		return err
	}
	p := f.list.Programs[it.Program]
	fs, err := filesystem.New(ctx, f.Job.Out)
	if err != nil {
		return err
	}
	defer fs.Close()
	name, err := f.Job.partName(p, &it)
	if err != nil {
		return err
	}
	if old, err := filesystem.Read(ctx, fs, name); err == nil && json.Valid(old) {
		emit(p.Key, old)
		return nil
	}
	result, err := f.Job.explore(ctx, fs, p, &it)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(result); err != nil {
		return err
	}
	if err := store(ctx, fs, name, text); err != nil {
		return err
	}
	emit(p.Key, text)
	return nil
}

// explore executes the runs of an item and stores the traces that they need.
func (j *job) explore(ctx context.Context, fs filesystem.Interface, p *suite.Program, it *item) (*part, error) {
	dir, err := os.MkdirTemp("", "hindsight-beam")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	result := &part{}
	o, err := j.Settings.Explored(p, dir)
	if err != nil { // a problem of this program, which does not affect others
		result.Problems = append(result.Problems, suite.Problem{Program: p.Key, Text: err.Error()})
		return result, nil
	}
	o.Shard, o.Shards = it.Shard, it.Shards
	o.Failed = func(seed uint64, err error) bool {
		result.Problems = append(result.Problems, suite.Problem{Program: p.Key, Seed: &seed, Text: err.Error()})
		return len(result.Problems) < suite.MaxProblems
	}
	all, err := session.OpenExploration(ctx, *o)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(all.Explore(ctx), all.Close(), ctx.Err()); err != nil {
		return nil, err
	}
	state, err := os.ReadFile(filepath.Join(dir, session.StateName))
	if err != nil {
		return nil, err
	}
	needed, err := session.NeededTraces(state)
	if err != nil {
		return nil, err
	}
	for _, seed := range needed {
		trace, err := os.ReadFile(filepath.Join(dir, session.TraceName(seed)))
		if err == nil {
			err = store(ctx, fs, j.path(p.Key, session.TraceName(seed)), trace)
		}
		if err != nil {
			return nil, err
		}
	}
	result.State = string(state)
	return result, nil
}

// path returns the name of a file of a program in the output directory.
func (j *job) path(key, name string) string { return strings.Join([]string{j.Out, key, name}, "/") }

// mergeFn combines what is known about a program.
type mergeFn struct{}

func (*mergeFn) MergeAccumulators(a, b []byte) []byte {
	var x, y part
	err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y))
	out := part{Problems: append(x.Problems, y.Problems...), State: x.State + y.State}
	if err == nil && x.State != "" && y.State != "" {
		var state []byte
		state, err = session.MergeStates([]byte(x.State), []byte(y.State))
		out.State = string(state)
	}
	if err != nil {
		out.Problems = append(out.Problems, suite.Problem{Text: err.Error()})
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return text
}

// keepFn writes the state of a program, and removes the traces that only a part needed.
type keepFn struct{ Job job }

func (f *keepFn) ProcessElement(ctx context.Context, key string, text []byte, emit func(string, []byte)) error {
	var p part
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	problems, err := json.Marshal(p.Problems)
	if err != nil {
		return err
	}
	emit("problems", problems)
	if p.State == "" {
		return nil
	}
	// In order of seeds, even if there was one part.
	state, err := session.MergeStates([]byte(p.State))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	needed, err := session.NeededTraces(state)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	fs, err := filesystem.New(ctx, f.Job.Out)
	if err != nil {
		return err
	}
	defer fs.Close()
	if err := store(ctx, fs, f.Job.path(key, session.StateName), state); err != nil {
		return err
	}
	remover, ok := fs.(filesystem.Remover)
	if !ok {
		return nil
	}
	keep := map[string]bool{}
	for _, seed := range needed {
		keep[session.TraceName(seed)] = true
	}
	files, err := fs.List(ctx, f.Job.path(key, "*.hst"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if !keep[file[strings.LastIndexByte(file, '/')+1:]] {
			if err := remover.Remove(ctx, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateFn writes the state of the suite.
type stateFn struct{ Job job }

func (f *stateFn) ProcessElement(ctx context.Context, _ string, next func(*[]byte) bool) error {
	var all []suite.Problem
	for text := []byte(nil); next(&text); {
		var some []suite.Problem
		if err := json.Unmarshal(text, &some); err != nil {
			return err
		}
		all = append(all, some...)
	}
	l, err := f.Job.programs()
	if err != nil {
		return err
	}
	state, err := suite.State(l, &f.Job.Settings, all)
	if err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, f.Job.Out)
	if err != nil {
		return err
	}
	defer fs.Close()
	return store(ctx, fs, f.Job.Out+"/"+suite.StateName, state)
}
