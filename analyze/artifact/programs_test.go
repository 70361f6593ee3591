package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/gorun"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// run is a recorded run of a program with its races.
type run struct {
	img   *image.Space
	trace *cdr.Trace
	res   *race.Result
}

// recordRun runs a program and finds its races.
func recordRun(t testing.TB, elf []byte, args []string, seed uint64, opts recorder.Options, beside ...event.Observer) *run {
	t.Helper()
	file, img := recordFile(t, elf, args, seed, opts, beside...)
	trace := openFile(t, file)
	res, err := race.Analyze(context.Background(), replay.FromTrace(trace), race.Options{Program: img, TLSSize: img.TLSSize()})
	if err != nil {
		t.Fatal(err)
	}
	return &run{img, trace, res}
}

// recordFile records a run of a program.
func recordFile(t testing.TB, elf []byte, args []string, seed uint64, opts recorder.Options, beside ...event.Observer) ([]byte, *image.Space) {
	t.Helper()
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	opts.Image = elf
	rec, err := recorder.New(&file, opts)
	if err != nil {
		t.Fatal(err)
	}
	cfg := mpsim.Config{Image: img, Args: append([]string{"program"}, args...), Stdout: io.Discard, Stderr: io.Discard,
		Seed: seed, Policy: mpsim.Random, Quantum: []int{0, 100, 1000}[seed%3], Observer: event.Tee(append(beside, rec)...)}
	if img.Main.Go() != "" {
		cfg.Hooks, cfg.HookAt = gorun.New(img.Main)
	} else {
		cfg.Hooks, cfg.HookAt = hook.New(img)
	}
	m, err := mpsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), img
}

