package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	localfs "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"

	"hindsight/analyze/report"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/suite"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	filesystem.Register("once", func(ctx context.Context) filesystem.Interface { return failsOnce{localfs.New(ctx)} })
	os.Exit(m.Run())
}

// testList has programs with races, without, with other ends, and one that cannot be run.
const testList = `./bank => races=2
A=1 ./norace_counter
./race_counter => runs=3
./race_wrong_lock
./nothing
./bank 4 x => max-instructions=5000 exit=limit,1 races=any
`

// testOptions are those of the list, whose programs are in the current directory.
func testOptions(t *testing.T) *options {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"bank", "norace_counter", "race_counter", "race_wrong_lock"} {
		elf, err := examples.ELF(name)
		if err == nil {
			err = os.WriteFile(name, elf, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("list.txt", []byte(testList), 0o666); err != nil {
		t.Fatal(err)
	}
	return &options{
		list: "list.txt", format: "json", sched: "random", memory: "1G", chunk: 2,
		set: suite.Settings{Runs: 7, First: 1, Depth: mpsim.DefaultDepth, MaxInsts: 1_000_000_000, RunTime: suite.DefaultRunTime},
	}
}

// explored is the same exploration without Beam: the report in a format, and the traces in
// the directory, which it removes.
func explored(t *testing.T, o *options, format string) (string, map[string]string) {
	t.Helper()
	set := o.set
	set.Policy, set.MaxMemory, set.MaxThreads, set.HangInsts = mpsim.Random, 1<<30, linux.DefaultMaxTasks, suite.DefaultHangInsts
	list, err := suite.Parse("list.txt", []byte(testList))
	if err != nil {
		t.Fatal(err)
	}
	const dir = "list.explore"
	if err := suite.Explore(t.Context(), suite.Options{List: list, Settings: set, Dir: dir, Jobs: 2}); err != nil {
		t.Fatal(err)
	}
	found, err := suite.Read(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := found.Report(t.Context(), set, 1)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := rep.Write(&text, format, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	files := traces(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return text.String(), files
}

// traces returns the content of the traces in a directory, by name.
func traces(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.hst"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(name, dir)] = string(data)
	}
	return all
}

// TestSameAsExplore: the pipeline reports and keeps what one exploration on one machine
// does.
func TestSameAsExplore(t *testing.T) {
	o := testOptions(t)
	for _, format := range suite.Formats {
		o.format = format
		want, kept := explored(t, o, format)
		var got bytes.Buffer
		if _, err := o.run(t.Context(), &got); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Errorf("%s:\n%s\nand without Beam:\n%s", format, got.String(), want)
		}
		if files := traces(t, "list.explore"); len(kept) < 4 || !reflect.DeepEqual(files, kept) {
			t.Errorf("%s: %d traces, want %d", format, len(files), len(kept))
		}
		if err := os.RemoveAll("list.explore"); err != nil {
			t.Fatal(err)
		}
	}
}

// failsOnce is the local file system, below once://. The first write of some part fails
// in its middle.
type failsOnce struct{ filesystem.Interface }

var failed sync.Once

func below(name string) string { return strings.TrimPrefix(name, "once://") }

func (f failsOnce) List(ctx context.Context, glob string) ([]string, error) {
	names, err := f.Interface.List(ctx, below(glob))
	for i := range names {
		names[i] = "once://" + names[i]
	}
	return names, err
}

func (f failsOnce) OpenRead(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.Interface.OpenRead(ctx, below(name))
}

func (f failsOnce) OpenWrite(ctx context.Context, name string) (io.WriteCloser, error) {
	w, err := f.Interface.OpenWrite(ctx, below(name))
	if strings.Contains(name, "/parts/race_wrong_lock") {
		failed.Do(func() { w = failsInTheMiddle{w} })
	}
	return w, err
}

func (f failsOnce) Remove(ctx context.Context, name string) error {
	return f.Interface.(filesystem.Remover).Remove(ctx, below(name))
}

func (f failsOnce) Rename(ctx context.Context, from, to string) error {
	return f.Interface.(filesystem.Renamer).Rename(ctx, below(from), below(to))
}

type failsInTheMiddle struct{ io.WriteCloser }

var errLost = errors.New("the file system is lost")

func (w failsInTheMiddle) Write(b []byte) (int, error) {
	n, _ := w.WriteCloser.Write(b[:len(b)/2])
	return n, errLost
}

// TestRetry: a part whose result could not be stored ends a pipeline on Prism, which does
// not retry. The same pipeline then finds the parts that were stored, and reports what one
// exploration does.
func TestRetry(t *testing.T) {
	o := testOptions(t)
	want, kept := explored(t, o, "json")
	dir, err := filepath.Abs("stored")
	if err != nil {
		t.Fatal(err)
	}
	o.out = "once://" + dir
	var got bytes.Buffer
	if _, err := o.run(t.Context(), &got); err == nil || !strings.Contains(err.Error(), errLost.Error()) || got.Len() > 0 {
		t.Fatalf("with a failure of the file system: %v\n%s", err, got.String())
	}
	if _, err := o.run(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(got.String(), o.out, "list.explore"); text != want {
		t.Errorf("after a retry:\n%s\nand without Beam:\n%s", text, want)
	}
	if files := traces(t, dir); !reflect.DeepEqual(files, kept) {
		t.Errorf("%d traces, want %d", len(files), len(kept))
	}
}
