package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/analyze/report"
	"hindsight/mpsim/session"
)

// TestTestOutput checks that, however the output is split, the lines are passed on without
// the verdict, and complete lines before the end.
func TestTestOutput(t *testing.T) {
	const text, want = "=== RUN   TestA\nPASSED\nPASS\n FAIL\nFAIL\ntesting: warning: no tests to run\nno end", "=== RUN   TestA\nPASSED\n FAIL\nno end"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		o := &testOutput{out: &out}
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := o.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.String(); got != "=== RUN   TestA\nPASSED\n FAIL\n" && size < len(text) {
			t.Errorf("pieces of %d: before the end %q", size, got)
		}
		if err := o.Close(); err != nil || out.String() != want {
			t.Errorf("pieces of %d: %q, %v", size, out.String(), err)
		}
	}
}

// TestAll checks that results come in the order of the tests and of the seeds, however many
// tests run concurrently. Failing fast stops after all seeds of the failed test.
func TestAll(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/three\n\ngo 1.24\n",
		"three_test.go": `package three

import "testing"

func TestFirst(t *testing.T)  { t.Log("first") }
func TestSecond(t *testing.T) { t.Error("second") }
func TestThird(t *testing.T)  { t.Log("third") }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	tool := &Go{Out: t.Output(), Err: t.Output()}
	list, err := tool.Packages(t.Context(), "./...")
	if err != nil || len(list) != 1 || list[0].ImportPath != "example.com/three" || !list[0].HasTests() {
		t.Fatalf("packages %v, %v", list, err)
	}
	binary := filepath.Join(t.TempDir(), "three.test")
	if err := tool.BuildTestsTo(t.Context(), binary, list[0].ImportPath); err != nil {
		t.Fatal(err)
	}
	p, err := Load(binary)
	if err != nil {
		t.Fatal(err)
	}
	traces := t.TempDir()
	for _, c := range []struct {
		fast bool
		want string
	}{
		{false, "First 7 ok, First 8 ok, Second 7 failed, Second 8 failed, Third 7 ok, Third 8 ok"},
		{true, "First 7 ok, First 8 ok, Second 7 failed, Second 8 failed"},
	} {
		tests := &Tests{
			Recording: Recording{Seed: 7, Seeds: 2, Dir: traces, Examine: nothing},
			Package:   list[0], Program: p, Jobs: 3, FailFast: c.fast,
		}
		names, err := tests.Names(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r, err := range tests.All(t.Context(), names) {
			if err != nil {
				t.Fatal(err)
			}
			word := "failed"
			if r.Passed() {
				word = "ok"
			}
			got = append(got, fmt.Sprint(strings.TrimPrefix(r.Name, "Test"), " ", r.Seed, " ", word))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("failing fast %v: %s\nwant %s", c.fast, s, c.want)
		}
	}
	if left, err := os.ReadDir(traces); err != nil || len(left) > 0 {
		t.Errorf("traces are left: %v, %v", left, err)
	}
}

// nothing examines a run without looking for races.
func nothing(context.Context, *session.Run, *session.Summary, io.Writer) (*report.Report, error) {
	return nil, nil
}

// TestByTest checks that the outermost test function in the stacks names the test.
func TestByTest(t *testing.T) {
	in := func(functions ...string) report.Access {
		var a report.Access
		for _, f := range functions {
			a.Stack = append(a.Stack, report.Frame{Function: f})
		}
		return a
	}
	created := in("example.com/p.worker")
	created.Task = &report.Task{Stack: in("example.com/p.start", "example.com/p.TestB.func1", "testing.tRunner").Stack}
	rep := &report.Report{Races: []report.Race{
		{ID: "R1", Accesses: [2]report.Access{in("example.com/p.add", "example.com/p.TestA", "testing.tRunner"), in("example.com/p.add")}},
		{ID: "R2", Accesses: [2]report.Access{created, in("main.main")}},
		{ID: "R3", Accesses: [2]report.Access{in("example.com/p.Testing", "testing.TestMain"), in("example.com/p.init")}},
		{ID: "R4", Accesses: [2]report.Access{in("example.com/p.init"), in("example.com/p.TestA.func2")}},
	}}
	names, races := ByTest(rep)
	if want := "[TestA TestB ] map[:[R3] TestA:[R1 R4] TestB:[R2]]"; fmt.Sprint(names, races) != want {
		t.Errorf("%v %v, want %s", names, races, want)
	}
}
