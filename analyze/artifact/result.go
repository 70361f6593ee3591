package artifact

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Status says what is known about a race.
type Status uint8

const (
	// Own: the race does not depend on another one.
	Own Status = iota
	// Artifact means that each of its examined dynamic instances is a consequence of
	// another race, by address or by order.
	Artifact
	// Unknown means that no instance was found to be independent, but that the data flow
	// of some could not be followed to its end.
	Unknown
)

// By is the reason why a race is a consequence of another one.
type By uint8

const (
	// ByAddress: the racy value decided which address was accessed. If the cause is
	// corrected, the address may be another one. If it is the same, the race remains.
	ByAddress By = iota
	// ByBranch: the racy value only decided that an access was executed. Such a race is
	// not an artifact of the cause: it remains if the cause is corrected.
	ByBranch
	// ByOrder: the accesses are ordered once the write and the read of the cause
	// are a release and an acquire.
	ByOrder
	// ByEventControl: the paper's own relation, which also counts program order on the
	// reading side; see [Result.EventControlled].
	ByEventControl
)

var byNames = [...]string{"address", "branch", "order", "event-control"}

func (b By) String() string { return byNames[b] }

// StepKind says what an instruction in a chain does.
type StepKind uint8

const (
	RacyWrite StepKind = iota // the writing side of the cause
	RacyRead                  // its reading side
	Compute                   // from registers to a register
	Load                      // reads the value back from memory
	Store                     // stores the value in memory
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

// Step is an instruction on the path from a racy value to an artifact.
type Step struct {
	Kind    StepKind
	Thread  event.ThreadID
	PC      uint64
	Address uint64 // of memory that it accesses; 0 if not known
	Size    uint64 // bytes there
}

// Verdict says what was found about a race.
type Verdict struct {
	Status Status
	// Causes are the races, by their indices, of which an artifact is a consequence. By
	// order, each of them suffices alone or, with Together, all of them at once. By
	// address, that of the first instance comes first. Following first causes leads to a
	// race that has none.
	Causes   []int
	Together bool
	By       By
	Chain    []Step // of the first instance, from the racy write to the artifact
	// Checked is the number of dynamic instances that were examined, and Explained how
	// many of them are consequences. Checked is less than the race's dynamic count if
	// there are too many, or if an independent one was found.
	Checked, Explained uint64
	Reason             string // of Unknown: what was missing
	// Behind are the races whose racy values decided, by branches, that the accesses of
	// the first instance were executed. It is set for races that are not artifacts.
	Behind []int
	// Controlled are the races whose writes event-control both sides of the first
	// instance, by the paper's relation. It is only set with Options.EventControl.
	Controlled []int
}

// Result says what was found about the races of a run, in their order.
type Result struct {
	Verdicts []Verdict
	Stats    Stats
}

// EventControlled returns the result by the paper's own relation instead of the other
// reasons: every race that others event-control ([Verdict.Controlled]) is an artifact of
// those.
func (r *Result) EventControlled() *Result {
	out := &Result{Verdicts: make([]Verdict, len(r.Verdicts)), Stats: r.Stats}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		out.Verdicts[i] = Verdict{Controlled: v.Controlled}
		if len(v.Controlled) > 0 {
			out.Verdicts[i] = Verdict{Status: Artifact, Causes: v.Controlled, By: ByEventControl, Checked: 1, Explained: 1, Controlled: v.Controlled}
		}
	}
	out.breakCycles()
	return out
}

// unrecorded is the reason of verdicts that need addresses that are not in the trace.
const unrecorded = "an address was not recorded"

// Unrecorded reports whether a verdict is Unknown because it lacks addresses that a
// recording of all accesses would have.
func (r *Result) Unrecorded() bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Status == Unknown && v.Reason == unrecorded })
}

// Stats says how much work an analysis did.
type Stats struct {
	Records int // runs of accesses of racing instructions
	Nodes   int // instructions on the paths, each once
	Steps   int // searches in the trace
}

// Options of an analysis. The zero value is the default.
type Options struct {
	// Brief only finds out which races are artifacts of which: no chains, nothing about
	// branches.
	Brief bool
	// EventControl also sets [Verdict.Controlled].
	EventControl bool
	// Progress, if not nil, is called after each race.
	Progress func()
	// Instances is the number of dynamic instances of a race that are examined. 0 means
	// 256.
	Instances int
	// Steps limits the searches in the trace for one race, and TotalSteps for all. A race
	// for which they do not suffice is Unknown. 0 means 20000 and 100000, which takes
	// little more than a second.
	Steps, TotalSteps int
	// Records limits the runs of accesses of racing instructions that are kept. 0 means
	// 1048576.
	Records int
}

func (o *Options) defaults() {
	if o.Instances <= 0 {
		o.Instances = 256
	}
	if o.Steps <= 0 {
		o.Steps = 20_000
	}
	if o.TotalSteps <= 0 {
		o.TotalSteps = 100_000
	}
	if o.Records <= 0 {
		o.Records = 1 << 20
	}
}
