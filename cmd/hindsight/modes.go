package main

import (
	"fmt"
	"strings"

	"hindsight/cdr"
	"hindsight/mpsim"
)

// hasAccesses says what keeps races from being found in a trace that holds one
// half of a run only, and how to make the run again with both.
func hasAccesses(meta cdr.Meta) error {
	var missing string
	switch meta.Mode {
	case cdr.ModeCOR:
		missing = "the addresses of the accesses"
	case cdr.ModeDOR:
		missing = "the control flow that says which instructions made the accesses"
	default:
		return nil
	}
	return fmt.Errorf("recorded with --record %s, without %s; to find races record the same run again: %s", meta.Mode, missing, runCommand(meta))
}

// runCommand is the command that makes the run of a trace again, as far as the
// trace knows: not with --root, --stdin or limits.
func runCommand(meta cdr.Meta) string {
	words := []string{"hindsight run --sched", meta.Policy, "--seed", fmt.Sprint(meta.Seed)}
	if meta.Policy == mpsim.PCT.String() {
		words = append(words, "--depth", fmt.Sprint(meta.Depth))
	}
	if policy, ok := mpsim.ParsePolicy(meta.Policy); ok && meta.Quantum != uint64(mpsim.QuantumOf(policy, 0)) {
		words = append(words, "--quantum", fmt.Sprint(meta.Quantum))
	}
	for _, kv := range meta.Env {
		words = append(words, "--env", kv)
	}
	return strings.Join(append(append(words, meta.Program), meta.Args...), " ")
}
