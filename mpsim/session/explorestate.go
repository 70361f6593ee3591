package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hindsight/tracefmt/outfile"
)

// StateName is the file in which an exploration keeps what it has done: a JSON
// value a line, first what was to be explored, then a line for each run, in the
// order in which they ended. A line is written at once when its run is over; a
// last line that is not whole is of no run.
const StateName = "explore.jsonl"

const stateVersion = 1

// explored is what makes two explorations the same, so that one can go on
// where the other stopped. How many runs are made is not part of it.
type explored struct {
	Version      int      `json:"version"`
	Tool         string   `json:"tool"`
	Program      string   `json:"program"` // SHA-256 of the ELF file
	Args         []string `json:"args"`
	Env          []string `json:"env"`
	Root         string   `json:"root"`
	CPUs         int      `json:"cpus,omitempty"`
	Input        string   `json:"input"` // SHA-256 of the standard input
	Seed         uint64   `json:"seed"`  // the first
	Schedule     string   `json:"schedule"`
	Quantum      int      `json:"quantum"`
	Depth        int      `json:"depth,omitempty"`
	Instructions uint64   `json:"max_instructions"`
	Memory       uint64   `json:"max_memory"`
	Threads      int      `json:"max_threads"`
	Teams        []int    `json:"thread_counts,omitempty"`
	Atomics      string   `json:"atomics"`
	Suppressions string   `json:"suppressions"` // SHA-256 of the files
	Keep         string   `json:"keep"`
}

// ExploredRun is what is known of a run that is over.
type ExploredRun struct {
	Seed    uint64   `json:"seed"`
	Ending  string   `json:"ending"` // exit, signal, fault, deadlock or limit
	Status  int      `json:"status"`
	At      string   `json:"at,omitempty"` // of a fault: the line of source
	Message string   `json:"message,omitempty"`
	Output  string   `json:"output"` // names the content of both output streams
	Insts   uint64   `json:"instructions"`
	Threads int      `json:"threads"`
	Races   []string `json:"races"` // fingerprints
}

// Ended names the way in which the run ended, for telling runs apart.
func (r *ExploredRun) Ended() string {
	switch r.Ending {
	case "exit":
		return fmt.Sprintf("exit status %d", r.Status)
	case "deadlock":
		return "deadlock"
	}
	return r.Ending + " " + fmt.Sprint(r.Status) + " " + r.At
}

// runState is the state file of an exploration that is under way.
type runState struct {
	file *outfile.File // locked against another exploration in the directory
}

// openState begins the state file of dir, or with resume continues it and
// returns the runs that are in it. Until it is closed no other exploration can
// use the directory.
func openState(ctx context.Context, dir string, what explored, resume bool) (*runState, []ExploredRun, error) {
	name := filepath.Join(dir, StateName)
	what.Version = stateVersion
	head, err := json.Marshal(what)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, err
	}
	// Locked before it is read: nothing is added to it in between.
	f, err := outfile.Create(ctx, name, outfile.Options{})
	if errors.Is(err, outfile.ErrBusy) {
		err = fmt.Errorf("%s: another exploration is using this directory", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	content, runs, err := readState(dir, name, head, resume)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Publish()
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Discard())
	}
	return &runState{f}, runs, nil
}

// readState returns what the state file begins with, and the runs in it.
func readState(dir, name string, head []byte, resume bool) ([]byte, []ExploredRun, error) {
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(head, '\n'), nil, nil
	case err != nil:
		return nil, nil, err
	case !resume:
		return nil, nil, fmt.Errorf("%s holds an exploration: go on with it by --resume, or give another directory with -o", dir)
	}
	first, rest, _ := bytes.Cut(data, []byte{'\n'})
	var was explored
	if json.Unmarshal(first, &was) != nil || was.Version != stateVersion {
		return nil, nil, fmt.Errorf("%s is no state of an exploration that this version can go on with", name)
	}
	if !bytes.Equal(first, head) {
		return nil, nil, fmt.Errorf("%s explores something else: %s", dir, difference(first, head))
	}
	whole := len(first) + 1
	var runs []ExploredRun
	for {
		line, more, ok := bytes.Cut(rest, []byte{'\n'})
		var r ExploredRun
		if !ok || json.Unmarshal(line, &r) != nil {
			break
		}
		whole += len(line) + 1
		runs = append(runs, r)
		rest = more
	}
	return data[:min(whole, len(data))], runs, nil
}

// add notes a run that is over.
func (s *runState) add(r *ExploredRun) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}

func (s *runState) close() error { return s.file.Close() }

// difference names the members in which two JSON objects differ.
func difference(a, b []byte) string {
	var was, is map[string]json.RawMessage
	if json.Unmarshal(a, &was) != nil || json.Unmarshal(b, &is) != nil {
		return "its state is damaged"
	}
	var names []string
	for name := range is {
		if !bytes.Equal(was[name], is[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s was %s and is %s", name, orNothing(was[name]), orNothing(is[name]))
	}
	return text
}

func orNothing(v json.RawMessage) string {
	if len(v) == 0 {
		return "nothing"
	}
	return string(v)
}

// restore takes over what an exploration had done before. A run whose trace is
// needed and gone is repeated.
func (e *Exploration) restore(runs []ExploredRun) error {
	e.limit = uint64(e.o.Runs)
	for i := range runs {
		r := &runs[i]
		e.done[r.Seed] = r
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
	for _, name := range parts { // of runs that were killed
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for again := true; again; {
		again = false
		for seed := range e.toKeep() {
			if !e.kept[seed] {
				delete(e.done, seed)
				again = true
			}
		}
	}
	return e.prune(e.toKeep())
}

// escapeGlob makes a pattern that matches a path literally.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
