package suite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hindsight/mpsim/session"
	"hindsight/mpsim/survey"
	"hindsight/tracefmt/buildinfo"
	"hindsight/tracefmt/outfile"
)

// StateName is the file that identifies a directory as the exploration of a suite. It has
// one JSON value per line: first the list, then a line for each problem, written as soon as
// it is known. An incomplete last line is ignored. For each program there is a directory
// beside the file, named by the program's key, with an exploration in the format of package
// session.
const StateName = "suite.jsonl"

const stateVersion = 1

// head is the first line of the state.
type head struct {
	Version int    `json:"version"`
	Tool    string `json:"tool"`
	List    string `json:"list"` // base name of the file
	Seed    uint64 `json:"seed"` // the first one
	// These settings identify what is not in the list. The others are in the state of each
	// program's exploration.
	Suppressions string  `json:"suppressions"`
	Atomics      string  `json:"atomics"`
	Predict      bool    `json:"predict,omitempty"`
	Programs     []entry `json:"programs"`
	// Runs applies to programs for which the list has no number. It does not identify the
	// suite.
	Runs int `json:"runs"`
	// Shard is the number of this part among Shards; 0: all.
	Shard  int `json:"shard,omitempty"`
	Shards int `json:"shards,omitempty"`
}

// entry is a line of the list.
type entry struct {
	Line string `json:"line"`
	// Stdout names the content of the expected standard output.
	Stdout string `json:"stdout,omitempty"`
}

// Problem is something that prevented a run of a program from being made or analysed.
type Problem struct {
	Program string  `json:"program"`        // its key
	Seed    *uint64 `json:"seed,omitempty"` // of the run; nil: of all runs
	Text    string  `json:"problem"`
}

// newHead returns the description of a suite.
func newHead(l *List, s *Settings) (*head, error) {
	h := &head{
		Version: stateVersion, Tool: buildinfo.Version(), List: filepath.Base(l.Name), Seed: s.First, Suppressions: survey.Digest(s.Suppressions), Atomics: s.atomics(),
		Predict: s.Predict, Runs: s.Runs,
	}
	for _, p := range l.Programs {
		e := entry{Line: p.String()}
		if p.Expect.Output != "" {
			want, err := os.ReadFile(p.Expect.Output)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", l.Name, p.line, err)
			}
			e.Stdout = session.Named(want)
		}
		h.Programs = append(h.Programs, e)
	}
	return h, nil
}

// programs returns the programs of the head, as they were in the list.
func (h *head) programs() (*List, error) {
	var text bytes.Buffer
	for _, e := range h.Programs {
		text.WriteString(e.Line + "\n")
	}
	return Parse(h.List, text.Bytes())
}

// same reports how another suite differs. It returns "" if it does not.
func (h *head) same(g *head) string {
	switch {
	case h.Tool != g.Tool:
		return fmt.Sprintf("one was made by hindsight %s, the other by %s", h.Tool, g.Tool)
	case h.Seed != g.Seed:
		return fmt.Sprintf("the first seed was %d and is %d", h.Seed, g.Seed)
	case h.Suppressions != g.Suppressions || h.Atomics != g.Atomics || h.Predict != g.Predict:
		return "the options of the analysis differ"
	}
	for i := range max(len(h.Programs), len(g.Programs)) {
		switch {
		case i >= len(h.Programs):
			return fmt.Sprintf("only one has the program %s", g.Programs[i].Line)
		case i >= len(g.Programs):
			return fmt.Sprintf("only one has the program %s", h.Programs[i].Line)
		case h.Programs[i].Line != g.Programs[i].Line:
			return fmt.Sprintf("program %d was %s and is %s", i+1, h.Programs[i].Line, g.Programs[i].Line)
		case h.Programs[i].Stdout != g.Programs[i].Stdout:
			return fmt.Sprintf("the expected output of %s differs", h.Programs[i].Line)
		}
	}
	return ""
}

// union returns the head of what both explored: all shards, and the larger number of runs.
func (h *head) union(g *head) *head {
	u := *h
	u.Runs, u.Shard, u.Shards = max(h.Runs, g.Runs), 0, 0
	u.List = min(h.List, g.List) // the same list may have different names on different machines
	return &u
}

// readState parses a state: the head, and the problems up to the first line that is damaged
// or incomplete. ok is false if the head cannot be read.
func readState(data []byte) (h *head, problems []Problem, ok bool) {
	first, rest, ended := bytes.Cut(data, []byte{'\n'})
	if !ended || json.Unmarshal(first, &h) != nil || h == nil || h.Version != stateVersion {
		return nil, nil, false
	}
	for {
		line, more, ok := bytes.Cut(rest, []byte{'\n'})
		var p Problem
		if !ok || json.Unmarshal(line, &p) != nil {
			return h, problems, true
		}
		problems = append(problems, p)
		rest = more
	}
}

// sortProblems sorts problems and removes duplicates.
func sortProblems(list []Problem) []Problem {
	seed := func(p *Problem) uint64 {
		if p.Seed == nil {
			return 0
		}
		return *p.Seed
	}
	order := func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(seed(&a), seed(&b)), cmp.Compare(a.Text, b.Text))
	}
	slices.SortFunc(list, order)
	return slices.CompactFunc(list, func(a, b Problem) bool { return order(a, b) == 0 })
}

// Is reports whether a directory contains the exploration of a suite.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, StateName))
	return err == nil
}

// begin writes the head and the known problems, and publishes the state.
func begin(f *outfile.File, h *head, problems []Problem) error {
	if err := writeLine(f, h); err != nil {
		return err
	}
	for i := range problems {
		if err := writeLine(f, &problems[i]); err != nil {
			return err
		}
	}
	return f.Publish()
}

func writeLine(f *outfile.File, value any) error {
	line, err := json.Marshal(value)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	return err
}

// canContinue returns an error if a directory may not be used for a suite.
func canContinue(dir string, h *head, resume bool) error {
	data, err := os.ReadFile(filepath.Join(dir, StateName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Join(dir, session.StateName)); err == nil {
			return fmt.Errorf("%s holds the exploration of one program: name another directory", dir)
		}
		return nil
	case err != nil:
		return err
	case !resume:
		return &session.OptionError{Options: []string{"resume", "dir"}, Err: fmt.Errorf("%s holds an exploration; continue it, or name another directory", dir)}
	}
	was, _, ok := readState(data)
	if !ok {
		return fmt.Errorf("%s is not the state of a suite that this version can continue", filepath.Join(dir, StateName))
	}
	if d := was.same(h); d != "" {
		return fmt.Errorf("%s explores something else: %s", dir, d)
	}
	return nil
}

// State returns the content of the state file of a whole suite, for programs whose
// explorations were not made by [Explore].
func State(l *List, s *Settings, problems []Problem) ([]byte, error) {
	h, err := newHead(l, s)
	if err != nil {
		return nil, err
	}
	lines := []any{h}
	for _, p := range sortProblems(problems) {
		lines = append(lines, p)
	}
	var out bytes.Buffer
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes(), nil
}
