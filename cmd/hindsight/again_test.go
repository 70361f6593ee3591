package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze"
	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// recordKeeping records a program with --keep keep and returns the name of the trace.
func recordKeeping(t *testing.T, elf, keep, input string) string {
	t.Helper()
	img, err := image.Load(elf)
	if err != nil {
		t.Fatal(err)
	}
	r := &session.Run{Image: img, Program: elf, Policy: mpsim.Random, Seed: 1, Quantum: mpsim.DefaultQuantum, Mode: "cdr", Keep: keep, Alphabet: "path", Out: filepath.Join(t.TempDir(), "t.hst")}
	if _, err := r.Record(context.Background(), session.Streams{In: strings.NewReader(input), Out: io.Discard, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return r.Out
}

// reportAgain returns the report of races on a trace with some flags, and what the
// command prints on standard error.
func reportAgain(t *testing.T, file string, again *againFlags) (*report.Report, string) {
	t.Helper()
	var said bytes.Buffer
	var opts analyze.RaceOptions
	if again != nil {
		opts.Rerun, opts.Values = again.rerun(), again.values
	}
	rep, err := reportOf(context.Background(), cli.Streams{Out: io.Discard, Err: &said}, file, "", opts)
	if err != nil {
		t.Fatal(err)
	}
	return rep, said.String()
}

// artifactCounts returns the number of artifacts, and of races that may be artifacts.
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

// privately keeps the racy value in private memory between reading it and using it as an
// index.
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

// TestArtifactsOfShared checks that a rerun finds what --keep shared omits, with the
// verdicts of --keep all.
func TestArtifactsOfShared(t *testing.T) {
	needTools(t, cross.Compiler)
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		t.Run(level, func(t *testing.T) {
			elf := compileText(t, "privately", privately, level)
			const input = "xyz"
			other := filepath.Join(t.TempDir(), "input")
			if err := os.WriteFile(other, []byte(input[1:]), 0o644); err != nil {
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
			rep, said := reportAgain(t, shared, &againFlags{})
			if n, unknown := artifactCounts(rep); n != wantArtifacts || unknown != 0 || said != "" {
				t.Errorf("%d artifacts and %d unknown, want %d and 0: %s", n, unknown, wantArtifacts, said)
			}
			for i := range rep.Races {
				if a, b := rep.Races[i].Artifact, all.Races[i].Artifact; (a == nil) != (b == nil) || a != nil && len(a.Chain) != len(b.Chain) {
					t.Errorf("race %d: %+v, want %+v", i, a, b)
				}
			}
			// With another input the run is different, and nothing is claimed.
			rep, said = reportAgain(t, shared, &againFlags{stdin: other})
			if _, unknown := artifactCounts(rep); unknown == 0 || !strings.Contains(said, "not the run in the trace") || !strings.Contains(said, "standard input") {
				t.Errorf("%d unknown, said %q", unknown, said)
			}
		})
	}
}

// writesOfAll has a global variable for each way in which two threads can write.
const writesOfAll = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int both_five, nine = 9, zero, counts, mine, three, kept = 4, input, late = 1;
double half;
struct { char a, b; short c; } parts = {1, 2, 3};
char copied[16] = "0123456789abcde";
unsigned char low;
int array[16], squares[16];
static volatile int sink;
static void *worker(void *arg)
{
	int self = (int)(long)arg;
	for (int i = 0; i < 3; i++) {
		both_five = 5;
		nine = 9;
		zero = 0;
		counts = counts + 1;
		half = 0.5;
		parts.c = 7;
		low = 0x107 + (i << 8);
		array[i] = 6;
		squares[i] = i * i + 1;
	}
	memcpy(copied, "0123456789abcde", 16);
	mine = self;
	if (self) {
		three = 3;
		kept = 4;
		input = 0;
		late = 1;
	} else {
		sink = three;
		sink = kept;
		sink = input;
		sink = late;
	}
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	int from[2];
	pipe(from);
	write(from[1], "\0\0\0\0", 4);
	read(from[0], &input, 4); // zeros again, but nobody knows
	late = 2;
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
`

// TestSameValues checks that exactly those races are marked whose writes all store the
// same value, or the value that was there.
func TestSameValues(t *testing.T) {
	needTools(t, cross.Compiler)
	want := map[string]string{ // of a pair of writes; of a write and a read
		"both_five": "equal", "nine": "unchanged unchanged", "zero": "unchanged unchanged", "half": "equal", "parts.c": "equal",
		"low": "equal", "array": "equal", "squares": "equal", "copied": "unchanged", "kept": " unchanged",
		"counts": "", "mine": "", "three": "", "input": "", "late": "",
	}
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		t.Run(level, func(t *testing.T) {
			elf := compileText(t, "writes", writesOfAll, level, "-fno-builtin", "-Wno-unused-result")
			for _, keep := range []string{"all", "shared"} {
				rep, said := reportAgain(t, recordKeeping(t, elf, keep, ""), &againFlags{values: true})
				if said != "" {
					t.Errorf("says %q", said)
				}
				seen := map[string]bool{}
				for i := range rep.Races {
					checkSameValue(t, &rep.Races[i], want, seen)
				}
				for name := range want {
					if !seen[name] {
						t.Errorf("no race on %s", name)
					}
				}
			}
		})
	}
}

func checkSameValue(t *testing.T, r *report.Race, want map[string]string, seen map[string]bool) {
	t.Helper()
	name := r.Location.Path
	if i := strings.IndexAny(name, "[+"); i >= 0 {
		name = name[:i]
	}
	seen[name] = true
	w, known := want[name]
	if !known {
		t.Errorf("a race on %s", name)
	}
	ofWrites, ofRead, _ := strings.Cut(w, " ")
	expected := ofRead
	if r.Accesses[0].Op.Writes() && r.Accesses[1].Op.Writes() {
		expected = ofWrites
	}
	got := ""
	if s := r.SameValue; s != nil {
		if got = "equal"; s.Unchanged {
			got = "unchanged"
		}
		if s.Writes == 0 || s.All {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if got != expected {
		t.Errorf("%s (%s and %s): %q, want %q: %+v", name, r.Accesses[0].Op, r.Accesses[1].Op, got, expected, r.SameValue)
	}
}

// onStacks makes threads race on local variables of functions that are in the middle of
// calls, of a function that calls itself, and of the running function.
const onStacks = `#include <pthread.h>
#include <stdlib.h>
struct pair { long first, second; };
static void *writer(void *arg)
{
	struct pair *p = arg;
	p->second = 1;
	return NULL;
}
static void *adder(void *arg)
{
	++*(int *)arg;
	return NULL;
}
static void *setter(void *arg)
{
	((int *)arg)[4] = 5;
	return NULL;
}
__attribute__((noinline)) static void two(void *(*f)(void *), void *arg)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, f, arg);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}
__attribute__((noinline)) static long deep(int n, struct pair *outer)
{
	struct pair here = {n, n};
	if (n == 0)
		two(writer, outer);
	else
		here.first += deep(n - 1, n == 3 ? &here : outer);
	return here.first + here.second;
}
__attribute__((noinline)) static int owner(void)
{
	int counter = 3, room[40];
	room[4] = counter;
	two(adder, &counter);
	two(setter, room);
	return counter + room[4];
}
__attribute__((noinline)) static int watcher(void)
{
	volatile int flag = 0;
	pthread_t t;
	pthread_create(&t, NULL, adder, (void *)&flag);
	for (int i = 0; i < 100 && !flag; i++)
		;
	pthread_join(t, NULL);
	return flag;
}
int main(void)
{
	return (deep(6, NULL) + owner() + watcher()) * 0;
}
`

// TestLocals checks that memory on a stack has the name of its variable.
func TestLocals(t *testing.T) {
	needTools(t, cross.Compiler)
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		t.Run(level, func(t *testing.T) {
			elf := compileText(t, "stacks", onStacks, level)
			file := recordKeeping(t, elf, "all", "")
			for _, values := range []bool{false, true} {
				checkStackNames(t, file, values)
			}
		})
	}
}

func checkStackNames(t *testing.T, file string, values bool) {
	t.Helper()
	rep, _ := reportAgain(t, file, &againFlags{values: values})
	var got []string
	for i := range rep.Races {
		if l := rep.Races[i].Location.Local; l != nil {
			name, _, _ := strings.Cut(l.In.Function, ".") // the names of clones have a suffix
			got = append(got, fmt.Sprintf("%s+%d in %s", l.Path, l.Offset, name))
		} else {
			t.Errorf("a race on %+v", rep.Races[i].Location)
		}
	}
	slices.Sort(got)
	want := []string{"counter+0 in owner", "flag+0 in watcher", "here.second+8 in deep", "room[4]+16 in owner"}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("values %v: races on %v, want %v", values, got, want)
	}
}
