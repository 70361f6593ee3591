package survey

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/session"
	"hindsight/mpsim/steer"
	"hindsight/tracefmt/numtext"
)

// Command returns the command that exactly repeats one of the runs of an exploration. N
// stands for the seed, and T for the number of threads if the runs use several in turn.
// stdin is the file with the standard input; "": it is empty.
func Command(r *session.Run, teams []int, stdin string) string {
	words := []string{"hindsight run --sched", r.Policy.String()}
	add := func(flag, value string) { words = append(words, flag, steer.Quote(value)) }
	if r.Policy == mpsim.PCT {
		add("--depth", fmt.Sprint(r.Depth))
	}
	if r.Quantum > 0 {
		add("--quantum", fmt.Sprint(r.Quantum))
	}
	for _, kv := range r.Env {
		add("--env", kv)
	}
	if len(teams) > 0 {
		add("--env", session.TeamVariable+"=T")
	}
	if r.Root != "" {
		add("--root", r.Root)
	}
	if r.CPUs != 0 {
		add("--cpus", fmt.Sprint(r.CPUs))
	}
	if r.MaxMemory != mem.DefaultMaxBytes {
		add("--max-memory", numtext.Size(r.MaxMemory))
	}
	if r.MaxThreads != linux.DefaultMaxTasks {
		add("--max-threads", fmt.Sprint(r.MaxThreads))
	}
	if r.MaxInsts > 0 {
		add("--max-instructions", fmt.Sprint(r.MaxInsts))
	}
	add("--stdin", cmp.Or(stdin, os.DevNull))
	words = append(words, "--seed N", steer.Quote(r.Program))
	for _, a := range r.Args {
		words = append(words, steer.Quote(a))
	}
	return strings.Join(words, " ")
}
