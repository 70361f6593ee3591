package suite

import (
	"fmt"
	"io"
	"strings"

	"hindsight/analyze/report"
	"hindsight/mpsim/survey"
	"hindsight/tracefmt/numtext"
)

// WriteText writes the races of each program that has any, and a table with a row for each
// program.
func (r *Report) WriteText(w io.Writer, opts report.TextOptions) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Warnings() == 0 && row.Verdict == OK {
			continue
		}
		if _, err := fmt.Fprintf(w, "== %s\n", row.Program.Name); err != nil {
			return err
		}
		if err := row.writeText(w, opts); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, r.table())
	return err
}

// writeText writes everything about a program.
func (r *Row) writeText(w io.Writer, opts report.TextOptions) error {
	if r.Report != nil {
		if err := r.Report.WriteText(w, opts); err != nil {
			return err
		}
	}
	if r.Runs != nil {
		if err := r.Runs.WriteText(w, r.Command); err != nil {
			return err
		}
	}
	for _, remark := range r.remarks("hindsight: ") {
		if _, err := fmt.Fprintln(w, remark); err != nil {
			return err
		}
	}
	return nil
}

// remarks returns lines about what is not as it should be.
func (r *Row) remarks(prefix string) []string {
	var lines []string
	for _, u := range r.Unexpected {
		lines = append(lines, prefix+"unexpected: "+u)
	}
	for _, p := range r.Problems {
		lines = append(lines, prefix+"failed: "+p)
	}
	if len(r.Missing) > 0 {
		lines = append(lines, fmt.Sprintf("%smissing: %s of %d", prefix, survey.SeedsText(r.Missing), r.Planned))
	}
	return lines
}

// summary says in one line what was explored.
func (r *Report) summary() string {
	made, planned := r.Made()
	text := fmt.Sprintf("%s: %s, %s", r.List, numtext.Plural(uint64(len(r.Rows)), "program"), numtext.Plural(uint64(made), "run"))
	if made < planned {
		text += fmt.Sprintf(" of %d", planned)
	}
	if r.Shards > 0 {
		text += fmt.Sprintf(" (shard %d of %d)", r.Shard, r.Shards)
	}
	return text + ": " + r.verdicts()
}

// verdicts returns the number of programs with each verdict, as text.
func (r *Report) verdicts() string {
	var parts []string
	for _, v := range []Verdict{Races, Unexpected, Failed, Incomplete, OK} {
		if n := r.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// table returns a table with a row for each program.
func (r *Report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hindsight: %s\n", r.summary())
	fmt.Fprintf(&b, "  %-10s  %5s  %11s  %s\n", "verdict", "races", "runs", "program")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(&b, "  %-10s  %5d  %11s  %s\n", row.Verdict, row.Warnings(), fmt.Sprintf("%d/%d", row.Made(), row.Planned), row.Program.Name)
	}
	return b.String()
}
