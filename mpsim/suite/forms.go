package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hindsight/analyze/report"
)

// JSONVersion is the version of the JSON form. Members may be added to it, but none is
// removed or changes its meaning.
const JSONVersion = 1

// Formats are the forms of the report.
var Formats = []string{"text", "json", "sarif", "markdown", "junit"}

// Write writes the report in one of the [Formats].
func (r *Report) Write(w io.Writer, format string, opts report.TextOptions) error {
	switch format {
	case "text":
		return r.WriteText(w, opts)
	case "json":
		return r.WriteJSON(w)
	case "sarif":
		return r.WriteSARIF(w, report.SARIFOptions{ExitCode: r.Status()})
	case "markdown":
		return r.WriteMarkdown(w, opts)
	case "junit":
		return r.WriteJUnit(w, opts)
	}
	return fmt.Errorf("format %q: want one of %s", format, strings.Join(Formats, ", "))
}

// Exit statuses of commands that explore a suite.
const (
	exitUnexpected = 1   // an outcome was not as expected, or a program could not be run
	exitRaces      = 66  // unexpected races were seen
	exitIncomplete = 130 // runs are missing, and nothing else is wrong
)

// Status returns the exit status of a command that explores a suite.
func (r *Report) Status() int {
	switch {
	case r.Count(Races) > 0:
		return exitRaces
	case r.Count(Unexpected)+r.Count(Failed) > 0:
		return exitUnexpected
	case r.Count(Incomplete) > 0:
		return exitIncomplete
	}
	return 0
}

type jsonSuite struct {
	Version  int           `json:"version"`
	Tool     jsonTool      `json:"tool"`
	List     string        `json:"list"`
	Dir      string        `json:"directory"`
	Seed     uint64        `json:"seed"`
	Shard    string        `json:"shard,omitempty"`
	Summary  jsonSummary   `json:"summary"`
	Programs []jsonProgram `json:"programs"`
}

type jsonTool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type jsonSummary struct {
	Programs int             `json:"programs"`
	Runs     int             `json:"runs"`
	Planned  int             `json:"planned"`
	Races    int             `json:"races"`
	Verdicts map[Verdict]int `json:"verdicts"`
}

type jsonProgram struct {
	Name       string          `json:"name"`
	Key        string          `json:"key"`
	Command    string          `json:"command"`
	Verdict    Verdict         `json:"verdict"`
	Runs       int             `json:"runs"`
	Planned    int             `json:"planned"`
	Races      int             `json:"races"`
	Unexpected []string        `json:"unexpected"`
	Problems   []string        `json:"problems"`
	Missing    []uint64        `json:"missing,omitempty"`
	Report     json.RawMessage `json:"report,omitempty"`
}

// WriteJSON writes the report in its JSON form, version 1, as docs/suite.schema.json
// describes it.
func (r *Report) WriteJSON(w io.Writer) error {
	made, planned := r.Made()
	out := jsonSuite{
		Version: JSONVersion, Tool: jsonTool{"hindsight", r.Version}, List: r.List, Dir: r.Dir, Seed: r.Seed,
		Summary: jsonSummary{Programs: len(r.Rows), Runs: made, Planned: planned, Verdicts: map[Verdict]int{}}, Programs: []jsonProgram{},
	}
	if r.Shards > 0 {
		out.Shard = fmt.Sprintf("%d/%d", r.Shard, r.Shards)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		p := jsonProgram{
			Name: row.Program.Name, Key: row.Program.Key, Command: row.Program.Command(), Verdict: row.Verdict, Runs: row.Made(), Planned: row.Planned,
			Races: row.Warnings(), Unexpected: append([]string{}, row.Unexpected...), Problems: append([]string{}, row.Problems...), Missing: row.Missing,
		}
		if row.Report != nil {
			var text bytes.Buffer
			if err := row.Report.WriteJSONWith(&text, row.Runs); err != nil {
				return err
			}
			p.Report = text.Bytes()
		}
		out.Summary.Races += p.Races
		out.Summary.Verdicts[row.Verdict]++
		out.Programs = append(out.Programs, p)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}

// WriteSARIF writes the races of all programs as one SARIF log. Other problems become
// notifications of the invocation.
func (r *Report) WriteSARIF(w io.Writer, opts report.SARIFOptions) error {
	var programs []report.Explored
	for i := range r.Rows {
		row := &r.Rows[i]
		programs = append(programs, report.Explored{Program: row.Program.Name, Report: row.Report, Notes: row.remarks("")})
	}
	made, planned := r.Made()
	return report.WriteSARIFOf(w, r.Version, programs, opts, map[string]any{"list": r.List, "directory": r.Dir, "seed": r.Seed, "runs": made, "planned": planned})
}

// WriteJUnit writes one test per program in JUnit's XML. It passed if the verdict is ok. It
// is an error if hindsight could not make all runs.
func (r *Report) WriteJUnit(w io.Writer, opts report.TextOptions) error {
	opts.Color = false
	var cases []report.TestCase
	for i := range r.Rows {
		row := &r.Rows[i]
		c := report.TestCase{Name: row.Program.Name, Class: r.List}
		if row.Verdict != OK {
			var text strings.Builder
			if err := row.writeText(&text, opts); err != nil {
				return err
			}
			c.Failure, c.Broken = string(row.Verdict), row.Verdict == Failed || row.Verdict == Incomplete
			c.Message, c.Text = row.line(), text.String()
		}
		cases = append(cases, c)
	}
	return report.WriteTestCases(w, r.List, cases)
}

// line summarises in one line what is wrong with a program.
func (r *Row) line() string {
	var parts []string
	if n := r.Warnings(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d races", n))
		if n == 1 {
			parts[0] = "1 race"
		}
	}
	return strings.Join(append(parts, r.remarks("")...), "; ")
}

// WriteMarkdown writes the report for the page of a CI job (GitHub Flavored Markdown): a
// table of all programs, and foldable details for each that is not ok.
func (r *Report) WriteMarkdown(w io.Writer, opts report.TextOptions) error {
	opts.Color = false
	var b strings.Builder
	fmt.Fprintf(&b, "### hindsight: %s\n\n| verdict | races | runs | program | |\n| --- | --: | --: | --- | --- |\n", report.Markdown(r.summary()))
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(&b, "| %s | %d | %d/%d | %s | %s |\n", row.Verdict, row.Warnings(), row.Made(), row.Planned,
			report.Markdown(row.Program.Name), report.Markdown(strings.Join(row.remarks(""), "; ")))
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Verdict == OK {
			continue
		}
		var text strings.Builder
		if err := row.writeText(&text, opts); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n<details><summary>%s: %s</summary>\n\n%s\n</details>\n", row.Verdict, report.Markdown(row.Program.Name), report.Fenced(text.String()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
