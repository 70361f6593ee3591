package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hindsight/tracefmt/outfile"
)

// StateName is the file in which an exploration keeps its progress. It contains one JSON
// value per line: first what is being explored, then one line for each run, in the order in
// which the runs ended. Each line is written as soon as its run has ended. An incomplete
// last line is ignored.
const StateName = "explore.jsonl"

const stateVersion = 1

// stateHead is the first line.
type stateHead struct {
	explored
	Plan *plan `json:"plan,omitempty"` // nil: written by an older version
}

// plan is what the last call asked for. Two explorations may be the same although their
// plans differ.
type plan struct {
	Runs    int    `json:"runs"`    // of all shards together
	Program string `json:"program"` // base name of its file
	Command string `json:"command"` // repeats one of the runs
}

// explored identifies an exploration. One exploration can continue another, or be merged
// with it, if these members are equal. The number of runs and the shard are not among them.
type explored struct {
	Version      int      `json:"version"`
	Tool         string   `json:"tool"`
	Program      string   `json:"program"` // SHA-256 of the ELF file
	Args         []string `json:"args"`
	Env          []string `json:"env"`
	Root         string   `json:"root"`
	CPUs         int      `json:"cpus,omitempty"`
	Input        string   `json:"input"` // SHA-256 of the standard input
	Seed         uint64   `json:"seed"`  // the first one
	Schedule     string   `json:"schedule"`
	Quantum      int      `json:"quantum"`
	Depth        int      `json:"depth,omitempty"`
	Instructions uint64   `json:"max_instructions"`
	Memory       uint64   `json:"max_memory"`
	Threads      int      `json:"max_threads"`
	Teams        []int    `json:"thread_counts,omitempty"`
	Atomics      string   `json:"atomics"`
	Suppressions string   `json:"suppressions"` // SHA-256 of the files
	Predict      bool     `json:"predict,omitempty"`
	Keep         string   `json:"keep"`
}

// ExploredRun is what is known about a run that has ended.
type ExploredRun struct {
	Seed    uint64   `json:"seed"`
	Ending  string   `json:"ending"` // exit, signal, fault, deadlock or limit
	Status  int      `json:"status"`
	At      string   `json:"at,omitempty"` // the source line of a fault
	Message string   `json:"message,omitempty"`
	Output  string   `json:"output"` // names the content of both output streams
	Stdout  string   `json:"stdout"` // names the content of standard output
	Insts   uint64   `json:"instructions"`
	Threads int      `json:"threads"`
	Races   []string `json:"races"` // fingerprints
	// Class names what the run did (coverage.Class, in hexadecimal); "" if that is unknown.
	// Pairs contains the pairs of operations in it (coverage.EncodePairs).
	Class string `json:"class,omitempty"`
	Pairs string `json:"pairs,omitempty"`
	// With the schedule coverage: the run's targets (mpsim.ParseTargets), and who first
	// acquired what (coverage.ParseArrivals).
	Targets  string `json:"targets,omitempty"`
	Arrivals string `json:"arrivals,omitempty"`
}

// Ended describes how the run ended, in a form that can be compared.
func (r *ExploredRun) Ended() string {
	switch r.Ending {
	case "exit":
		return fmt.Sprintf("exit status %d", r.Status)
	case "deadlock":
		return "deadlock"
	}
	return r.Ending + " " + fmt.Sprint(r.Status) + " " + r.At
}

// runState is the state file of an exploration in progress.
type runState struct {
	file *outfile.File // locked against other explorations in the directory
}

// openState starts the state file of dir. With resume, it continues the file and returns
// the runs in it. No other exploration can use the directory until the file is closed.
func openState(ctx context.Context, dir string, head stateHead, resume bool) (*runState, []ExploredRun, error) {
	name := filepath.Join(dir, StateName)
	head.Version = stateVersion
	// The file is locked before it is read, so that nobody adds a line in between.
	f, err := LockState(ctx, dir, StateName)
	if err != nil {
		return nil, nil, err
	}
	lines, runs, err := readState(dir, name, head, resume)
	if err == nil {
		err = writeState(f, head, lines)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Discard())
	}
	return &runState{f}, runs, nil
}

// LockState starts the state file name of dir, and creates dir. From then on nobody else
// can use the directory, and nothing in it changes until the file is published.
func LockState(ctx context.Context, dir, name string) (*outfile.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := outfile.Create(ctx, filepath.Join(dir, name), outfile.Options{})
	if errors.Is(err, outfile.ErrBusy) {
		err = fmt.Errorf("%s: another exploration is using this directory", dir)
	}
	return f, err
}

