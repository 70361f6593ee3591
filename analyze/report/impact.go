package report

import (
	"fmt"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/tracefmt/numtext"
)

// SetImpact stores what the value of a race reached.
func (x *Race) SetImpact(m slice.Impact) { x.impact = &m }

// impactText says what a racy value reached, with counts.
func impactText(m *slice.Impact) string {
	var what []string
	if m.OutputCalls > 0 {
		what = append(what, fmt.Sprintf("%s in %s", numtext.Plural(m.OutputBytes, "byte"), numtext.Plural(m.OutputCalls, "write")))
	}
	if m.ExitStatus {
		what = append(what, "the exit status")
	}
	if m.Branches > 0 {
		what = append(what, numtext.Plural(m.Branches, "branch execution"))
	}
	text := m.Verdict.String()
	if len(what) > 0 {
		text += ": " + strings.Join(what, ", ")
	}
	return text + fmt.Sprintf("; %s on it", numtext.Count(m.Instances, "executed instruction depends", "executed instructions depend"))
}

// impact is impactText for a group: for the race whose value reached farthest.
func (t *text) impact(g *groupOf) {
	var far *slice.Impact
	for i := range t.rep.Races {
		x := &t.rep.Races[i]
		if x.Group != g.lead.ID || x.impact == nil {
			continue
		}
		if far == nil || x.impact.Verdict > far.Verdict || x.impact.Verdict == far.Verdict && x.impact.Instances > far.Instances {
			far = x.impact
		}
	}
	if far == nil {
		return
	}
	code := 33
	if far.Verdict == slice.DiesUnused {
		code = 32
	}
	t.printf("  %s\n\n", t.emphasis(code, "The value "+impactText(far)+"."))
}

// jsonImpact is the JSON form (docs/races.schema.json).
type jsonImpact struct {
	Verdict     string `json:"verdict"`
	Instances   uint64 `json:"instances"`
	OutputCalls uint64 `json:"output_calls"`
	OutputBytes uint64 `json:"output_bytes"`
	ExitStatus  bool   `json:"exit_status"`
	Branches    uint64 `json:"branches"`
}

func jsonOfImpact(m *slice.Impact) *jsonImpact {
	if m == nil {
		return nil
	}
	return &jsonImpact{m.Verdict.String(), m.Instances, m.OutputCalls, m.OutputBytes, m.ExitStatus, m.Branches}
}
