package gobuild

import (
	"regexp"
	"slices"
	"strings"

	"hindsight/analyze/report"
)

// testOf is the test that a function belongs to, by its name as stacks have it.
var testOf = regexp.MustCompile(`\.((?:Test|Fuzz|Example|Benchmark)[^a-z.\[(][^.\[(]*|Test|Example)(?:[.\[]|$)`)

// inTest is the test in which a race's accesses were made; "" if their stacks and those
// of the goroutines' creation do not show it.
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

// ByTest returns the IDs of the races in a report by the test in which they happened, and
// the names of the tests in the order of the report. The call stacks say which test it
// was. Races in no test have the name "".
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
