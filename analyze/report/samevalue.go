package report

import (
	"fmt"

	"hindsight/analyze/internal/jsonform"
	"hindsight/analyze/written"
	"hindsight/tracefmt/numtext"
)

// SameValue says that it makes no difference what the writes of a race wrote.
type SameValue struct {
	// Unchanged says that each write stored what was already there. Otherwise both sides
	// write, and all writes to an address stored the same.
	Unchanged bool
	Writes    uint64 // number of examined writes
	All       bool   // these are all executions of the writing instructions, not only the racing ones
	One       bool   // all of them stored the same, which is Value
	Value     uint64
}

// SameValues marks the races whose writes make no difference. seen is what package
// written saw of the races from which the report was built. It must be called before a
// baseline is applied or reports are merged.
func (r *Report) SameValues(seen []written.Seen) {
	for _, races := range [][]Race{r.Races, r.Suppressed} {
		for i := range races {
			x := &races[i]
			if x.index >= len(seen) || !seen[x.index].Same() {
				continue
			}
			s := &seen[x.index]
			x.SameValue = &SameValue{Unchanged: s.Unchanged == s.Writes, Writes: s.Writes, All: s.All, One: s.One, Value: s.Value}
		}
	}
}

// text describes it in a sentence.
func (s *SameValue) text() string {
	which, value := "racing writes", ""
	if s.All {
		which = "writes by these instructions"
	}
	if s.One {
		value = fmt.Sprintf(" (0x%x)", s.Value)
	}
	switch {
	case s.Unchanged && s.Writes == 1:
		return fmt.Sprintf("the racing write stored what was there already%s", value)
	case s.Unchanged:
		return fmt.Sprintf("each of the %s %s stored what was there already%s", numtext.Grouped(s.Writes), which, value)
	case s.One:
		return fmt.Sprintf("the %s %s all stored the same%s", numtext.Grouped(s.Writes), which, value)
	}
	return fmt.Sprintf("the %s %s stored the same wherever two met", numtext.Grouped(s.Writes), which)
}

// jsonSameValue is a SameValue in the JSON form.
type jsonSameValue struct {
	How    string            `json:"how"`
	Writes uint64            `json:"writes"`
	All    bool              `json:"all,omitempty"`
	Value  *jsonform.Address `json:"value,omitempty"`
}

func jsonOfSameValue(s *SameValue) *jsonSameValue {
	if s == nil {
		return nil
	}
	out := &jsonSameValue{How: "equal", Writes: s.Writes, All: s.All}
	if s.Unchanged {
		out.How = "unchanged"
	}
	if s.One {
		v := jsonform.Address(s.Value)
		out.Value = &v
	}
	return out
}

// sameValue describes it for a group, if it holds for all races of the group.
func (t *text) sameValue(g *groupOf) {
	if g.same == g.pairs {
		t.printf("  %s\n\n", t.emphasis(35, "Same value: "+g.lead.SameValue.text()+"."))
	}
}

// sameValues returns the number of races whose writes make no difference.
func (r *Report) sameValues() (n uint64) {
	for i := range r.Races {
		if r.Races[i].SameValue != nil {
			n++
		}
	}
	return n
}
