package view

import (
	"context"
	"strconv"
	"strings"

	"hindsight/analyze/annotate"
	"hindsight/analyze/report"
)

// Question selects a slice: around a race, or of a line of a file.
type Question struct {
	Race     *report.Race // nil: a slice of a line
	File     string       // path
	Line     int
	Forward  bool
	Instance string // which execution of the line: a number from 0, or last
}

// Slice is the answer under the keys "slice/asked", "slice/race/ID" and
// "slice/DIRECTION/FILE/LINE/INSTANCE", with the number of a file.
type Slice struct {
	At     string           `json:"at"`
	Impact []string         `json:"impact,omitempty"` // around a race: what its value reached
	Sheets []annotate.Sheet `json:"sheets"`
}

func sliceOf(rep *annotate.Report) (*Slice, error) {
	out := &Slice{At: rep.At}
	if rep.Impact != nil {
		out.Impact = annotate.ImpactLines(rep.Impact)
	}
	var err error
	out.Sheets, err = rep.Sheets()
	return out, err
}

// slice computes the answer for the rest of a key.
func (p *Page) slice(ctx context.Context, rest string) (*Slice, error) {
	if rest == "asked" && p.data.Asked != nil {
		return sliceOf(p.data.Asked)
	}
	if p.data.Slice == nil {
		return nil, noAnswer("slice/" + rest)
	}
	q, err := p.question(ctx, strings.Split(rest, "/"))
	if err != nil {
		return nil, err
	}
	rep, err := p.data.Slice(ctx, q)
	if err != nil {
		return nil, err
	}
	return sliceOf(rep)
}

func (p *Page) question(ctx context.Context, parts []string) (q Question, err error) {
	none := noAnswer("slice/" + strings.Join(parts, "/"))
	switch {
	case len(parts) == 2 && parts[0] == "race":
		rep, err := p.report(ctx)
		if err != nil {
			return q, err
		}
		for i := range rep.Races {
			if rep.Races[i].ID == parts[1] {
				return Question{Race: &rep.Races[i]}, nil
			}
		}
		return q, none
	case len(parts) != 4 || parts[0] != "backward" && parts[0] != "forward":
		return q, none
	}
	s, err := p.sources(ctx)
	if err != nil {
		return q, err
	}
	file, err1 := strconv.Atoi(parts[1])
	line, err2 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil || file < 0 || file >= len(s.files) {
		return q, none
	}
	return Question{File: s.files[file].Path, Line: line, Forward: parts[0] == "forward", Instance: parts[3]}, nil
}
