package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"hindsight/analyze/report"
)

// convert makes the output of a package's tests the stream of events that go test -json
// prints. close waits until all of it is out.
func (g *goCommand) convert(ctx context.Context, pkg string) (converted *goCommand, closed func() error, err error) {
	if !g.json {
		return g, func() error { return nil }, nil
	}
	c := g.command(ctx, "tool", "test2json", "-t", "-p", pkg)
	c.Env = nil // it runs here, not in the simulated machine
	c.Stdin = nil
	to, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("go tool test2json: %w", err)
	}
	other := *g
	other.std.Out = to
	return &other, func() error { return errors.Join(to.Close(), c.Wait()) }, nil
}

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

// byTest lists the races of a run by test, in the order of the report. Races in no test
// have the name "".
func byTest(rep *report.Report) (names []string, races map[string][]string) {
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

// writeTogether writes the verdicts on the tests of one run, whose lines of result are
// written already, after the report of its races.
func (v *verdict) writeTogether(out io.Writer, rep *report.Report, seed uint64) error {
	var b strings.Builder
	b.WriteString(v.report)
	names, races := byTest(rep)
	others := len(rep.Deadlocks) > 0
	for _, name := range names {
		if others = others || name == ""; name != "" {
			fmt.Fprintf(&b, "--- FAIL: %s (0.00s)\n    race detected during execution of test, seed %d: %s\n", name, seed, strings.Join(races[name], ", "))
		}
	}
	if others {
		fmt.Fprintf(&b, "--- FAIL: %s (%.2fs)\n    race detected in no test, seed %d: %s\n", v.name, v.elapsed.Seconds(), seed, strings.Join(races[""], ", "))
	}
	if len(v.why) > 0 {
		fmt.Fprintf(&b, "--- FAIL: %s (%.2fs)\n    %s\n", v.name, v.elapsed.Seconds(), strings.Join(v.why, "\n    "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
