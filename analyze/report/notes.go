package report

import (
	"fmt"

	"hindsight/analyze/hb"
	"hindsight/tracefmt/numtext"
)

// Notes returns sentences about what the report does not cover. SARIF, Markdown, JUnit
// and the page include them. Commands that print text print them separately.
func (r *Report) Notes() (notes []string) {
	switch {
	case r.Info.Complete:
	case r.Info.Runs > 0:
		notes = append(notes, "the exploration is incomplete: the report covers the runs that were made")
	default:
		notes = append(notes, "the trace is incomplete: the report covers the run up to the last epoch written")
	}
	if r.Merged > 0 {
		notes = append(notes, fmt.Sprintf("more than %d tasks were unordered at the same time: %s as ordered with another, and races between those two are not reported",
			hb.MaxTasks, numtext.Count(r.Merged, "of them counts", "of them count")))
	}
	return notes
}
