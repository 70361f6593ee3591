package mpsim

import (
	"errors"
	"io"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// Policy is how the scheduler chooses the next thread and how long it runs.
type Policy uint8

const (
	// RoundRobin gives each runnable thread a quantum in turn: Config.Quantum and
	// up to a sixteenth more, in a fixed pattern.
	RoundRobin Policy = iota
	// Random gives a random thread a quantum of random length, from
	// Config.Seed. With a Config.Quantum its length is that on average; without
	// one lengths vary widely and threads change at switch points too: see vary.go.
	Random
	// PCT is probabilistic concurrency testing: the thread with the highest of
	// the random priorities runs, and Config.Depth-1 times a priority is lowered
	// at a random step. See pct.go.
	PCT
)

var policyNames = [...]string{"rr", "random", "pct"}

func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return "policy?"
}

// ParsePolicy is the inverse of [Policy.String].
func ParsePolicy(s string) (Policy, bool) {
	for p, name := range policyNames {
		if name == s {
			return Policy(p), true
		}
	}
	return 0, false
}

// DefaultQuantum is the quantum of a Config that sets none, in instructions,
// for policies other than Random.
const DefaultQuantum = 10000

// QuantumOf is the quantum of a Config with that policy and quantum; 0 for the
// varied ones of Random.
func QuantumOf(policy Policy, quantum int) int {
	if quantum == 0 && policy != Random {
		return DefaultQuantum
	}
	return quantum
}

const maxQuantum = 1 << 30

// Config is a run to be made. Only Image is needed.
type Config struct {
	Image *image.Space

	Args  []string // argv; empty means {"program"}
	Env   []string // "NAME=value"
	Stdin io.Reader
	// Stdout and Stderr get what the guest writes; nil throws it away.
	Stdout, Stderr io.Writer

	// Root is a directory that the guest sees as "/"; "" means none. It is only
	// read. With Writable the guest can write everywhere, in memory: see
	// Result.Written.
	Root     string
	Writable bool
	Over     string                  // directory whose files show before those of Root; "" means none
	Under    []string                // directories whose files show where Root has none
	Objects  map[string]linux.Object // files that the guest finds whatever Root has there
	CPUs     int                     // processors that the guest sees; 0 means 8

	Policy  Policy
	Seed    uint64 // of the scheduler and of all that looks random to the guest
	Quantum int    // instructions a thread runs before another may; 0: see QuantumOf; at most 2^30
	Depth   int    // of PCT: the number of ordering constraints to try for, from 1; 0 means DefaultDepth
	Steps   uint64 // of PCT: Result.Steps of the same run with Depth 1, or a guess; 0 means 2^20

	MaxInsts uint64 // the run ends after about so many instructions; 0 means no limit
	// HangInsts ends a run that hangs: for so many instructions its threads have
	// waited, and read memory that no other will write. 0 means never.
	HangInsts uint64
	MaxMemory uint64 // bytes of the guest; 0 means mem.DefaultMaxBytes
	// MaxThreads bounds the threads that live at the same time: one more ends
	// the run. 0 means linux.DefaultMaxTasks.
	MaxThreads int

	// Schedule, if not nil, says who runs; after its last step, or where it cannot be
	// followed (Result.Diverged), the policy continues the run.
	Schedule *schedule.Schedule
	// OnlySchedule ends the run after the last step of Schedule, or where it cannot
	// be followed, as MaxInsts would.
	OnlySchedule bool
	// Trail asks for the schedule of the run, in Result.Schedule.
	Trail bool
	// Stop is told when a hart is about to execute an instruction of
	// [Machine.BreakAt]; true ends its slice before that. Stuck is told when no
	// thread can go on while some are held: unless it lets one go or pauses the
	// run, that is a deadlock. Both are called on the goroutine of the run.
	Stop  func(h *Hart) bool
	Stuck func()

	// Sliced, if not nil, is told after each slice which hart ran. It is called on the
	// goroutine of the run.
	Sliced func(h *Hart)

	// Journal, if not nil, is filled by the run, for a [Replay] of it.
	Journal *Journal

	// Observer is told what happens; nil records nothing.
	Observer event.Observer
	// Hooks is called when a hart enters the functions at HookAt, which maps
	// addresses to the function numbers that Hooks knows. Without Observer
	// hooks are called all the same.
	Hooks  Hooks
	HookAt map[uint64]int
}

// ErrConfig wraps what is wrong with a Config.
var ErrConfig = errors.New("mpsim: bad configuration")

func (c *Config) kernel() linux.Config {
	return linux.Config{
		Args: c.Args, Env: c.Env, Seed: c.Seed, CPUs: c.CPUs,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		Root: c.Root, Writable: c.Writable, Over: c.Over, Under: c.Under, Objects: c.Objects, MaxTasks: c.MaxThreads,
	}
}
