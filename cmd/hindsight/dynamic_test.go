package main

import (
	"os"
	"slices"
	"testing"

	"hindsight/examples/cross"
)

// sampled is how many twins of these files share one run in TestDynamicTwins, unless
// HINDSIGHT_ALL_TWINS asks for all twins of all files (make dynamic).
const sampled = 24

// alwaysRun are pairs about what differs between static and shared libraries.
var alwaysRun = []string{"localtime", "strtok", "drand48", "named", "unlocked"}

// dynamicFailing are the twins known to get the wrong verdict when they are linked
// dynamically, with the reason. See syncFailing.
var dynamicFailing = map[string]string{
	"hidden_cxx.cc/race_unsynced": "nothing names the buffer of cout in a shared libstdc++",
}

var sampledFiles = []string{"hidden.c", "kernel.c", "cxx_locks.cc", "omp_tasks.c", "omp_fortran.f90"}

// libraries makes qemu find the libraries of a dynamically linked program.
func (b syncBuild) libraries() (flags []string) {
	for _, dir := range b.files.Under {
		flags = append(flags, "-L", dir)
	}
	return flags
}

// TestDynamicTwins builds the twins of examples/sync as compilers do by default, position
// independent and with shared libraries. The verdicts must be those of the static
// programs.
func TestDynamicTwins(t *testing.T) {
	if !cross.Long() {
		t.Skip("runs several dozen small programs: set HINDSIGHT_LONG=1")
	}
	needTools(t, cross.Compiler, "riscv64-linux-gnu-g++", qemu)
	all, every := os.Getenv("HINDSIGHT_ALL_TWINS") != "", sampled
	if all {
		every = 1
	}
	dir := t.TempDir()
	for _, g := range syncGroups {
		if !all && !slices.Contains(sampledFiles, g.File) {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			t.Parallel()
			builds := []syncBuild{g.build(t, dir, "-O2")}
			for i, p := range syncPairs(t, g.File) {
				if i%every != 0 && !slices.Contains(alwaysRun, p.Name) {
					continue
				}
				for _, broken := range []bool{false, true} {
					twin := "norace_" + p.Name
					if broken {
						twin = "race_" + p.Name
					}
					t.Run(twin, func(t *testing.T) {
						t.Parallel()
						_, err := checkTwin(t.Context(), builds, p, broken)
						_, wrong := syncFailing[g.File+"/"+twin]
						reason, failing := dynamicFailing[g.File+"/"+twin]
						switch {
						case err != nil && !wrong && !failing:
							t.Error(err)
						case err == nil && failing:
							t.Errorf("gets the right verdict now; take it off the list (%s)", reason)
						}
					})
				}
			}
		})
	}
}
