package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// number returns the number before some words in a text, or 0 if the text does not have
// them.
func number(text, words string) int {
	m := regexp.MustCompile(`([0-9,]+) ` + words).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	return n
}

// TestCountsAgree checks that the text, JSON, SARIF, the table and a baseline made of the
// report count the same races, with and without suppressions and a baseline.
func TestCountsAgree(t *testing.T) {
	for _, rules := range []string{"", "race:^account$\n", "race:main\n"} {
		for known := range 3 {
			r := build(t, rules)
			if known > 0 && len(r.Races) > 0 {
				b := &Baseline{Name: "old.json", known: map[string]bool{}}
				for i := range min(known, len(r.Races)) {
					b.known[r.Races[i].Fingerprint] = true
				}
				b.Apply(r)
			}
			check(t, r, fmt.Sprintf("rules %q, %d known", rules, known))
		}
	}
}

func check(t *testing.T, r *Report, name string) {
	t.Helper()
	var text, raw, log bytes.Buffer
	for _, err := range []error{r.WriteText(&text, TextOptions{List: true}), r.WriteJSON(&raw), r.WriteSARIF(&log, SARIFOptions{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var report struct {
		Summary struct{ Static, Suppressed int }
		Races   []struct{ Group string }
	}
	var sarif struct {
		Runs []struct {
			Results []struct {
				BaselineState string
				Suppressions  []any
			}
		}
	}
	if err := json.Unmarshal(raw.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(log.Bytes(), &sarif); err != nil {
		t.Fatal(err)
	}
	shown, known, suppressed := 0, 0, 0
	for _, x := range sarif.Runs[0].Results {
		switch {
		case len(x.Suppressions) > 0:
			suppressed++
		case x.BaselineState == "unchanged":
			known++
		default:
			shown++
		}
	}
	groups := map[string]bool{}
	for _, x := range report.Races {
		groups[x.Group] = true
	}
	races := max(number(text.String(), "races?, counted"), number(text.String(), "warnings"))
	for _, x := range []struct {
		what string
		got  []int
	}{
		{"races", []int{len(r.Races), shown, report.Summary.Static, len(report.Races), races, len(r.Rows()) - len(r.Suppressed)}},
		{"known races", []int{len(r.Known), known, number(text.String(), "races? known")}},
		{"suppressed races", []int{len(r.Suppressed), suppressed, report.Summary.Suppressed, number(text.String(), "races? suppressed")}},
		{"groups", []int{len(groups), number(text.String(), "warnings"), strings.Count(text.String(), "WARNING: ")}},
	} {
		for _, n := range x.got {
			if n != x.got[0] {
				t.Errorf("%s: %s: report, SARIF, JSON, text, … say %d", name, x.what, x.got)
				break
			}
		}
	}
	back, err := ReadBaseline("new.json", &raw)
	if err != nil {
		t.Fatal(err)
	}
	again := *r
	again.Races, again.Known = append(append([]Race{}, r.Known...), r.Races...), nil
	if back.Apply(&again); len(again.Races) != 0 || len(again.Known) != len(r.Races)+len(r.Known) || again.Gone != 0 {
		t.Errorf("%s: with itself as baseline: %d new, %d known, %d gone", name, len(again.Races), len(again.Known), again.Gone)
	}
}

// TestPrintedNames checks that what a report prints is a pattern that matches it.
func TestPrintedNames(t *testing.T) {
	const pool, get = "(anonymous namespace)::Pool::total", "app::Cache::get(int)"
	r := &Race{Location: Location{Kind: "global", Symbol: pool, Name: pool, Path: "total"}}
	top := Frame{Function: get, File: "cache.cc", Path: "/src/cache.cc", Line: 12}
	worker := Frame{Function: "(anonymous namespace)::worker(int)", File: "cache.cc", Path: "/src/cache.cc", Line: 40}
	for i := range r.Accesses {
		r.Accesses[i].Stack, r.Accesses[i].Top = []Frame{top, worker}, top
	}
	for pattern, want := range map[string]bool{
		"race:^(anonymous namespace)::Pool::total$":   true,
		"race:^Pool::total$":                          true,
		"race:^(anonymous name…)::Pool::total$":       true,
		"race:^total$":                                true,
		"race:^worker":                                true,
		"race:^(anonymous namespace)::worker":         true,
		"race:^app::Cache::get(int)$":                 true,
		"race:^cache.cc:12$":                          true,
		"race_top:cache.cc:12":                        true,
		"race_top:^worker":                            false,
		"race:^Cache::get":                            false,
		"race:^cache.cc:1$":                           false,
		"race:^(anonymous namespace)::Pool::totally$": false,
	} {
		s, err := ParseSuppressions("s", strings.NewReader(pattern))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.covers(&Report{}, r) != nil; got != want {
			t.Errorf("%s covers the race: %v, want %v", pattern, got, want)
		}
	}
}
