package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hindsight/mpsim/suite"
)

// suiteFiles returns the contents of all files below a directory, except the states,
// which have the runs in the order in which they ended.
func suiteFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSuiteShards checks that, however a suite is split, and in whatever order and groups
// the parts are merged, the reports in all forms and the kept traces are those of one
// exploration.
func TestSuiteShards(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bank", "norace_counter", "race_counter", "race_wrong_lock"} {
		if err := os.Rename(exampleFile(t, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	list := "./bank => races=2\nA=1 ./norace_counter\n./race_counter => runs=3\n./race_wrong_lock\n./nothing\n./bank 4 x => max-instructions=5000 exit=limit,1 races=any"
	if err := os.WriteFile("list.txt", []byte(list), 0o666); err != nil {
		t.Fatal(err)
	}
	reports := func(make func(format string) string) (all []string) {
		for _, format := range suite.Formats {
			all = append(all, make(format))
		}
		return all
	}
	explore := func(runs int, more ...string) string {
		text, _ := command(t.Context(), t, append([]string{"explore", "--suite", "list.txt", "--runs", fmt.Sprint(runs)}, more...)...)
		return text
	}
	const runs = 7
	want := reports(func(format string) string { return explore(runs, "--format", format, "--resume", "-o", "all") })
	checkSuiteSchema(t, want[slices.Index(suite.Formats, "json")])
	files := suiteFiles(t, "all")
	if len(files) < 4 {
		t.Errorf("traces %d", len(files))
	}
	if err := os.Rename("all", "whole"); err != nil {
		t.Fatal(err)
	}
	for trial := range uint64(3) {
		rng := rand.New(rand.NewPCG(trial, 7))
		var parts []string
		of := 2 + rng.IntN(3)
		for i := range of {
			part := fmt.Sprintf("part%d.%d", trial, i)
			explore(runs, "--shard", fmt.Sprintf("%d/%d", i+1, of), "-o", part)
			parts = append(parts, part)
		}
		if rng.IntN(2) == 0 { // one with fewer runs that overlaps
			part := fmt.Sprintf("part%d.few", trial)
			explore(2, "-o", part)
			parts = append(parts, part)
		}
		given := slices.Clone(parts)
		for step := 0; len(parts) > 1; step++ {
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			to := fmt.Sprintf("step%d.%d", trial, step)
			from := append(slices.Clone(parts[:2]), given[rng.IntN(len(given))])
			command(t.Context(), t, append([]string{"merge", "-o", to}, from...)...)
			parts = append(parts[2:], to)
		}
		if err := os.Rename(parts[0], "all"); err != nil {
			t.Fatal(err)
		}
		got := reports(func(format string) string {
			text, _ := command(t.Context(), t, "merge", "-o", "all", "--format", format, "all")
			return text
		})
		for i, format := range suite.Formats {
			if got[i] != want[i] {
				t.Errorf("trial %d, %s:\n%s\nand of one exploration:\n%s", trial, format, got[i], want[i])
			}
		}
		if got := suiteFiles(t, "all"); !reflect.DeepEqual(got, files) {
			t.Errorf("trial %d: other files are kept", trial)
		}
		if err := os.RemoveAll("all"); err != nil {
			t.Fatal(err)
		}
	}
}

// checkSuiteSchema checks a suite's report, and those of its programs, against their
// schemas.
func checkSuiteSchema(t testing.TB, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(sourceDir, "../../docs/suite.schema.json"))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
