package artifact

import (
	"bytes"
	"context"
	"io"
	"testing"

	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// run is a recorded run of a program with its races.
type run struct {
	img   *image.Image
	trace *cdr.Trace
	res   *race.Result
}

// recordRun runs a program and finds its races.
func recordRun(t *testing.T, elf []byte, args []string, seed uint64, opts cdr.Options, beside ...event.Observer) *run {
	t.Helper()
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	opts.Image = elf
	rec, err := cdr.NewRecorder(&file, opts)
	if err != nil {
		t.Fatal(err)
	}
	cfg := mpsim.Config{Image: img, Args: append([]string{"program"}, args...), Stdout: io.Discard, Stderr: io.Discard,
		Seed: seed, Policy: mpsim.Random, Quantum: []int{0, 100, 1000}[seed%3], Observer: event.Tee(append(beside, rec)...)}
	cfg.Hooks, cfg.HookAt = hook.New(img)
	m, err := mpsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	trace, err := cdr.OpenReaderAt(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	res, err := race.Analyze(context.Background(), race.FromTrace(trace), race.Options{Program: img, TLSSize: img.TLS.MemSize})
	if err != nil {
		t.Fatal(err)
	}
	return &run{img, trace, res}
}

func TestPrograms(t *testing.T) {
	for _, p := range examples.Programs() {
		if !p.Races {
			continue
		}
		elf, err := examples.ELF(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			r := recordRun(t, elf, p.Args, seed+1, cdr.Options{})
			out, err := Analyze(context.Background(), r.trace, r.img, r.res, Options{})
			if err != nil {
				t.Fatal(p.Name, err)
			}
			t.Logf("%s seed %d: %d races, stats %+v", p.Name, seed, len(r.res.Races), out.Stats)
			line := func(pc uint64) int {
				if f := r.img.Frames(pc); len(f) > 0 {
					return f[0].Line
				}
				return 0
			}
			for i, v := range out.Verdicts {
				x := &r.res.Races[i].First
				t.Logf("  R%d lines %d %d dyn %d: %v %v by %v checked %d/%d %s", i+1, line(x.Later.PC), line(x.Earlier.PC), r.res.Races[i].Dynamic, v.Status, v.Causes, v.By, v.Explained, v.Checked, v.Reason)
				for _, s := range v.Chain {
					t.Logf("      %v T%d %x line %d  %x+%d", s.Kind, s.Thread, s.PC, line(s.PC), s.Address, s.Size)
				}
			}
		}
	}
}
