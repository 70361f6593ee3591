package artifact

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Status is what is known of a race.
type Status uint8

const (
	// Own: the race does not depend on another one.
	Own Status = iota
	// Artifact: each of its dynamic instances that was looked at is a
	// consequence of another race.
	Artifact
	// Unknown: no instance stands by itself as far as could be seen, but the
	// data flow of some could not be followed to its end.
	Unknown
)

var statusNames = [...]string{"own", "artifact", "unknown"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "status?"
}

// By is how the racy value led to an artifact.
type By uint8

const (
	ByAddress By = iota // it decided an address that was accessed
	ByBranch            // it decided a branch (or a call) that led to an access
)

func (b By) String() string {
	if b == ByBranch {
		return "branch"
	}
	return "address"
}

// StepKind says what an instruction in a chain does.
type StepKind uint8

const (
	RacyWrite StepKind = iota // the writing side of the cause
	RacyRead                  // its reading side
	Compute                   // from registers to a register
	Load                      // a value comes back from memory
	Store                     // a value is kept in memory
	Decide                    // a branch, or a call or jump through a register
	Call                      // a call that a branch led to; the creation of a thread
	Access                    // the side of the artifact
)

var stepNames = [...]string{"racy-write", "racy-read", "compute", "load", "store", "branch", "call", "access"}

func (k StepKind) String() string {
	if int(k) < len(stepNames) {
		return stepNames[k]
	}
	return "step?"
}

// Step is an instruction on the way from a racy value to an artifact.
type Step struct {
	Kind    StepKind
	Thread  event.ThreadID
	PC      uint64
	Address uint64 // of memory that it accesses, 0 if none is known
	Size    uint64 // bytes there
}

// Verdict is what was found about a race.
type Verdict struct {
	Status Status
	// Causes are the races, by their indices, that it is a consequence of:
	// that of the first instance first. Following first causes leads to a
	// race that has none.
	Causes []int
	By     By     // of the first instance
	Chain  []Step // of the first instance, from the racy write to the artifact
	// Checked dynamic instances were looked at, Explained of them are
	// consequences. Checked is less than the race's dynamic count when there
	// are too many, or when one that stands by itself was found.
	Checked, Explained uint64
	Reason             string // of Unknown: what was missing
}

// Result is what was found about the races of a run, in their order.
type Result struct {
	Verdicts []Verdict
	Stats    Stats
}

// Artifacts is the number of races that are artifacts.
func (r *Result) Artifacts() (n int) {
	for i := range r.Verdicts {
		if r.Verdicts[i].Status == Artifact {
			n++
		}
	}
	return n
}

// unrecorded is the reason of verdicts that want addresses which the trace does
// not have.
const unrecorded = "an address was not recorded"

// Unrecorded tells whether some verdict is Unknown for want of addresses that a
// recording of all accesses would have.
func (r *Result) Unrecorded() bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Status == Unknown && v.Reason == unrecorded })
}

// Root is the race that first causes lead to from race i: i itself when it is
// no artifact.
func (r *Result) Root(i int) int {
	for range r.Verdicts {
		if v := &r.Verdicts[i]; v.Status == Artifact && len(v.Causes) > 0 {
			i = v.Causes[0]
			continue
		}
		break
	}
	return i
}

// Stats says how much work an analysis was.
type Stats struct {
	Records int // runs of accesses of racing instructions
	Nodes   int // instructions on the way, each once
	Steps   int // searches in the trace
}

// Options of an analysis. The zero value is the default.
type Options struct {
	// Instances is how many dynamic instances of a race are looked at. 0: 256.
	Instances int
	// Steps bounds the searches in the trace for one race, TotalSteps for all.
	// A race for which they do not suffice is Unknown. 0: 200000 and
	// 1000000.
	Steps, TotalSteps int
	// Records bounds the runs of accesses of racing instructions that are kept.
	// 0: 1048576.
	Records int
}

func (o *Options) defaults() {
	if o.Instances <= 0 {
		o.Instances = 256
	}
	if o.Steps <= 0 {
		o.Steps = 200_000
	}
	if o.TotalSteps <= 0 {
		o.TotalSteps = 1_000_000
	}
	if o.Records <= 0 {
		o.Records = 1 << 20
	}
}
