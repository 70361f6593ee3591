package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
)

// recordKeeping records a program and gives the trace's file.
func recordKeeping(t *testing.T, elf, keep, input string) string {
	t.Helper()
	img, err := image.Load(elf)
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{Image: img, Program: elf, Policy: mpsim.Random, Seed: 1, Mode: "cdr", Keep: keep, Alphabet: "path", Out: filepath.Join(t.TempDir(), "t.hst")}
	if _, err := r.record(context.Background(), streams{in: strings.NewReader(input), out: io.Discard, err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return r.Out
}

// reportAgain is the report of a trace by races with those flags, and what it
// says on standard error.
func reportAgain(t *testing.T, file string, again *againFlags) (*report.Report, string) {
	t.Helper()
	var said bytes.Buffer
	rep, err := reportBy(context.Background(), streams{out: io.Discard, err: &said}, file, race.Options{}, nil, byHappensBefore, again)
	if err != nil {
		t.Fatal(err)
	}
	return rep, said.String()
}

// count of artifacts and of races of which it is not known whether they are.
func artifactCounts(rep *report.Report) (artifacts, unknown int) {
	for i := range rep.Races {
		if rep.Races[i].Artifact != nil {
			artifacts++
		}
		if rep.Races[i].Unexplained != "" {
			unknown++
		}
	}
	return artifacts, unknown
}

// privately keeps the racy value in memory of its own between reading it and
// indexing with it.
const privately = `#include <pthread.h>
#include <stdio.h>
int subscript, table[64];
struct work { int pad[50], index; };
static void *writer(void *arg)
{
	subscript = 40 + *(int *)arg;
	table[40 + *(int *)arg] = 3;
	return arg;
}
static void *reader(void *arg)
{
	struct work w = {{0}, 0};
	int *volatile p = &w.index;
	*p = subscript;
	for (int i = 0; i < 50; i++)
		w.pad[i] = i;
	return (void *)(long)(table[*p] + w.pad[3]);
}
int main(void)
{
	pthread_t a, b;
	int more = getchar() == 'x';
	pthread_create(&a, NULL, writer, &more);
	pthread_create(&b, NULL, reader, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	if (more)
		puts("more");
	return 0;
}
`

// TestArtifactsOfShared: what --keep shared left out is found by making the run
// again, with the verdicts of --keep all.
func TestArtifactsOfShared(t *testing.T) {
	needTools(t, cross.Compiler)
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		t.Run(level, func(t *testing.T) {
			elf := compileText(t, "privately", privately, level)
			const input = "xyz"
			stdin := filepath.Join(t.TempDir(), "input")
			if err := os.WriteFile(stdin, []byte(input), 0o644); err != nil {
				t.Fatal(err)
			}
			all, _ := reportAgain(t, recordKeeping(t, elf, "all", input), nil)
			wantArtifacts, unknown := artifactCounts(all)
			if wantArtifacts == 0 || unknown != 0 {
				t.Fatalf("%d artifacts and %d unknown with everything kept", wantArtifacts, unknown)
			}
			shared := recordKeeping(t, elf, "shared", input)
			before, _ := reportAgain(t, shared, nil)
			if _, unknown := artifactCounts(before); unknown == 0 {
				t.Error("the trace alone suffices; the test shows nothing")
			}
			rep, said := reportAgain(t, shared, &againFlags{stdin: stdin})
			if n, unknown := artifactCounts(rep); n != wantArtifacts || unknown != 0 || said != "" {
				t.Errorf("%d artifacts and %d unknown, want %d and 0: %s", n, unknown, wantArtifacts, said)
			}
			for i := range rep.Races {
				if a, b := rep.Races[i].Artifact, all.Races[i].Artifact; (a == nil) != (b == nil) || a != nil && len(a.Chain) != len(b.Chain) {
					t.Errorf("race %d: %+v, want %+v", i, a, b)
				}
			}
			// Without its input the run is another one, and nothing is claimed.
			rep, said = reportAgain(t, shared, &againFlags{})
			if _, unknown := artifactCounts(rep); unknown == 0 || !strings.Contains(said, "not the run in the trace") || !strings.Contains(said, "--stdin") {
				t.Errorf("%d unknown, said %q", unknown, said)
			}
		})
	}
}
