// Package recorded runs the embedded examples and keeps their traces in memory.
// It is for tests only.
package recorded

import (
	"bytes"
	"context"
	"io"
	"testing"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Example runs an example without arguments, under the simulator's default policy.
// Observers receive the same run.
func Example(t testing.TB, name string, seed uint64, also ...event.Observer) *cdr.Trace {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	trace, _ := Run(t, elf, []string{name}, seed, also...)
	return trace
}

// Run is Example for any static executable. The first argument is its name.
func Run(t testing.TB, elf []byte, args []string, seed uint64, also ...event.Observer) (*cdr.Trace, *image.Space) {
	t.Helper()
	file, img := File(t, elf, args, seed, also...)
	return Open(t, file), img
}

// Open opens a trace that File recorded.
func Open(t testing.TB, file []byte) *cdr.Trace {
	t.Helper()
	trace, err := cdr.OpenReaderAt(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// File is Run, but returns the trace as a file.
func File(t testing.TB, elf []byte, args []string, seed uint64, also ...event.Observer) ([]byte, *image.Space) {
	t.Helper()
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	rec, err := recorder.New(&file, recorder.Options{Image: elf, Meta: format.Meta{Schedule: true, Program: args[0], Seed: seed}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := mpsim.Config{Image: img, Args: args, Stdout: io.Discard, Stderr: io.Discard, Seed: seed,
		Observer: event.Tee(append([]event.Observer{rec}, also...)...)}
	cfg.Hooks, cfg.HookAt = hook.New(img)
	m, err := mpsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), img
}
