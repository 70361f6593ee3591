package analyze

import (
	"errors"

	"hindsight/cdr/format"
	"hindsight/wet"
)

// InfoVersion is the version of the JSON form of an [Info]
// (docs/info.schema.json).
const InfoVersion = 1

// Info describes a trace: what was run and how, what each thread did, and the sizes of
// the parts in bytes. docs/info.schema.json describes its JSON form.
type Info struct {
	Version  int    `json:"version"`
	File     string `json:"file"`
	Complete bool   `json:"complete"`
	// Verified is nil when [Trace.Info] returns. A caller that also calls [Trace.Verify]
	// sets it to the outcome.
	Verified  *bool        `json:"verified,omitempty"`
	Epochs    int          `json:"epochs"`
	Program   string       `json:"program"`
	Args      []string     `json:"args"`
	Seed      uint64       `json:"seed"`
	Policy    string       `json:"policy"`
	Quantum   uint64       `json:"quantum"`
	Depth     int          `json:"depth,omitempty"`
	Steps     uint64       `json:"steps,omitempty"`
	Record    string       `json:"record"`
	Control   string       `json:"control"`
	Functions []string     `json:"functions,omitempty"`
	Alphabet  string       `json:"alphabet"`
	Keep      string       `json:"keep"`
	Status    *int         `json:"status,omitempty"` // exit status of the guest
	Message   string       `json:"message,omitempty"`
	Threads   []ThreadInfo `json:"threads"`
	Sizes     SizesInfo    `json:"sizes"`
	Values    *ValuesInfo  `json:"values,omitempty"` // with run --record wet
}

// ThreadInfo describes what a thread did.
type ThreadInfo struct {
	ID           uint32 `json:"id"`
	Instructions uint64 `json:"instructions"`
	Blocks       uint64 `json:"blocks"`
	Accesses     uint64 `json:"accesses"`
	Sync         uint64 `json:"sync"`
}

// SizesInfo has the sizes of the parts of a trace, in bytes. RawControl and RawData are
// the sizes of the uncompressed trace, as the parallel-trace paper (PPoPP 2003) counts
// them.
type SizesInfo struct {
	File        int64  `json:"file"`
	Control     int64  `json:"control"`
	Data        int64  `json:"data"`
	Sync        int64  `json:"sync"`
	Schedule    int64  `json:"schedule"`
	SynchCounts int64  `json:"synch_counts"`
	Tables      int64  `json:"tables"`
	Image       int64  `json:"image"`
	RawControl  uint64 `json:"raw_control"`
	RawData     uint64 `json:"raw_data"`
}

// ValuesInfo describes the values and dependences in a trace.
type ValuesInfo struct {
	Statements   uint64 `json:"statements"`   // executed
	Nodes        int    `json:"nodes"`        // different paths, and events outside paths
	Executions   uint64 `json:"executions"`   // of nodes
	Results      uint64 `json:"results"`      // executed statements that have a value
	Dependences  uint64 `json:"dependences"`  // between executed statements
	Stored       uint64 `json:"stored"`       // bytes in the file
	Timestamps   uint64 `json:"timestamps"`   // bytes of control flow
	ResultLabels uint64 `json:"result_bytes"` // bytes of values
	EdgeLabels   uint64 `json:"edge_bytes"`   // bytes of dependences
	Tables       uint64 `json:"tables"`       // bytes of code and directories
}

// Info returns what the trace contains. An error is about damage in the values; the rest
// of the result is valid in any case.
func (t *Trace) Info() (*Info, error) {
	info := t.describe()
	g, err := t.ifValues()
	if g != nil {
		info.Values = valuesInfo(g)
	}
	return info, err
}

// ifValues returns the whole execution trace, or nil if there is none.
func (t *Trace) ifValues() (*wet.Graph, error) {
	g, err := t.openGraph()
	var none *NoValuesError
	if errors.As(err, &none) {
		return nil, nil
	}
	return g, err
}

func valuesInfo(g *wet.Graph) *ValuesInfo {
	c, s := g.Counts(), g.Sizes()
	return &ValuesInfo{
		Statements: c.Stmts, Nodes: g.NumNodes(), Executions: c.Executions, Results: c.Values, Dependences: c.Deps,
		Stored: s.Stored, Timestamps: s.Times.Tier2, ResultLabels: s.Values.Tier2 + s.Patterns.Tier2, EdgeLabels: s.Edges.Tier2, Tables: s.Tables,
	}
}

func (t *Trace) describe() *Info {
	meta, sizes := t.cdr.Info(), t.cdr.Sizes()
	info := &Info{
		Version: InfoVersion, File: t.file, Complete: meta.Complete, Epochs: meta.Epochs,
		Program: meta.Program, Args: append([]string{}, meta.Args...), Seed: meta.Seed,
		Policy: meta.Policy, Quantum: meta.Quantum, Depth: meta.Depth, Steps: meta.Steps,
		Record: string(meta.Mode), Control: controlText(meta.Control), Functions: meta.Functions, Alphabet: string(meta.Alphabet), Keep: meta.Keep,
		Threads: []ThreadInfo{},
		Sizes: SizesInfo{
			File: sizes.File, Control: sizes.Control, Data: sizes.Data, Sync: sizes.Sync,
			Tables: sizes.Tables, Image: sizes.Image, Schedule: sizes.Schedule,
			RawControl: sizes.RawControl, RawData: sizes.RawData,
		},
	}
	if meta.Outcome != nil {
		info.Status, info.Message = &meta.Outcome.Status, meta.Outcome.Message
	}
	for _, th := range t.cdr.Threads() {
		info.Threads = append(info.Threads, ThreadInfo{
			ID: uint32(th.ID), Instructions: th.Insts, Blocks: th.Blocks, Accesses: th.Recorded, Sync: th.Events,
		})
	}
	return info
}

// controlText returns the name of a way to store control flow.
func controlText(c format.Control) string {
	if c == "" {
		c = format.ControlWPP
	}
	return string(c)
}