// writeState publishes a state file with these lines of runs.
func writeState(f *outfile.File, head stateHead, lines []byte) error {
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := f.Write(slices.Concat(line, []byte{'\n'}, lines)); err != nil {
		return err
	}
	return f.Publish()
}

// readState returns the runs in a state file, as lines and parsed.
func readState(dir, name string, head stateHead, resume bool) ([]byte, []ExploredRun, error) {
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !resume:
		return nil, nil, &OptionError{Options: []string{"resume", "dir"}, Err: fmt.Errorf("%s holds an exploration; continue it, or name another directory", dir)}
	}
	was, lines, runs, ok := parseState(data)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not the state of an exploration that this version can continue", name)
	}
	if d, err := difference(was, head); err != nil || d != "" {
		return nil, nil, cmp.Or(err, fmt.Errorf("%s explores something else: %s", dir, d))
	}
	return lines, runs, nil
}

// parseState parses a state file: its head, and the lines of runs up to the first one that
// is damaged or incomplete. ok is false if the head cannot be read.
func parseState(data []byte) (head stateHead, lines []byte, runs []ExploredRun, ok bool) {
	first, rest, ended := bytes.Cut(data, []byte{'\n'})
	if !ended || json.Unmarshal(first, &head) != nil || head.Version != stateVersion {
		return stateHead{}, nil, nil, false
	}
	lines = rest
	for {
		line, more, ok := bytes.Cut(rest, []byte{'\n'})
		var r ExploredRun
		if !ok || json.Unmarshal(line, &r) != nil {
			break
		}
		runs = append(runs, r)
		rest = more
	}
	return head, lines[:len(lines)-len(rest)], runs, true
}

// add writes the line of a run that has ended.
func (s *runState) add(r *ExploredRun) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}

func (s *runState) close() error { return s.file.Close() }

// difference names the members in which two explorations differ, or returns "".
func difference(a, b stateHead) (string, error) {
	var was, is map[string]json.RawMessage
	for _, x := range []struct {
		explored
		members *map[string]json.RawMessage
	}{{a.explored, &was}, {b.explored, &is}} {
		text, err := json.Marshal(x.explored)
		if err == nil {
			err = json.Unmarshal(text, x.members)
		}
		if err != nil {
			return "", err
		}
	}
	names := slices.Collect(maps.Keys(is))
	for name := range was {
		if is[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var parts []string
	for _, name := range names {
		if !bytes.Equal(was[name], is[name]) {
			parts = append(parts, fmt.Sprintf("%s was %s and is %s", name, orNothing(was[name]), orNothing(is[name])))
		}
	}
	return strings.Join(parts, ", "), nil
}

func orNothing(v json.RawMessage) string {
	if len(v) == 0 {
		return "nothing"
	}
	return string(v)
}

// restore takes over the runs of an earlier exploration. A run whose trace is needed but
// missing will be repeated.
func (e *Exploration) restore(runs []ExploredRun) error {
	e.limit = uint64(e.o.Runs)
	for i := range runs {
		r := &runs[i]
		e.done[r.Seed] = r
		e.learn(r)
	}
	for _, r := range e.InOrder() {
		e.stopAt(r)
	}
	files, err := filepath.Glob(filepath.Join(escapeGlob(e.o.Dir), "seed*.hst"))
	if err != nil {
		return err
	}
	for _, name := range files {
		var seed uint64
		if _, err := fmt.Sscanf(filepath.Base(name), "seed%d.hst", &seed); err == nil && name == e.TracePath(seed) {
			e.kept[seed] = true
		}
	}
	parts, err := filepath.Glob(filepath.Join(escapeGlob(e.o.Dir), "seed*.hst.part"))
	if err != nil {
		return err
	}
	for _, name := range parts { // from runs that were killed
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	e.dropUnshown()
	return e.prune(e.toKeep())
}

// dropUnshown drops the runs whose trace is needed but missing, and then those that showed
// the same races and have no trace of their own.
func (e *Exploration) dropUnshown() {
	for again := true; again; {
		again = false
		for seed := range e.toKeep() {
			if !e.kept[seed] {
				delete(e.done, seed)
				again = true
			}
		}
	}
}

// escapeGlob returns a pattern that matches exactly path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
