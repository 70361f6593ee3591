package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hindsight/analyze"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/arch"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

// recorded runs an embedded example and returns the name of its trace. The caller removes
// the trace's directory.
func recorded(name, mode string, model *arch.Config) (file string, err error) {
	elf, err := examples.ELF(name)
	if err != nil {
		return "", err
	}
	img, err := image.Parse(elf)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "analyze")
	if err != nil {
		return "", err
	}
	r := &session.Run{
		Image: img, Program: name, Policy: mpsim.Random, Seed: 1, Mode: mode, Arch: model,
		Out: filepath.Join(dir, name+".hst"),
	}
	_, err = r.Record(context.Background(), session.Streams{})
	return r.Out, err
}

// open opens the trace of an embedded example. The returned function closes it.
func open(name, mode string, model *arch.Config) (*analyze.Trace, func()) {
	file, err := recorded(name, mode, model)
	if err != nil {
		log.Fatal(err)
	}
	t, err := analyze.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	return t, func() {
		t.Close()
		os.RemoveAll(filepath.Dir(file))
	}
}

// This example opens a trace, asks for what it contains, and closes it.
func ExampleOpen() {
	file, err := recorded("bank", "cdr", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(file))
	t, err := analyze.Open(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	fmt.Println(filepath.Base(t.Name()))
	_, err = t.HasValues()
	missing := (*analyze.NoValuesError)(nil)
	fmt.Println("without values:", errors.As(err, &missing))
	// Output:
	// bank.hst
	// without values: true
}

// This example prints the last paths that a thread executed, backward in time.
func ExampleTrace_ControlFlow() {
	t, done := open("bank", "wet", nil)
	defer done()
	n := 0
	for p, err := range t.ControlFlow(analyze.Query{Thread: "T1", Backward: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if n++; n > 3 {
			break
		}
		fmt.Printf("time %d: %d blocks, %s\n", p.Time, len(p.Blocks), p.Place)
	}
	// Output:
	// time 895: 4 blocks, start_thread
	// time 894: 2 blocks, madvise
	// time 893: 1 blocks, madvise
}

// This example prints the values that a line computed.
func ExampleTrace_Values() {
	t, done := open("bank", "wet", nil)
	defer done()
	n := 0
	for v, err := range t.Values(analyze.Query{At: "bank.c:40", Thread: "T2"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if n++; n > 3 {
			break
		}
		fmt.Printf("time %d: %d at %#x\n", v.Time, v.Value, v.PC)
	}
	// Output:
	// time 14: 48 at 0x106be
	// time 14: 521336 at 0x106c2
	// time 14: 1000 at 0x106c4
}

// This example prints the memory that a line accessed.
func ExampleTrace_Addrs() {
	t, done := open("bank", "wet", nil)
	defer done()
	n := 0
	for a, err := range t.Addrs(analyze.Query{At: "bank.c:40", Thread: "T2"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if n++; n > 3 {
			break
		}
		fmt.Printf("time %d: %d bytes of %s\n", a.Time, a.Size, a.Object)
	}
	// Output:
	// time 14: 8 bytes of balance[6]
	// time 14: 8 bytes of balance[6]
	// time 35: 8 bytes of balance[6]
}

// This example prints the races of a run, each with its lines and how often it occurred.
func ExampleTrace_Races() {
	t, done := open("bank", "cdr", nil)
	defer done()
	report, err := t.Races(context.Background(), analyze.RaceOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Races {
		now, before := r.Accesses[0], r.Accesses[1]
		fmt.Printf("%s: %v at line %d, %v at line %d, %d times\n", r.ID, now.Op, now.Top.Line, before.Op, before.Top.Line, r.Dynamic)
	}
	// Output:
	// R1: read at line 52, write at line 40, 30000 times
	// R2: read at line 52, write at line 42, 30000 times
}

// This example slices backward from the last execution of a line, to find what led to its
// value.
func ExampleTrace_Slice() {
	t, done := open("bank", "wet", nil)
	defer done()
	report, err := t.Slice(context.Background(), analyze.SliceOptions{At: "bank.c:72", Depth: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Parts[0].Title)
	fmt.Println(report.Parts[0].Slice.Len() > 0)
	// Output:
	// slice of bank.c:72, the last execution, by T1 at time 877
	// true
}

// This example prints who wrote a variable.
func ExampleTrace_Writes() {
	t, done := open("bank", "wet", nil)
	defer done()
	n := 0
	for w, err := range t.Writes(analyze.Query{At: "balance+16", Thread: "T3"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if n++; n <= 3 {
			fmt.Printf("T%d at time %d wrote %d: %s\n", w.Thread, w.Time, w.Value, w.Place)
		}
	}
	// Output:
	// T3 at time 67 wrote 997: transfer bank.c:40
	// T3 at time 158 wrote 979: transfer bank.c:40
	// T3 at time 885 wrote 1041: transfer bank.c:42
}

// This example prints the variables that moved between the caches.
func ExampleTrace_Sharing() {
	t, done := open("bank", "cdr", &arch.Config{})
	defer done()
	report, err := t.Sharing(context.Background(), analyze.SharingOptions{Top: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Variables[0].Location.Name)
	// Output:
	// balance
}

// This example prints what a trace contains.
func ExampleTrace_Info() {
	t, done := open("bank", "cdr", nil)
	defer done()
	info, err := t.Info()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Program, "seed", info.Seed, "threads", len(info.Threads), "complete", info.Complete)
	// Output:
	// bank seed 1 threads 5 complete true
}

// This example prints which races differ between two runs: of a program, and of its
// corrected version.
func ExampleDiff() {
	before, done := open("bank", "cdr", nil)
	defer done()
	after, done := open("norace_bank", "cdr", nil)
	defer done()
	a, err := before.Races(context.Background(), analyze.RaceOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := after.Races(context.Background(), analyze.RaceOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := analyze.Diff(a, b)
	fmt.Println(d.Differ(), len(a.Races), len(b.Races))
	// Output:
	// true 2 0
}
