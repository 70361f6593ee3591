package gobuild

import (
	"regexp"
	"slices"
	"strings"

	"hindsight/analyze/report"
)

// testOf matches the test that a function belongs to, in the function names of stacks.
var testOf = regexp.MustCompile(`\.((?:Test|Fuzz|Example|Benchmark)[^a-z.\[(][^.\[(]*|Test|Example)(?:[.\[]|$)`)

// inTest returns the test in which a race's accesses were made, or "" if neither their
// stacks nor those of the goroutines' creation show it.
func inTest(r *report.Race) string {
	for _, a := range r.Accesses {
		stacks := [][]report.Frame{a.Stack}
		if a.Task != nil {
			stacks = append(stacks, a.Task.Stack)
		}
		for _, stack := range stacks {
			for _, f := range slices.Backward(stack) {
				if m := testOf.FindStringSubmatch(f.Function); m != nil && !strings.HasPrefix(f.Function, "testing.") {
					return m[1]
				}
			}
		}
	}
	return ""
}

// ByTest groups the IDs of the races in a report by the test in which they happened,
// according to the call stacks. names lists the tests in the order of the report. Races in
// no test have the name "".
func ByTest(rep *report.Report) (names []string, races map[string][]string) {
	races = map[string][]string{}
	for i := range rep.Races {
		name := inTest(&rep.Races[i])
		if races[name] == nil {
			names = append(names, name)
		}
		races[name] = append(races[name], rep.Races[i].ID)
	}
	return names, races
}
