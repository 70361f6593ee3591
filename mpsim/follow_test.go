package mpsim_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// example loads a program of the gallery.
func example(t testing.TB, name string) (*image.Space, *cfg.Program) {
	t.Helper()
	img := cross.Image(t, name)
	return img, cfg.New(img)
}

// recordRun runs a program and returns its trace and its outcome. The trace's policy field
// is the same for all runs.
func recordRun(t testing.TB, img *image.Space, flow *cfg.Program, conf mpsim.Config) (trace []byte, res *mpsim.Result, stdout string) {
	t.Helper()
	var out, text bytes.Buffer
	rec, err := recorder.New(&out, recorder.Options{Program: flow})
	if err != nil {
		t.Fatal(err)
	}
	conf.Image, conf.Observer, conf.Stdout, conf.Stderr = img.Anew(), rec, &text, &text
	conf.Hooks, conf.HookAt = hook.New(conf.Image)
	m, err := mpsim.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	if res, err = m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), res, text.String()
}

// plainRun runs a program without recording it.
func plainRun(t testing.TB, img *image.Space, conf mpsim.Config) *mpsim.Result {
	t.Helper()
	conf.Image = img.Anew()
	conf.Hooks, conf.HookAt = hook.New(conf.Image)
	m, err := mpsim.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestOwnSchedule reruns the small examples under the schedules of their first runs, after
// a round trip through text. The traces must be the same, byte for byte.
func TestOwnSchedule(t *testing.T) {
	policies := []mpsim.Config{{Policy: mpsim.Random}, {Policy: mpsim.RoundRobin, Quantum: 100}, {Policy: mpsim.PCT, Depth: 3}, {Policy: mpsim.Random, Quantum: 30}}
	for n, p := range examples.Programs() {
		if p.Group == examples.Kernel || p.Group == examples.Workload {
			continue
		}
		img, flow := example(t, p.Name)
		for k := range policies {
			if (n+k)%2 != 0 {
				continue
			}
			conf := policies[k]
			conf.Args, conf.Seed, conf.Trail = append([]string{p.Name}, p.Args...), uint64(1+n%3), true
			name := fmt.Sprintf("%s %v seed %d", p.Name, conf.Policy, conf.Seed)
			want, res, wantOut := recordRun(t, img, flow, conf)
			asked, err := schedule.Parse(p.Name, bytes.NewReader(res.Schedule.Text()))
			if err != nil {
				t.Fatal(err)
			}
			if asked.Insts() != res.Insts {
				t.Errorf("%s: the schedule has %d instructions, the run %d", name, asked.Insts(), res.Insts)
			}
			if text := plainRun(t, img, conf).Schedule.Text(); !bytes.Equal(text, res.Schedule.Text()) {
				t.Errorf("%s: the schedule is another one when nothing is recorded", name)
			}
			// The policy must have no influence; the seed also affects the guest.
			conf.Policy, conf.Depth, conf.Quantum, conf.Schedule = (conf.Policy+1)%3, 0, 0, asked
			got, again, gotOut := recordRun(t, img, flow, conf)
			if again.Diverged != nil {
				t.Errorf("%s: %v", name, again.Diverged)
			}
			if !bytes.Equal(got, want) || gotOut != wantOut {
				t.Errorf("%s: the trace differs under the run's own schedule (%d and %d bytes)", name, len(want), len(got))
			}
			if text := again.Schedule.Text(); !bytes.Equal(text, res.Schedule.Text()) {
				t.Errorf("%s: the schedule of the second run differs", name)
			}
		}
	}
}

// TestPieces cuts the steps of a run's schedule at any place, including the middle of
// blocks, and adds steps up to a place. The program must behave the same.
func TestPieces(t *testing.T) {
	for _, name := range []string{"bank", "race_counter", "norace_semaphore", "fig7"} {
		img, flow := example(t, name)
		conf := mpsim.Config{Args: []string{name}, Seed: 3, Trail: true}
		_, want, wantOut := recordRun(t, img, flow, conf)
		r := rand.New(rand.NewPCG(1, 2))
		pieces := &schedule.Schedule{}
		for _, s := range want.Schedule.Steps {
			for s.Kind == schedule.Run && s.Count > 1 && r.IntN(3) > 0 {
				n := 1 + r.Uint64N(s.Count-1)
				pieces.Steps = append(pieces.Steps, schedule.Step{Thread: s.Thread, Count: n})
				s.Count -= n
			}
			pieces.Steps = append(pieces.Steps, s)
		}
		conf.Schedule = pieces
		_, got, gotOut := recordRun(t, img, flow, conf)
		if got.Diverged != nil || got.Insts != want.Insts || gotOut != wantOut || !bytes.Equal(got.Schedule.Text(), want.Schedule.Text()) {
			t.Errorf("%s: in %d pieces: %v, %d instructions instead of %d", name, len(pieces.Steps), got.Diverged, got.Insts, want.Insts)
		}
	}
}

// TestDivergence checks the report of where a schedule cannot be followed.
func TestDivergence(t *testing.T) {
	img, flow := example(t, "race_counter")
	for text, want := range map[string]string{
		"T0 100\nT7 5\n":         "file:3: cannot follow \"T7 5\": there is no thread T7",
		"T0 100 @0x1234\n":       "file:2: cannot follow \"T0 100 @0x1234\": T0 stands at 0x",
		"T0 100000000\n":         "file:2: cannot follow \"T0 100000000\": T0 waits for",
		"T0 rest\nT1 100000\n":   "file:3: cannot follow \"T1 100000\": there is no thread T1",
		"T0 to 0x1 x3\nT0 rest":  "T0 waits for",
		"T0 33\nT0 34\nclock 44": "",
	} {
		asked, err := schedule.Parse("file", strings.NewReader("hindsight schedule 1\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		_, res, _ := recordRun(t, img, flow, mpsim.Config{Schedule: asked, Trail: true, Args: []string{"race_counter"}})
		got := ""
		if res.Diverged != nil {
			got = res.Diverged.String()
		}
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if res.Status != 0 {
			t.Errorf("%q: the run did not go on by policy: status %d", text, res.Status)
		}
	}
}

// TestLenient requests long turns of random threads, which wait and end as they will. No
// such run may diverge, a correct program must print what it always prints, and the run's
// own schedule must be followed exactly.
func TestLenient(t *testing.T) {
	img, flow := example(t, "norace_bank")
	_, _, want := recordRun(t, img, flow, mpsim.Config{})
	r := rand.New(rand.NewPCG(17, 4))
	for n := range 10 {
		s := &schedule.Schedule{Lenient: true}
		for range 200 {
			s.Steps = append(s.Steps, schedule.Step{Thread: event.ThreadID(r.IntN(6)), Count: r.Uint64N(3000)})
		}
		text := string(s.Text())
		conf := mpsim.Config{Schedule: s, Trail: true}
		_, res, out := recordRun(t, img, flow, conf)
		if res.Diverged != nil || out != want {
			t.Fatalf("%d: %v, %q; want %q", n, res.Diverged, out, want)
		}
		if string(s.Text()) != text {
			t.Fatalf("%d: the schedule was changed", n)
		}
		conf.Schedule = res.Schedule
		_, again, out := recordRun(t, img, flow, conf)
		if again.Diverged != nil || out != want || again.Insts != res.Insts {
			t.Fatalf("%d: followed: %v, %d instructions, then %d", n, again.Diverged, res.Insts, again.Insts)
		}
	}
}

// tally notes after each batch how many events and accesses its thread has executed.
type tally struct {
	event.Observer
	turns []schedule.Step
	had   map[event.ThreadID]schedule.Step
}

// Batch implements [event.Observer].
func (p *tally) Batch(b *event.Batch) error {
	step := p.had[b.Thread]
	step.Kind, step.Thread = schedule.Until, b.Thread
	step.Accesses += uint64(len(b.Addrs))
	for _, e := range b.Events {
		if e.Kind.IsStep() {
			step.Events++
		}
	}
	p.had[b.Thread] = step
	p.turns = append(p.turns, step)
	return nil
}

// TestUntil requests the turns of a run by the events and accesses that its threads
// executed. Updates must be lost exactly as they were, also when nothing is recorded.
func TestUntil(t *testing.T) {
	seen := map[string]bool{}
	for _, quantum := range []int{7, 30, 101, 400} {
		img, _ := example(t, "bank")
		p := &tally{Observer: event.Tee(), had: map[event.ThreadID]schedule.Step{}}
		run := func(conf mpsim.Config) (*mpsim.Result, string) {
			var out bytes.Buffer
			conf.Args, conf.Image, conf.Stdout = []string{"bank"}, img.Anew(), &out
			conf.Hooks, conf.HookAt = hook.New(conf.Image)
			m, err := mpsim.New(conf)
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return res, out.String()
		}
		_, want := run(mpsim.Config{Policy: mpsim.Random, Quantum: quantum, Seed: 5, Observer: p})
		asked := &schedule.Schedule{Steps: p.turns}
		seen[want] = true
		for _, o := range []event.Observer{nil, event.Tee()} {
			if res, got := run(mpsim.Config{Schedule: asked, Observer: o}); res.Diverged != nil || got != want {
				t.Errorf("quantum %d: %v, %q, want %q", quantum, res.Diverged, got, want)
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("no update is lost: %v", seen)
	}
}
