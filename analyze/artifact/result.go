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
	// consequence of another race, by address or by order.
	Artifact
	// Unknown: no instance was seen to be independent, but the
	// data flow of some could not be followed to its end.
	Unknown
)

// By is on what grounds a race is a consequence of another one.
type By uint8

const (
	// ByAddress: the racy value decided which address was accessed. With the
	// cause repaired it may be another one; the race stays if it is the same.
	ByAddress By = iota
	// ByBranch: the racy value decided only that an access was executed. Such a
	// race is none of the cause's artifacts: it stays when the cause is repaired.
	ByBranch
	// ByOrder: the accesses are ordered once the write and the read of the cause
	// are a release and an acquire.
	ByOrder
	// ByEventControl: the paper's own relation, which counts program order on
	// the reading side too; see [Result.EventControlled].
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
	// Causes are the races, by their indices, that an artifact is a consequence
	// of: by order each of them alone, or with Together all of them at once; by
	// address that of the first instance first. Following first causes leads to a
	// race that has none.
	Causes   []int
	Together bool
	By       By
	Chain    []Step // of the first instance, from the racy write to the artifact
	// Checked dynamic instances were looked at, Explained of them are
	// consequences. Checked is less than the race's dynamic count when there
	// are too many, or when an independent one was found.
	Checked, Explained uint64
	Reason             string // of Unknown: what was missing
	// Behind are the races whose racy values decided, by branches, that the
	// accesses of the first instance were executed. Of a race that is no
	// artifact.
	Behind []int
	// Controlled are the races whose writes event-control both sides of the
	// first instance, as the paper has it. Only with Options.EventControl.
	Controlled []int
}

// Result is what was found about the races of a run, in their order.
type Result struct {
	Verdicts []Verdict
	Stats    Stats
}

// EventControlled has the paper's own relation in place of the other grounds:
// every race that others event-control ([Verdict.Controlled]) is an artifact of
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

// unrecorded is the reason of verdicts that want addresses which the trace does
// not have.
const unrecorded = "an address was not recorded"

// Unrecorded reports whether some verdict is Unknown for want of addresses that a
// recording of all accesses would have.
func (r *Result) Unrecorded() bool {
	return slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Status == Unknown && v.Reason == unrecorded })
}

// Stats says how much work an analysis was.
type Stats struct {
	Records int // runs of accesses of racing instructions
	Nodes   int // instructions on the way, each once
	Steps   int // searches in the trace
}

// Options of an analysis. The zero value is the default.
type Options struct {
	// Brief asks for no more than which races are artifacts of which: no chains,
	// nothing about branches.
	Brief bool
	// EventControl asks for [Verdict.Controlled].
	EventControl bool
	// Progress is called when a race has been judged; it may be nil.
	Progress func()
	// Instances is how many dynamic instances of a race are looked at. 0: 256.
	Instances int
	// Steps bounds the searches in the trace for one race, TotalSteps for all.
	// A race for which they do not suffice is Unknown. 0: 20000 and 100000, so
	// that a second is not exceeded by much.
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
		o.Steps = 20_000
	}
	if o.TotalSteps <= 0 {
		o.TotalSteps = 100_000
	}
	if o.Records <= 0 {
		o.Records = 1 << 20
	}
}
