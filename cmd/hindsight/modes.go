package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

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

// errNothingRecorded says that nothing can be said of a run.
var errNothingRecorded = errors.New("the recording was cut off before its first epoch was written: nothing is known of the run (--allow-incomplete takes it as it is)")

// hasRun says whether there is something of the run in a trace. One that is
// incomplete and has no access shows no race because it shows nothing.
func hasRun(t *cdr.Trace) error {
	if t.Info().Complete {
		return nil
	}
	for _, th := range t.Threads() {
		if th.Accesses > 0 {
			return nil
		}
	}
	return errNothingRecorded
}

// allowIncomplete adds the flag --allow-incomplete.
func allowIncomplete(flags *pflag.FlagSet, allow *bool) {
	flags.BoolVar(allow, "allow-incomplete", false, "take a trace in which nothing of the run was written as one of an empty run")
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
