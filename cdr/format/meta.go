package format

import (
	"encoding/json"
	"fmt"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// metaVersion is the version of the meta record's fields. Fields are only added.
// The version changes when a reader that ignores new fields would be wrong.
const metaVersion = 1

// Mode says which representation of PPoPP 2003, section 2.3, is recorded.
type Mode string

const (
	ModeCDR Mode = "cdr" // control flow and, for each load and store, its addresses
	ModeCOR Mode = "cor" // control flow only
	ModeDOR Mode = "dor" // one string of accesses and sync events a thread
	// ModeSchedule is none of these. The trace holds what a rerun needs (the program,
	// its input, and the turns of the threads), and nothing of what the threads did.
	ModeSchedule Mode = "schedule"
)

// Alphabet says what a terminal of the control-flow string stands for.
type Alphabet string

const (
	AlphabetPath  Alphabet = "path"  // an acyclic path of blocks
	AlphabetBlock Alphabet = "block" // one block
)

// Control says how control flow is stored in the file.
type Control string

const (
	ControlWPP Control = "wpp" // as grammars: whole program paths
	// ControlAPP is arithmetic program paths: directions of branches, which take less
	// time to record. Grammars are built from them on demand.
	ControlAPP Control = "app"
)

// Meta is the description of a trace. It is stored as JSON, once when recording starts
// and once, with the outcome, when it ends.
type Meta struct {
	Version   int      `json:"version"`
	Tool      string   `json:"tool,omitempty"` // program and version that recorded
	Program   string   `json:"program,omitempty"`
	Argv0     string   `json:"argv0,omitempty"` // the guest's argv[0], if that is not Program
	Args      []string `json:"args,omitempty"`  // without the program's name
	Env       []string `json:"env,omitempty"`   // from --env, KEY=VALUE
	Seed      uint64   `json:"seed"`
	Policy    string   `json:"policy,omitempty"`  // of the scheduler
	Quantum   uint64   `json:"quantum,omitempty"` // instructions
	Images    string   `json:"images,omitempty"`  // directory of the executable and shared objects, relative to that of the trace; "": they are in the trace
	CPUs      int      `json:"cpus,omitempty"`    // processors that the program saw; 0 means 8
	Depth     int      `json:"depth,omitempty"`   // of policy pct
	Steps     uint64   `json:"steps,omitempty"`   // of policy pct: the number of steps over which it spreads its changes of priority
	Targets   string   `json:"targets,omitempty"` // of policy coverage, in the form that mpsim.ParseTargets reads
	Mode      Mode     `json:"record"`
	Alphabet  Alphabet `json:"alphabet"`
	Control   Control  `json:"control,omitempty"`   // empty means ControlWPP
	Functions []string `json:"functions,omitempty"` // the only functions whose control flow is recorded; empty means all
	Keep      string   `json:"keep,omitempty"`      // "shared" or "all"
	Schedule  bool     `json:"schedule,omitempty"`  // the order of accesses between events is recorded
	World     *World   `json:"world,omitempty"`     // of ModeSchedule; without it, the caller must supply the environment of a rerun

	// Outcome is nil in a trace that was not closed.
	Outcome *event.Outcome `json:"outcome,omitempty"`
	// ThreadInsts counts the instructions of each thread, including those inside
	// hooked functions. It is empty in a trace that was not closed.
	ThreadInsts []uint64 `json:"thread_insts,omitempty"`

	// Complete and Epochs are set when a trace is opened.
	Complete bool `json:"-"`
	Epochs   int  `json:"-"`
}

// World is the environment of a run, apart from the program, its arguments and
// its input.
type World struct {
	Root       string `json:"root,omitempty"` // the directory that the program saw as /
	HangInsts  uint64 `json:"hang_limit,omitempty"`
	MaxMemory  uint64 `json:"max_memory,omitempty"` // bytes
	MaxThreads int    `json:"max_threads,omitempty"`
}

func (m *Meta) Encode() ([]byte, error) {
	m.Version = metaVersion
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode trace meta: %w", err)
	}
	return b, nil
}

func DecodeMeta(b []byte) (Meta, error) {
	var m Meta
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("meta: %w: %w", tracefmt.ErrMalformed, err)
	}
	if m.Version != metaVersion {
		return m, fmt.Errorf("meta: %w %d", tracefmt.ErrVersion, m.Version)
	}
	switch m.Mode {
	case ModeCDR, ModeCOR, ModeDOR, ModeSchedule:
	default:
		return m, fmt.Errorf("meta: record mode %q: %w", m.Mode, tracefmt.ErrMalformed)
	}
	if m.Control != "" && m.Control != ControlWPP && m.Control != ControlAPP {
		return m, fmt.Errorf("meta: control flow as %q: %w", m.Control, tracefmt.ErrMalformed)
	}
	return m, nil
}
