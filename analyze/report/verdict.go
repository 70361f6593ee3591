package report

import (
	"fmt"
	"strings"

	"hindsight/tracefmt/numtext"
)

// Verdict says what a race does, according to runs with its accesses in either order.
type Verdict struct {
	// Verdict is harmful, state-differs, no-difference or infeasible, or "" if the runs
	// did not reach the accesses.
	Verdict  string
	Evidence Evidence
}

// Evidence is the basis of a verdict.
type Evidence struct {
	What      string   `json:"what"`                // what differs, or why the other order is impossible
	Tries     int      `json:"tries,omitempty"`     // number of continuations of each order that were compared
	Instances int      `json:"instances,omitempty"` // number of instances that were tried, if more than one
	Instance  int      `json:"instance,omitempty"`  // the instance that the rest is about, from 1
	Place     string   `json:"place,omitempty"`     // for infeasible: the place of the other thread
	Variables []string `json:"variables,omitempty"` // for state-differs: "hits: 3 or 4"
	// AsWas and Swapped are two runs that differ only in the order of the accesses.
	AsWas   *Rerun `json:"as_was,omitempty"`
	Swapped *Rerun `json:"swapped,omitempty"`
}

// Rerun is a run that can be repeated.
type Rerun struct {
	Schedule string `json:"schedule"` // file
	Command  string `json:"command"`
	Outcome  string `json:"outcome"` // how the run ends
}

// verdictOrder ranks verdicts, the worst last.
var verdictOrder = []string{"", "infeasible", "no-difference", "state-differs", "harmful"}

func (v *Verdict) rank() int {
	if v == nil {
		return -1
	}
	for i, name := range verdictOrder {
		if v.Verdict == name {
			return i
		}
	}
	return 0
}

// text describes the verdict in a sentence.
func (v *Verdict) text() string {
	e := &v.Evidence
	if e.Instances > 1 {
		return fmt.Sprintf("%s (instance %d of %d tried)", v.sentence(), e.Instance, e.Instances)
	}
	return v.sentence()
}

func (v *Verdict) sentence() string {
	e := &v.Evidence
	switch v.Verdict {
	case "harmful":
		return "harmful: what the program does depends on the order: " + e.What
	case "state-differs":
		return "state differs: only variables depend on the order: " + strings.Join(e.Variables, ", ")
	case "no-difference":
		return fmt.Sprintf("no difference seen: both orders came out the same %s", numtext.Plural(uint64(e.Tries), "time"))
	case "infeasible":
		place := ""
		if e.Place != "" {
			place = " (" + e.Place + ")"
		}
		return "the other order is infeasible: " + e.What + place
	}
	return "no verdict: " + e.What
}

// verdict says what the races of a group do.
func (t *text) verdict(g *groupOf) {
	if g.verdict == nil {
		return
	}
	t.printf("  Verdict: %s\n", g.verdict.text())
	for _, x := range []struct {
		which string
		run   *Rerun
	}{{"as it was", g.verdict.Evidence.AsWas}, {"swapped", g.verdict.Evidence.Swapped}} {
		if x.run != nil {
			t.printf("    %s: %s\n      %s\n", x.which, x.run.Outcome, x.run.Command)
		}
	}
	t.printf("\n")
}

// verdicts counts the groups by verdict, for the end of the report.
func (t *text) verdicts() {
	count := map[string]int{}
	any := false
	for i := range t.groups {
		if v := t.groups[i].verdict; v != nil {
			count[v.Verdict]++
			any = true
		}
	}
	if !any {
		return
	}
	t.printf("hindsight: %d harmful, %d with other state, %d without a difference, %d infeasible, %d unknown\n",
		count["harmful"], count["state-differs"], count["no-difference"], count["infeasible"], count[""])
}
