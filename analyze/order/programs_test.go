package order

import (
	"bytes"
	"context"
	"io"
	"testing"

	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
)

// TestProgramsAgreeWithRace compares what happens-before reports here, access
// by access, with what package race finds in the compressed trace.
func TestProgramsAgreeWithRace(t *testing.T) {
	for i, p := range examples.Programs() {
		if !cross.Long() && i%3 != 0 {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			trace, opts := recorded(t, p)
			res, err := race.Analyze(context.Background(), race.FromTrace(trace), opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, without := range []bool{false, true} {
				sameInAll(t, trace, Options{Program: opts.Program, TLSSize: opts.TLSSize, NoLockset: without})
			}
			got := found(t, trace, Options{Program: opts.Program, TLSSize: opts.TLSSize})
			for i := range res.Races {
				k := keyOf(res.Races[i].First.Later.Place, res.Races[i].First.Earlier.Place)
				if !got[k].Has(HB) {
					t.Errorf("%v is missing", k)
				}
				got[k] &^= 1 << HB
			}
			for k, s := range got {
				if s.Has(HB) {
					t.Errorf("%v is no race", k)
				}
			}
		})
	}
}

func recorded(t *testing.T, p examples.Program) (*cdr.Trace, race.Options) {
	t.Helper()
	elf, err := examples.ELF(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	return recordedELF(t, p.Name, elf, p.Args...)
}

func recordedELF(t testing.TB, name string, elf []byte, args ...string) (*cdr.Trace, race.Options) {
	t.Helper()
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	rec, err := cdr.NewRecorder(&file, cdr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := mpsim.Config{Image: img, Args: append([]string{name}, args...), Stdout: io.Discard, Stderr: io.Discard, Seed: 1, Observer: rec}
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
	return trace, race.Options{Program: img, TLSSize: img.TLSSize()}
}
