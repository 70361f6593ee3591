package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
)

const qemu = "qemu-riscv64-static"

// TestExamplesLikeQemu builds every example at -O0 and -O2 and runs it under qemu and
// under the simulator, the kernels with 1 to 8 threads. Status and output must be the
// same, except for outputs that depend on the schedule.
func TestExamplesLikeQemu(t *testing.T) {
	needTools(t, cross.Compiler, qemu)
	sources := t.TempDir()
	if err := cross.Unpack(sources); err != nil {
		t.Fatal(err)
	}
	for _, p := range examples.Programs() {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(p.Name+level, func(t *testing.T) {
				t.Parallel()
				program := filepath.Join(t.TempDir(), p.Name)
				if err := cross.Build(t.Context(), sources, p, program, cross.Options{Level: level}); err != nil {
					t.Fatal(err)
				}
				threads := []string{""}
				if p.Group == examples.Kernel {
					threads = []string{"1", "2", "4", "8"}
				}
				for _, n := range threads {
					args := slices.Clone(p.Args)
					if n != "" {
						args = append(args, "-p", n)
					}
					likeQemu(t, p, program, args)
				}
			})
		}
	}
}

func likeQemu(t *testing.T, p examples.Program, program string, args []string) {
	t.Helper()
	var want, got bytes.Buffer
	cmd := exec.Command(qemu, append([]string{program}, args...)...)
	cmd.Stdout, cmd.Stderr = &want, &want
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	img, err := image.Load(program)
	if err != nil {
		t.Fatal(err)
	}
	r := &session.Run{Image: img, Program: program, Args: args, Policy: mpsim.Random, Seed: 1, Mode: "none"}
	done, err := r.Record(t.Context(), session.Streams{Out: &got, Err: &got})
	if err != nil {
		t.Fatal(err)
	}
	if status := cmd.ProcessState.ExitCode(); p.Status != examples.AnyStatus && done.Status != status {
		t.Errorf("%s: status %d, under qemu %d: %s", strings.Join(args, " "), done.Status, status, done.Message)
	}
	if p.Stdout != "" && got.String() != want.String() {
		t.Errorf("%s: output %q, under qemu %q", strings.Join(args, " "), &got, &want)
	}
}