func openFile(t testing.TB, file []byte) *cdr.Trace {
	t.Helper()
	trace, err := cdr.OpenReaderAt(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func (r *run) line(pc uint64) int {
	if f := r.img.Frames(pc); len(f) > 0 {
		return f[0].Line
	}
	return 0
}

// describe shows verdicts for the messages of tests.
func (r *run) describe(out *Result) string {
	var b strings.Builder
	for i, v := range out.Verdicts {
		x := &r.res.Races[i].First
		fmt.Fprintf(&b, "R%d lines %d and %d: %v of %v by %v, %d of %d explained, behind %v, %s\n",
			i, r.line(x.Later.PC), r.line(x.Earlier.PC), v.Status, v.Causes, v.By, v.Explained, v.Checked, v.Behind, v.Reason)
	}
	return b.String()
}

// TestSameEveryTime checks that the searches, which are limited, find the same every
// time.
func TestSameEveryTime(t *testing.T) {
	elf, err := examples.ELF("mp3d_nolock")
	if err != nil {
		t.Fatal(err)
	}
	file, img := recordFile(t, elf, nil, 1, recorder.Options{})
	var first *Result
	for range 4 {
		tr := openFile(t, file)
		src := replay.FromTrace(tr)
		res, err := race.Analyze(context.Background(), src, race.Options{Program: img, TLSSize: img.TLSSize()})
		if err != nil {
			t.Fatal(err)
		}
		out, err := Analyze(context.Background(), tr, img, res, Options{EventControl: true})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = out
		}
		if !reflect.DeepEqual(out, first) {
			t.Fatalf("other verdicts:\n%+v\n%+v", first.Verdicts, out.Verdicts)
		}
	}
}

func (r *run) analyze(t *testing.T) *Result {
	t.Helper()
	out, err := Analyze(context.Background(), r.trace, r.img, r.res, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mixed are the programs with races that the source marks as independent and that are
// consequences of others in some schedules. Which thread creates the singleton depends on
// which looked first, and the part of the freed job is read because the job was alive.
// Unlocking the home-made lock is ordered by its own variable, what the other check of
// the pointer led to by the pointer, and the free by the count.
var mixed = map[string]bool{"race_singleton": true, "race_early_free": true, "race_ring_buffer": true, "race_spin_lock": true,
	"race_double_checked": true, "race_refcount": true}

// TestMarks compares the verdicts about the gallery and the figures with the marks in
// their sources.
func TestMarks(t *testing.T) {
	for _, p := range examples.Programs() {
		if !p.Races || p.Group == examples.Kernel {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			elf, err := examples.ELF(p.Name)
			if err != nil {
				t.Fatal(err)
			}
			marked, plain := map[int]bool{}, map[int]bool{}
			for _, e := range p.Expect {
				for _, l := range e.Lines() {
					if marked[l], plain[l] = marked[l] || e.Artifact, plain[l] || !e.Artifact; marked[l] && plain[l] {
						t.Fatalf("line %d is marked as both", l)
					}
				}
			}
			for seed := range uint64(4) {
				r := recordRun(t, elf, p.Args, seed, recorder.Options{})
				out := r.analyze(t)
				for i, v := range out.Verdicts {
					x := &r.res.Races[i].First
					a, b := r.line(x.Later.PC), r.line(x.Earlier.PC)
					isOne := v.Status == Artifact
					if marked[a] && marked[b] && !isOne || isOne && !marked[a] && !marked[b] && !mixed[p.Name] || v.Status == Unknown {
						t.Errorf("seed %d: race of lines %d and %d is %v:\n%s", seed, a, b, v.Status, r.describe(out))
					}
				}
			}
		})
	}
}

// TestFigure7 checks that figure 7 of the paper has one cause and one artifact, at every
// level of optimisation, in the schedules in which the element is the one that the other
// thread writes.
func TestFigure7(t *testing.T) {
	source, err := examples.Source("fig7")
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
		t.Run(level, func(t *testing.T) {
			elf := compile(t, string(source), level)
			met := 0
			for seed := range uint64(12) {
				r := recordRun(t, elf, nil, seed, recorder.Options{})
				out := r.analyze(t)
				switch len(r.res.Races) {
				case 1: // Subscript was 0 when it was read
					if out.Artifacts() != 0 {
						t.Errorf("seed %d:\n%s", seed, r.describe(out))
					}
				case 2:
					met++
					v := out.Verdicts[1]
					if out.Verdicts[0].Status != Own || v.Status != Artifact || !slices.Equal(v.Causes, []int{0}) || v.By != ByAddress || v.Checked != 1 {
						t.Errorf("seed %d:\n%s", seed, r.describe(out))
						continue
					}
					first, last := v.Chain[0], v.Chain[len(v.Chain)-1]
					if first.Kind != RacyWrite || v.Chain[1].Kind != RacyRead || last.Kind != Access || first.Address != v.Chain[1].Address ||
						last.Address != r.res.Races[1].First.Address {
						t.Errorf("seed %d: chain %+v", seed, v.Chain)
					}
				default:
					t.Errorf("seed %d: %d races\n%s", seed, len(r.res.Races), r.describe(out))
				}
			}
			if met == 0 {
				t.Error("no schedule has the second race")
			}
		})
	}
}

// TestNotRecorded checks that for a trace without private accesses or without addresses,
// the verdict is Unknown or correct.
func TestNotRecorded(t *testing.T) {
	elf, err := examples.ELF("race_index")
	if err != nil {
		t.Fatal(err)
	}
	full := recordRun(t, elf, nil, 1, recorder.Options{})
	none := recordRun(t, elf, nil, 1, recorder.Options{Meta: format.Meta{Mode: format.ModeCOR}})
	none.res = full.res
	for i, v := range none.analyze(t).Verdicts {
		if v.Status != Unknown || v.Reason == "" {
			t.Errorf("race %d without addresses: %+v", i, v)
		}
	}
	// The index goes through private memory at -O0: without it, nothing is known.
	source, err := examples.Source("race_index")
	if err != nil {
		t.Fatal(err)
	}
	elf = compile(t, string(source), "-O0")
	r := recordRun(t, elf, nil, 1, recorder.Options{})
	if out := r.analyze(t); out.Artifacts() != 1 {
		t.Errorf("all kept:\n%s", r.describe(out))
	}
	scout := &recorder.Scout{}
	recordRun(t, elf, nil, 1, recorder.Options{}, scout)
	r = recordRun(t, elf, nil, 1, recorder.Options{Keep: scout.Keep})
	if out := r.analyze(t); out.Verdicts[1].Status != Unknown || out.Verdicts[0].Status == Artifact {
		t.Errorf("shared kept:\n%s", r.describe(out))
	}
}

// TestBudget checks that the verdict is Unknown if the searches do not suffice.
func TestBudget(t *testing.T) {
	elf, err := examples.ELF("race_index")
	if err != nil {
		t.Fatal(err)
	}
	r := recordRun(t, elf, nil, 1, recorder.Options{})
	for _, o := range []Options{{Steps: 1}, {TotalSteps: 1}, {Records: 1}} {
		out, err := Analyze(context.Background(), r.trace, r.img, r.res, o)
		if err != nil {
			t.Fatal(err)
		}
		if out.Verdicts[1].Status != Unknown || out.Verdicts[1].Reason == "" {
			t.Errorf("%+v:\n%s", o, r.describe(out))
		}
	}
}

// TestInput checks that nothing is claimed if a system call may have replaced the racy
// value.
func TestInput(t *testing.T) {
	source, err := examples.Source("race_index")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Status{
		"":                      Artifact,
		"read(0, &i, sizeof i)": Unknown,
		"write(1, &i, 0)":       Artifact,
	} {
		program := "#include <unistd.h>\n" + strings.Replace(string(source), "seen->entry = table[i];", text+"; seen->entry = table[i];", 1)
		r := recordRun(t, compile(t, program, "-O1"), nil, 1, recorder.Options{})
		if out := r.analyze(t); len(out.Verdicts) != 2 || out.Verdicts[1].Status != want {
			t.Errorf("%q:\n%s", text, r.describe(out))
		}
	}
}
