package report

import (
	"fmt"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/numtext"
)

// Old is a race of an earlier report, and what became of it in a later run, perhaps of a
// changed program.
type Old struct {
	ID, Fingerprint string
	Kind, Name      string // of its location, as in Location; for a global variable, Name is the linker's
	Where           string // describes its location
	Sides           [2]OldSide

	Now  Now
	What string // describes what orders it, or what was not met
	// Release and Acquire are where it is ordered, if it is OrderedNow: "unlock of m at f
	// a.c:12 by T1". They are "" if not known.
	Release, Acquire string
}

// OldSide is an access of an Old.
type OldSide struct {
	Function, File string // of the code that accesses
	Line           int    // in the old program
	Op             string // as in the JSON form
}

// Now says what became of a race.
type Now string

// What can become of a race.
const (
	Remains    Now = "remains" // the run has it
	OrderedNow Now = "ordered" // the accesses were met, and synchronisation orders them
	NotMet     Now = "not-met" // the run did not reach the accesses
)

// baselineRace is the part of a race in a JSON report that is read.
type baselineRace struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint"`
	Location    struct {
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		Path   string `json:"path"`
		Symbol string `json:"symbol"`
	} `json:"location"`
	Accesses []struct {
		baselineFrame
		Op    string          `json:"op"`
		Stack []baselineFrame `json:"stack"`
	} `json:"accesses"`
}

type baselineFrame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

func (r *baselineRace) old() Old {
	l := Location{Kind: r.Location.Kind, Name: r.Location.Name, Path: r.Location.Path, Symbol: r.Location.Symbol}
	o := Old{ID: r.ID, Fingerprint: r.Fingerprint, Kind: l.Kind, Name: l.Symbol, Where: l.oldWords()}
	for i := range r.Accesses {
		if i == len(o.Sides) {
			break
		}
		a := &r.Accesses[i]
		at := a.baselineFrame
		if len(a.Stack) > 0 {
			at = a.Stack[0]
		}
		o.Sides[i] = OldSide{at.Function, at.File, at.Line, a.Op}
	}
	return o
}

// oldWords is Words for a location of which only the names are known.
func (l *Location) oldWords() string {
	switch {
	case l.Kind == "heap" && l.Name != "":
		return "block from " + l.Name
	case l.Kind == "heap" || l.Kind == "stack" && l.Name == "":
		return l.Kind
	}
	return l.Words()
}

// Is reports whether an operation in a function is this side, on whatever line.
func (s *OldSide) Is(op replay.Op, f Frame) bool {
	return s.Op == jsonOp(op) && s.Function == f.Function && s.File == f.File
}

// String describes the side for people, with its line in the old program.
func (s *OldSide) String() string {
	text := s.Op
	if s.Function != "" {
		text += " in " + s.Function
	}
	if s.File != "" {
		text += fmt.Sprintf(" %s:%d", s.File, s.Line)
	}
	return text
}

// old writes what became of the races of a baseline.
func (t *text) old() {
	r := t.rep
	if len(r.Old) == 0 {
		return
	}
	count := map[Now]int{}
	for i := range r.Old {
		count[r.Old[i].Now]++
	}
	t.printf("\n%s in %s: %d ordered now, %d not met, %d remaining\n", numtext.Plural(uint64(len(r.Old)), "race"), r.OldFrom,
		count[OrderedNow], count[NotMet], count[Remains])
	for i := range r.Old {
		o := &r.Old[i]
		t.printf("  %s  %s: %s; %s\n    %s: %s\n", o.ID, o.Where, o.Sides[1].String(), o.Sides[0].String(), nowNames[o.Now], o.What)
		if o.Release != "" {
			t.printf("      released: %s\n", o.Release)
		}
		if o.Acquire != "" {
			t.printf("      acquired: %s\n", o.Acquire)
		}
	}
}

var nowNames = map[Now]string{Remains: "remains", OrderedNow: "ordered now", NotMet: "not met"}

type jsonOld struct {
	ID          string    `json:"id"`
	Fingerprint string    `json:"fingerprint"`
	Location    string    `json:"location"`
	Accesses    [2]string `json:"accesses"`
	Now         Now       `json:"now"`
	What        string    `json:"what"`
	Release     string    `json:"release,omitempty"`
	Acquire     string    `json:"acquire,omitempty"`
}

func jsonOfOld(all []Old) (out []jsonOld) {
	for i := range all {
		o := &all[i]
		out = append(out, jsonOld{o.ID, o.Fingerprint, o.Where, [2]string{o.Sides[0].String(), o.Sides[1].String()}, o.Now, o.What, o.Release, o.Acquire})
	}
	return out
}
