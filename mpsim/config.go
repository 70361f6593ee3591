package mpsim

import (
	"errors"
	"io"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// Policy is how the scheduler chooses the next thread and how long it runs.
type Policy uint8

const (
	// RoundRobin runs the runnable threads in turn. Each runs for a quantum: Config.Quantum
	// and up to a sixteenth more, in a fixed pattern.
	RoundRobin Policy = iota
	// Random runs a random thread for a quantum of random length, both drawn from
	// Config.Seed. Config.Quantum is the average length. Without it, lengths vary widely,
	// and threads change at switch points, too; see vary.go.
	Random
	// PCT is probabilistic concurrency testing: threads have random priorities, and the
	// thread with the highest one runs. At Config.Depth-1 random steps, a priority is
	// lowered. See pct.go.
	PCT
	// Coverage is Random, but holds threads at Config.Targets, to produce orders that
	// earlier runs did not show. See targets.go.
	Coverage
)

var policyNames = [...]string{"rr", "random", "pct", "coverage"}

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

// DefaultQuantum is the quantum in instructions of a Config that sets none, for policies
// other than Random and Coverage.
const DefaultQuantum = 10000

// QuantumOf returns the quantum in instructions that a Config with this policy and quantum
// has, or 0 for the varying quanta of Random and Coverage.
func QuantumOf(policy Policy, quantum int) int {
	if quantum == 0 && policy != Random && policy != Coverage {
		return DefaultQuantum
	}
	return quantum
}

const maxQuantum = 1 << 30

// Config describes a run. Only Image is required.
type Config struct {
	Image *image.Space

	Args  []string // argv; empty means {"program"}
	Env   []string // "NAME=value"
	Stdin io.Reader
	// Stdout and Stderr receive what the guest writes; nil discards it.
	Stdout, Stderr io.Writer

	// Root is a directory that the guest sees as "/"; "" means none. It is only read. With
	// Writable, the guest can write everywhere, but in memory only: see Result.Written.
	Root     string
	Writable bool
	Over     string                // directory whose files hide those of Root; "" means none
	Under    []string              // directories whose files show where Root has none
	Objects  map[string]vfs.Object // files that the guest sees whatever Root contains
	CPUs     int                   // processors that the guest sees; 0 means 8

	Policy  Policy
	Seed    uint64   // of the scheduler and of everything that is random to the guest
	Quantum int      // instructions that a thread runs before another may; 0: see QuantumOf; at most 2^30
	Depth   int      // of PCT: number of ordering constraints to aim for, from 1; 0 means DefaultDepth
	Targets []Target // of Coverage
	Steps   uint64   // of PCT: Result.Steps of the same run with Depth 1, or a guess; 0 means 2^20

	MaxInsts uint64 // the run ends after about this number of instructions; 0 means no limit
	// HangInsts ends a run after this number of instructions during which its threads only
	// waited, or executed loops that no other thread will end. 0 means never.
	HangInsts uint64
	MaxMemory uint64 // bytes of guest memory; 0 means mem.DefaultMaxBytes
	// MaxThreads limits the threads that are alive at the same time. Creating one more ends
	// the run. 0 means linux.DefaultMaxTasks.
	MaxThreads int

	// Schedule, if not nil, says who runs. After its last step, or where it cannot be
	// followed (Result.Diverged), the policy continues the run.
	Schedule *schedule.Schedule
	// OnlySchedule ends the run after the last step of Schedule, or where it cannot
	// be followed, as MaxInsts would.
	OnlySchedule bool
	// Trail asks for the schedule of the run, in Result.Schedule.
	Trail bool
	// Stop is called when a hart is about to execute an instruction of [Machine.BreakAt].
	// If it returns true, the hart's slice ends before that instruction. Stuck is called
	// when no thread can continue while some are held. Unless it releases one or pauses the
	// run, that is a deadlock. Both are called on the goroutine of the run.
	Stop  func(h *Hart) bool
	Stuck func()

	// Sliced, if not nil, is called after each slice with the hart that ran. It is
	// called on the goroutine of the run.
	Sliced func(h *Hart)

	// Journal, if not nil, is filled by the run, for a later [Replay].
	Journal *Journal

	// Warm, if not nil, holds what earlier runs of the program found out about its code.
	// The run adds to it for later ones.
	Warm *Warm

	// Observer observes the run; nil records nothing.
	Observer event.Observer
	// Hooks is called when a hart enters the functions at HookAt, which maps addresses to
	// the function numbers that Hooks knows. Hooks are called even without an Observer.
	Hooks  Hooks
	HookAt map[uint64]int
}

// ErrConfig wraps errors about an invalid Config.
var ErrConfig = errors.New("mpsim: bad configuration")

func (c *Config) kernel() linux.Config {
	var files *vfs.Contents
	if c.Warm != nil {
		files = &c.Warm.files
	}
	return linux.Config{
		Contents: files,
		Args:     c.Args, Env: c.Env, Seed: c.Seed, CPUs: c.CPUs,
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		Root: c.Root, Writable: c.Writable, Over: c.Over, Under: c.Under, Objects: c.Objects, MaxTasks: c.MaxThreads,
	}
}
