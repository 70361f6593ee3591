package report

import (
	"encoding/json"
	"fmt"
	"io"

	"hindsight/analyze/internal/jsonform"
	"hindsight/tracefmt/numtext"
)

// Diff says how the reports of two runs differ, by fingerprints.
type Diff struct {
	A, B         *Report
	OnlyA, OnlyB []*Race // in the order of their reports
	Both         []Pair  // in the order of A
}

// Pair is a race that both runs have.
type Pair struct{ A, B *Race }

// Compare matches the races of two reports.
func Compare(a, b *Report) *Diff {
	d := &Diff{A: a, B: b}
	of := map[string]*Race{}
	for i := range b.Races {
		of[b.Races[i].Fingerprint] = &b.Races[i]
	}
	for i := range a.Races {
		r := &a.Races[i]
		if other, ok := of[r.Fingerprint]; ok {
			d.Both = append(d.Both, Pair{r, other})
			delete(of, r.Fingerprint)
		} else {
			d.OnlyA = append(d.OnlyA, r)
		}
	}
	for i := range b.Races {
		if r := &b.Races[i]; of[r.Fingerprint] == r {
			d.OnlyB = append(d.OnlyB, r)
		}
	}
	return d
}

// Differ reports whether one run has a race that the other does not have.
func (d *Diff) Differ() bool { return len(d.OnlyA)+len(d.OnlyB) > 0 }

// WriteText writes a line or two for each race.
func (d *Diff) WriteText(w io.Writer) error {
	t := &text{opts: TextOptions{Width: plainWidth}}
	list := func(races []*Race, file string) {
		t.printf("%s only in %s\n", numtext.Plural(uint64(len(races)), "race"), file)
		for _, r := range races {
			t.line(r)
			t.printf("    %s\n", times(r.Dynamic))
		}
	}
	list(d.OnlyA, d.A.Info.File)
	list(d.OnlyB, d.B.Info.File)
	t.printf("%s in both\n", numtext.Plural(uint64(len(d.Both)), "race"))
	for _, p := range d.Both {
		t.line(p.A)
		if p.A.Dynamic == p.B.Dynamic {
			t.printf("    %s in each\n", times(p.A.Dynamic))
		} else {
			t.printf("    %s in %s, %s in %s\n", times(p.A.Dynamic), d.A.Info.File, times(p.B.Dynamic), d.B.Info.File)
		}
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

// line describes a race in one or two lines.
func (t *text) line(r *Race) {
	mark := ""
	if r.Artifact != nil {
		mark = " (artifact, by " + r.Artifact.By.String() + ")"
	}
	t.printf("  %s  %s%s\n", r.ID, t.fit(r.Location.text(), 8+len(mark)), mark)
	for i := range r.Accesses {
		a := &r.Accesses[i]
		head := fmt.Sprintf("    %s in ", a.Op)
		tail := " " + lineOf(a.Top)
		t.printf("%s%s%s\n", head, t.fit(function(a.Top), len(head)+len(tail)), tail)
	}
}

func times(n uint64) string { return numtext.Plural(n, "time") }

type jsonDiff struct {
	Version int            `json:"version"`
	Tool    jsonform.Tool  `json:"tool"`
	A       jsonTrace      `json:"a"`
	B       jsonTrace      `json:"b"`
	Summary jsonDiffCounts `json:"summary"`
	OnlyA   []jsonRace     `json:"only_a"`
	OnlyB   []jsonRace     `json:"only_b"`
	Both    []jsonPair     `json:"both"`
}

type jsonDiffCounts struct {
	OnlyA int `json:"only_a"`
	OnlyB int `json:"only_b"`
	Both  int `json:"both"`
}

type jsonPair struct {
	Fingerprint string   `json:"fingerprint"`
	A           jsonRace `json:"a"`
	B           jsonRace `json:"b"`
}

// WriteJSON writes the comparison in its JSON form, version 1, as
// docs/diff.schema.json describes it.
func (d *Diff) WriteJSON(w io.Writer) error {
	inA, inB := d.A.byFingerprint(), d.B.byFingerprint()
	form := func(r *Race, in map[string]*Race) jsonRace {
		out := jsonOf(r)
		r.artifactJSON(&out, in)
		return out
	}
	list := func(races []*Race, in map[string]*Race) []jsonRace {
		out := make([]jsonRace, len(races))
		for i, r := range races {
			out[i] = form(r, in)
		}
		return out
	}
	out := jsonDiff{
		Version: JSONVersion, Tool: jsonform.Hindsight(d.A.Info.Version), A: jsonTraceOf(&d.A.Info), B: jsonTraceOf(&d.B.Info),
		Summary: jsonDiffCounts{len(d.OnlyA), len(d.OnlyB), len(d.Both)},
		OnlyA:   list(d.OnlyA, inA), OnlyB: list(d.OnlyB, inB), Both: make([]jsonPair, len(d.Both)),
	}
	for i, p := range d.Both {
		out.Both[i] = jsonPair{p.A.Fingerprint, form(p.A, inA), form(p.B, inB)}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}
