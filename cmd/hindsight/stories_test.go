package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/examples/cross"
)

var storiesDir = filepath.Join("..", "..", "examples", "stories")

// storyLines is the number of lines of a slice that a user reads.
const storyLines = 15

var storyHead = regexp.MustCompile(`(?m)^ \*   (question|defect): (.*)$`)

// hindsightText runs a command and returns what it prints.
func hindsightText(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if args[0] == "slice" && out.Len() == 0 {
		t.Fatalf("%v: %s", args, errs.String())
	}
	return out.String()
}

// compileWith compiles a source with the cross compiler.
func compileWith(t *testing.T, source, level string) string {
	t.Helper()
	compiler := cross.Compiler
	if filepath.Ext(source) == ".cc" {
		compiler = "riscv64-linux-gnu-g++"
	}
	needTools(t, compiler)
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	if msg, err := exec.CommandContext(t.Context(), compiler, level, "-g", "-static", "-pthread", "-o", out, source).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, msg)
	}
	return out
}

// listed returns the first n rows of a slice's text: each a line of the program with the
// lines below it.
func listed(text string, most int) string {
	var rows []string
	for line := range strings.Lines(text) {
		switch {
		case regexp.MustCompile(`^[ >] +(\d+|-) +[\d,]+  \S+:\d+ `).MatchString(line):
			rows = append(rows, line)
		case len(rows) > 0 && strings.HasPrefix(line, strings.Repeat(" ", 20)):
			rows[len(rows)-1] += line
		}
	}
	return strings.Join(rows[:min(most, len(rows))], "")
}

// TestStories checks for each program in examples/stories that the answer to the question
// at its top has the defect among the first lines.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(storiesDir, "*.c*"))
	if err != nil || len(files) != 9 {
		t.Fatalf("stories %v: %v", files, err)
	}
	for _, file := range files {
		for _, level := range []string{"-O0", "-O1"} {
			t.Run(filepath.Base(file)+level, func(t *testing.T) {
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				head := map[string]string{}
				for _, m := range storyHead.FindAllStringSubmatch(string(src), -1) {
					head[m[1]] = m[2]
				}
				program := compileWith(t, file, level)
				trace := program + ".hst"
				hindsightText(t, "run", "--record", "wet", "--quantum", "50", "-o", trace, program)
				text := hindsightText(t, append(strings.Fields("slice "+head["question"]+" --source-dir "+storiesDir), trace)...)
				rows := listed(text, storyLines)
				line := head["defect"]
				named := regexp.MustCompile(fmt.Sprintf(`(?m)^[ >] +\S+ +\S+  %s:%s |line %s\b`, regexp.QuoteMeta(filepath.Base(file)), line, line))
				if !named.MatchString(rows) {
					t.Errorf("line %s is not among the first %d lines:\n%s", line, storyLines, text)
				}
			})
		}
	}
}
