package survey

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"hindsight/analyze/report"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
)

// Runs describes the runs of an exploration. It is the member "exploration" of the report's
// JSON form.
type Runs struct {
	Made        int       `json:"runs"`
	Planned     int       `json:"planned"`
	Seed        uint64    `json:"seed"`
	Schedule    string    `json:"schedule"`
	Quantum     int       `json:"quantum"`
	Depth       int       `json:"depth,omitempty"`
	Teams       []int     `json:"thread_counts,omitempty"`
	Interrupted bool      `json:"interrupted"`
	Missing     []uint64  `json:"missing,omitempty"`
	Outcomes    []Outcome `json:"outcomes"`
	Coverage    *Coverage `json:"coverage,omitempty"` // nil: not known
	Minimal     []Minimal `json:"minimal,omitempty"`
}

// Outcome is how some of the runs ended, with the same output.
type Outcome struct {
	Ending  string   `json:"ending"`
	Status  int      `json:"status"`
	Message string   `json:"message,omitempty"`
	Output  string   `json:"output"`
	Seeds   []uint64 `json:"seeds"`
	Trace   string   `json:"trace,omitempty"`

	ended, at string
}

// Describe summarises the runs and how they ended.
func (e *Survey) Describe() *Runs {
	o := e.Options()
	x := &Runs{
		Planned: e.Planned, Seed: o.First, Schedule: o.Run.Policy.String(), Quantum: mpsim.QuantumOf(o.Run.Policy, o.Run.Quantum),
		Teams: o.Teams, Interrupted: e.Unfinished != "", Missing: e.Missing, Outcomes: []Outcome{},
	}
	if o.Run.Policy == mpsim.PCT {
		x.Depth = o.Run.Depth
	}
	for _, r := range e.InOrder() {
		x.Made++
		at := slices.IndexFunc(x.Outcomes, func(o Outcome) bool { return o.ended == r.Ended() && o.Output == r.Output })
		if at < 0 {
			at = len(x.Outcomes)
			o := Outcome{Ending: r.Ending, Status: r.Status, Message: r.Message, Output: r.Output, ended: r.Ended(), at: r.At}
			if e.Kept(r.Seed) {
				o.Trace = e.TracePath(r.Seed)
			}
			x.Outcomes = append(x.Outcomes, o)
		}
		x.Outcomes[at].Seeds = append(x.Outcomes[at].Seeds, r.Seed)
	}
	x.Coverage = covered(e.InOrder())
	return x
}

// WriteText writes the summary of the runs. command repeats one of them.
func (x *Runs) WriteText(w io.Writer, command string) error {
	var b strings.Builder
	schedule := x.Schedule
	if x.Depth > 0 {
		schedule += fmt.Sprintf(", depth %d", x.Depth)
	}
	if len(x.Teams) > 0 {
		schedule += fmt.Sprintf("; %s=%s in turn", session.TeamVariable, report.CountsText(x.Teams))
	}
	fmt.Fprintf(&b, "hindsight: %s from seed %d on (%s)\n", numtext.Plural(uint64(x.Made), "run"), x.Seed, schedule)
	shown := map[string]bool{}
	for i := range x.Outcomes {
		o := &x.Outcomes[i]
		if shown[o.ended] {
			continue
		}
		shown[o.ended] = true
		var seeds []uint64
		outputs := 0
		for _, same := range x.Outcomes[i:] {
			if same.ended == o.ended {
				seeds = append(seeds, same.Seeds...)
				outputs++
			}
		}
		slices.Sort(seeds)
		fmt.Fprintf(&b, "  %d of %s: %s; %s\n", len(seeds), numtext.Plural(uint64(x.Made), "run"), o.how(), SeedsText(seeds))
		if o.Trace != "" {
			fmt.Fprintf(&b, "    trace %s\n", o.Trace)
		}
		if outputs > 1 {
			fmt.Fprintf(&b, "    %d different outputs: %s\n", outputs, firstSeeds(x.Outcomes, o.ended))
		}
	}
	if len(x.Missing) > 0 {
		fmt.Fprintf(&b, "  missing: %s of %d\n", SeedsText(x.Missing), x.Planned)
	}
	if x.Coverage != nil {
		x.Coverage.text(&b, x.Made)
	}
	if x.Made > 0 {
		fmt.Fprintf(&b, "  one seed again: %s\n", command)
	}
	for i := range x.Minimal {
		x.Minimal[i].text(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// how describes how a run ended.
func (o *Outcome) how() string {
	switch {
	case o.Ending == "exit":
		return o.ended
	case o.at != "":
		return o.Message + ", in " + o.at
	}
	return o.Message
}

// SeedsText formats seeds: seeds 1, 3-5.
func SeedsText(seeds []uint64) string {
	if len(seeds) == 1 {
		return "seed " + report.SeedsText(seeds)
	}
	return "seeds " + report.SeedsText(seeds)
}

// maxOutputs is the number of different outputs that the text names.
const maxOutputs = 6

// firstSeeds says, for each output, which seeds wrote it.
func firstSeeds(all []Outcome, ended string) string {
	var parts []string
	for _, o := range all {
		if o.ended != ended {
			continue
		}
		if len(parts) == maxOutputs {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, SeedsText(o.Seeds))
	}
	return strings.Join(parts, " | ")
}
