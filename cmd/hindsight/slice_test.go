package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/cmd/internal/cli"
	"hindsight/examples"
)

// recordValues records an example with values and returns the trace's file.
func recordValues(t *testing.T, name string, args ...string) string {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, name), filepath.Join(dir, name+".hst")
	if err := os.WriteFile(program, elf, 0o755); err != nil {
		t.Fatal(err)
	}
	hindsight(t, 0, append([]string{"run", "--record", "wet", "-o", file, program}, args...)...)
	return file
}

// hindsight runs a command and returns its standard output.
func hindsight(t *testing.T, status int, args ...string) string {
	t.Helper()
	var out, err bytes.Buffer
	if got := run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}); got != status {
		t.Fatalf("hindsight %q: status %d, want %d\n%s%s", args, got, status, out.String(), err.String())
	}
	return out.String()
}

// TestSliceSchema checks the JSON forms against docs/slice.schema.json, and compares what
// they say about the same slice.
func TestSliceSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/slice.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	file := recordValues(t, "bank")
	for _, args := range [][]string{
		{"--at", "bank.c:40"},
		{"--at", "bank.c:40", "--summary"},
		{"--at", "strange_audits", "--instance", "all", "--deps", "data"},
		{"--at", "bank.c:40", "--direction", "forward", "--instance", "3", "--thread", "T2", "--depth", "4"},
		{"--at", "total", "--through-threads=false"},
		{"--race", "R1"},
	} {
		text := hindsight(t, 0, append([]string{"slice", "--format", "json", file}, args...)...)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
		checkCounts(t, text)
	}
}

// TestImpactSchema checks the report of races --impact against its schema.
func TestImpactSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/races.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text := hindsight(t, exitRaces, "races", "--impact", "--format", "json", recordValues(t, "race_counter"))
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil || !strings.Contains(text, `"impact"`) {
		t.Error(err)
	}
}

// TestImpactOfGallery checks that the accesses of every race of the gallery are found
// among the statements, including frees and atomic accesses.
func TestImpactOfGallery(t *testing.T) {
	for _, p := range examples.Programs() {
		if !p.Races || p.Group == examples.Kernel {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "t.hst")
			quietly("run", "--record", "wet", "-o", file, program(t, p.Name))
			_, text, said := quietly("races", "--impact", "--format", "json", file)
			var rep struct {
				Races []struct {
					ID     string
					Impact *struct{ Verdict string }
				}
			}
			if err := json.Unmarshal([]byte(text), &rep); err != nil {
				t.Fatal(err)
			}
			for _, r := range rep.Races {
				if r.Impact == nil || r.Impact.Verdict == "" {
					t.Errorf("%s has no impact: %s", r.ID, said)
				}
			}
			if len(rep.Races) == 0 {
				t.Error("no races: " + said)
			}
		})
	}
}

// checkCounts compares the instances of a slice with the counts of its statements.
func checkCounts(t *testing.T, text string) {
	t.Helper()
	var rep struct {
		Slices []struct {
			Role       string
			Total      uint64 `json:"instance_count"`
			Criterion  []struct{ Statement int }
			Statements []struct{ ID, Count int }
			Arrows     []struct{ From, To int }
			Instances  []struct{ Statement int }
		}
	}
	if err := json.Unmarshal([]byte(text), &rep); err != nil {
		t.Fatal(err)
	}
	for _, s := range rep.Slices {
		sum := 0
		seen := make([]int, len(s.Statements))
		for _, st := range s.Statements {
			sum += st.Count
		}
		if uint64(sum) != s.Total {
			t.Errorf("%s: statements have %d instances, the slice %d", s.Role, sum, s.Total)
		}
		for _, a := range s.Arrows {
			if a.From >= len(seen) || a.To >= len(seen) {
				t.Errorf("%s: an arrow from %d to %d of %d statements", s.Role, a.From, a.To, len(seen))
			}
		}
		for _, i := range s.Instances {
			seen[i.Statement]++
		}
		for n, st := range s.Statements {
			if s.Instances != nil && seen[n] != st.Count {
				t.Errorf("%s: statement %d has %d instances, %d are listed", s.Role, n, st.Count, seen[n])
			}
		}
		for _, i := range s.Criterion {
			if s.Role != "common" && s.Role != "parting" && i.Statement < 0 {
				t.Errorf("%s: its criterion is not in it", s.Role)
			}
		}
	}
}

// TestSlicePage checks that an HTML page loads nothing else, has a row for each of its
// dependences, and has no source text as markup.
func TestSlicePage(t *testing.T) {
	file := recordValues(t, "bank")
	dir := t.TempDir()
	source, err := examples.Source("bank")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	lines[0] = `</script><script>alert("1")</script> & ]]>`
	if err := os.WriteFile(filepath.Join(dir, "bank.c"), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	page := hindsight(t, 0, "slice", "--race", "R1", "--format", "html", "--source-dir", dir, file)
	if strings.Contains(page, "<script>alert") {
		t.Error("the source is not escaped")
	}
	if !strings.Contains(page, `\u003cscript\u003ealert(\"1\")`) {
		t.Error("the source is not there")
	}
	m := regexp.MustCompile(`data-key="slice/asked">(.*)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no slice")
	}
	var slice struct {
		Sheets []struct {
			Rows []struct{ In, Out []struct{ Row int } }
		}
	}
	if err := json.Unmarshal([]byte(m[1]), &slice); err != nil {
		t.Fatal(err)
	}
	links, rows := 0, 0
	for _, s := range slice.Sheets {
		rows += len(s.Rows)
		for _, r := range s.Rows {
			for _, l := range append(r.In, r.Out...) {
				if links++; l.Row < 0 || l.Row >= len(s.Rows) {
					t.Errorf("a dependence leads to row %d of %d", l.Row, len(s.Rows))
				}
			}
		}
	}
	if len(slice.Sheets) != 4 || links < 20 || rows < 20 {
		t.Errorf("%d slices, %d links between %d rows", len(slice.Sheets), links, rows)
	}
}

// TestSliceText checks the columns of the text form, and that a pipe gets no colour.
func TestSliceText(t *testing.T) {
	file := recordValues(t, "bank")
	for _, args := range [][]string{{"--at", "bank.c:40"}, {"--race", "R1"}, {"--at", "main", "--direction", "forward", "--instructions"}} {
		text := hindsight(t, 0, append([]string{"slice", file}, args...)...)
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
				t.Errorf("%q: a line of %d columns: %s", args, n, line)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("%q: an escape sequence", args)
		}
	}
}
