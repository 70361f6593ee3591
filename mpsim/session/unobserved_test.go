package session

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hindsight/examples/golang"
	"hindsight/mpsim"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// TestUnobserved checks that a run of a Go program is the same whether it is recorded or
// not. What the hooks know about goroutines determines where threads switch.
func TestUnobserved(t *testing.T) {
	elf, err := golang.ELF()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gallery")
	if err := os.WriteFile(file, elf, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"race_go_map", "norace_go_append"} {
		for _, policy := range []mpsim.Policy{mpsim.Random, mpsim.PCT} {
			for seed := range uint64(4) {
				var ended [2][]schedule.Step
				for i, observer := range []event.Observer{nil, event.Tee()} {
					r, err := Load(file, "")
					if err != nil {
						t.Fatal(err)
					}
					r.Args, r.Policy, r.Depth, r.Seed = []string{name}, policy, 3, seed
					r.Trail = true
					res, err := r.Simulate(t.Context(), Streams{}, observer)
					if err != nil {
						t.Fatal(err)
					}
					ended[i] = res.Schedule.Steps
				}
				if !slices.Equal(ended[0], ended[1]) {
					t.Errorf("%s, %v, seed %d: another schedule when observed", name, policy, seed)
				}
			}
		}
	}
}
