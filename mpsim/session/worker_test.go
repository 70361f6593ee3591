package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/examples/golang"
	"hindsight/mpsim"
)

// guest is a program whose runs are compared.
type guest struct {
	name, file string
	args       []string
}

// guests returns static, dynamic, OpenMP and Go programs.
func guests(t *testing.T) []guest {
	t.Helper()
	dir := t.TempDir()
	var all []guest
	add := func(name string, elf []byte, err error, args ...string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(file, elf, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, guest{name, file, args})
	}
	names := []string{"bank", "fig7", "race_counter", "norace_list", "race_publish", "race_early_free", "race_trylock", "norace_singleton"}
	if cross.Long() {
		names = nil
		for i, p := range examples.Programs() {
			if i%4 == 0 {
				names = append(names, p.Name)
			}
		}
	}
	for _, name := range names {
		p, ok := examples.Lookup(name)
		if !ok {
			continue
		}
		elf, err := examples.ELF(name)
		add(name, elf, err, p.Args...)
	}
	elf, err := golang.ELF()
	add("go", elf, err, "race_go_map")
	if _, err := exec.LookPath(cross.Compiler); err != nil && os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "" {
		t.Log("without a cross compiler: no dynamically linked programs and no OpenMP")
		return all
	}
	src := t.TempDir()
	if err := cross.Unpack(src); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bank", "race_list"} {
		p, ok := examples.Lookup(name)
		if !ok {
			t.Fatal(name)
		}
		out := filepath.Join(dir, name+"-dynamic")
		if err := cross.Build(t.Context(), src, p, out, cross.Options{Dynamic: true}); err != nil {
			t.Fatal(err)
		}
		all = append(all, guest{name + "-dynamic", out, p.Args})
	}
	if err := os.WriteFile(filepath.Join(src, "team.c"), []byte(teamSource), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flag := range map[string]string{"omp": "-static", "omp-dynamic": "-O1"} {
		out := filepath.Join(dir, name)
		if text, err := exec.CommandContext(t.Context(), cross.Compiler, "-g", "-fopenmp", flag, "-o", out, filepath.Join(src, "team.c")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		all = append(all, guest{name, out, nil})
	}
	return all
}

// teamSource is an OpenMP program with a race.
const teamSource = `#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	long sum = 0, *seen = malloc(64 * sizeof *seen), lost = 0;
	#pragma omp parallel for num_threads(3) schedule(dynamic, 2) reduction(+:sum)
	for (int i = 0; i < 40; i++) {
		sum += i;
		seen[i % 7] = i;
		#pragma omp critical
		lost++;
	}
	#pragma omp parallel num_threads(2)
	#pragma omp single
	for (int i = 0; i < 4; i++) {
		#pragma omp task firstprivate(i)
		seen[i] += i;
	}
	printf("%ld %ld\\n", sum, lost);
	return 0;
}
`

// TestWorkerTraces checks that the traces of the runs that a worker makes one after another
// equal those of separate runs, byte for byte.
func TestWorkerTraces(t *testing.T) {
	seeds := uint64(3)
	if cross.Long() {
		seeds = 5
	}
	for _, g := range guests(t) {
		for _, policy := range []mpsim.Policy{mpsim.Random, mpsim.RoundRobin, mpsim.PCT} {
			t.Run(fmt.Sprint(g.name, "/", policy), func(t *testing.T) {
				t.Parallel()
				one, err := Load(g.file, "")
				if err != nil {
					t.Fatal(err)
				}
				one.Args, one.Policy, one.Depth, one.MaxInsts = g.args, policy, 3, 3_000_000
				e := newExploration(ExploreOptions{Run: *one, Dir: t.TempDir()})
				e.o.Run.defaults()
				w := &worker{e: e}
				dir := t.TempDir()
				for seed := range seeds {
					apart, err := Load(g.file, "")
					if err != nil {
						t.Fatal(err)
					}
					apart.Args, apart.Policy, apart.Depth, apart.MaxInsts = one.Args, one.Policy, one.Depth, one.MaxInsts
					apart.Seed, apart.Out, apart.Scratch = seed, filepath.Join(dir, "apart.hst"), true
					if _, err := apart.Record(t.Context(), Streams{}); err != nil {
						t.Fatal(err)
					}
					if err := w.traceOf(t.Context(), seed, filepath.Join(dir, "together.hst")); err != nil {
						t.Fatal(err)
					}
					want, err := os.ReadFile(filepath.Join(dir, "apart.hst"))
					if err != nil {
						t.Fatal(err)
					}
					got, err := os.ReadFile(filepath.Join(dir, "together.hst"))
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("seed %d: a trace of %d bytes, apart %d bytes", seed, len(got), len(want))
					}
				}
			})
		}
	}
}

// traceOf makes the run of a seed and writes its trace, regardless of its class.
func (w *worker) traceOf(ctx context.Context, seed uint64, file string) error {
	r := w.e.o.Run
	r.Seed, r.Out, r.Scratch, r.warm = seed, file, true, &w.warm
	w.run, w.file = &r, nil
	if _, err := w.record(ctx, Streams{}); err != nil {
		return err
	}
	if err := w.trace(); err != nil {
		return err
	}
	return w.file.Close()
}
