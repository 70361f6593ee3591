package report

import (
	"encoding/json"
	"io"

	"hindsight/analyze/internal/jsonform"
	"hindsight/analyze/replay"
)

// JSONVersion is the version of the JSON form. Members may be added to it, but none is
// removed or changes its meaning.
const JSONVersion = 1

type jsonReport struct {
	Version int           `json:"version"`
	Tool    jsonform.Tool `json:"tool"`
	Trace   jsonTrace     `json:"trace"`
	Summary jsonSummary   `json:"summary"`
	Races   []jsonRace    `json:"races"`

	Unshown     []jsonRace     `json:"predicted_unshown,omitempty"`
	Deadlocks   []jsonDeadlock `json:"deadlocks,omitempty"`
	Baseline    string         `json:"baseline,omitempty"`
	Known       []jsonKnown    `json:"known,omitempty"`
	Old         []jsonOld      `json:"baseline_races,omitempty"`
	Exploration any            `json:"exploration,omitempty"`
}

type jsonKnown struct {
	Fingerprint string `json:"fingerprint"`
	Dynamic     uint64 `json:"dynamic"`
}

type jsonTrace struct {
	File         string   `json:"file"`
	Program      string   `json:"program"`
	Args         []string `json:"args"`
	Threads      int      `json:"threads"`
	Instructions uint64   `json:"instructions"`
	Seed         uint64   `json:"seed"`
	Complete     bool     `json:"complete"`
}

type jsonSummary struct {
	Static     int    `json:"static"`
	Dynamic    uint64 `json:"dynamic"`
	Artifacts  int    `json:"artifacts"`
	Suppressed int    `json:"suppressed"`
	Known      *int   `json:"known,omitempty"`
	Gone       *int   `json:"gone,omitempty"`
	Merged     uint64 `json:"merged_tasks,omitempty"`
}

type jsonRace struct {
	ID          string        `json:"id"`
	Fingerprint string        `json:"fingerprint"`
	Group       string        `json:"group"`
	Dynamic     uint64        `json:"dynamic"`
	ArtifactOf  []string      `json:"artifact_of"`
	Causes      []string      `json:"causes,omitempty"`
	ArtifactBy  string        `json:"artifact_by,omitempty"`
	Together    bool          `json:"together,omitempty"`
	Repair      string        `json:"repair,omitempty"`
	Checked     uint64        `json:"checked,omitempty"`
	Chain       []jsonLink    `json:"chain,omitempty"`
	Location    jsonLocation  `json:"location"`
	Accesses    [2]jsonAccess `json:"accesses"`
	Seeds       []uint64      `json:"seeds,omitempty"`
	Trace       string        `json:"trace,omitempty"`
	// ThreadCounts are the numbers of threads with which an exploration saw the race.
	ThreadCounts []int    `json:"thread_counts,omitempty"`
	Orders       []string `json:"orders,omitempty"`

	ArtifactUnknown   string   `json:"artifact_unknown,omitempty"`
	AlsoBehind        []string `json:"also_behind,omitempty"`
	EventControlledBy []string `json:"event_controlled_by,omitempty"`

	SameValue *jsonSameValue `json:"same_value,omitempty"`
	Impact    *jsonImpact    `json:"impact,omitempty"`

	Prediction *jsonPrediction `json:"prediction,omitempty"`

	Verdict  *string   `json:"verdict,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
}

type jsonLocation struct {
	Kind    string           `json:"kind"`
	Name    string           `json:"name"`
	Path    string           `json:"path,omitempty"`
	Address jsonform.Address `json:"address"`
	Offset  uint64           `json:"offset"`
	Size    uint64           `json:"size"`
	Symbol  string           `json:"symbol,omitempty"`
	Thread  *uint32          `json:"thread,omitempty"`
	Local   *jsonLocal       `json:"local,omitempty"`
	Stack   []jsonFrame      `json:"stack,omitempty"`
	Freed   bool             `json:"freed,omitempty"`
	FreedBy *uint32          `json:"freed_by,omitempty"`
	FreedAt []jsonFrame      `json:"freed_at,omitempty"`
}

type jsonAccess struct {
	Thread   uint32           `json:"thread"`
	Op       string           `json:"op"`
	Atomic   bool             `json:"atomic,omitempty"`
	Call     bool             `json:"call,omitempty"`
	Size     uint64           `json:"size"`
	Address  jsonform.Address `json:"address"`
	Function string           `json:"function"`
	File     string           `json:"file"`
	Line     int              `json:"line"`
	PC       jsonform.Address `json:"pc"`
	Stack    []jsonFrame      `json:"stack"`
	Locks    []jsonLock       `json:"locks"`
	Task     *jsonTask        `json:"task,omitempty"`
}

type jsonFrame struct {
	jsonform.Frame
	Path string `json:"path,omitempty"`
}

type jsonLock struct {
	Name    string           `json:"name"`
	Mode    string           `json:"mode"`
	Address jsonform.Address `json:"address"`
	Symbol  string           `json:"symbol"`
}

// WriteJSON writes the report in its JSON form, version 1, as docs/races.schema.json
// describes it, with an indentation of two spaces.
func (r *Report) WriteJSON(w io.Writer) error { return r.WriteJSONWith(w, nil) }

// WriteJSONWith is WriteJSON with an additional member "exploration" about the runs of a
// merged report.
func (r *Report) WriteJSONWith(w io.Writer, exploration any) error {
	out := jsonReport{
		Version: JSONVersion,
		Tool:    jsonform.Hindsight(r.Info.Version),
		Trace:   jsonTraceOf(&r.Info),
		Summary: jsonSummary{Static: len(r.Races), Dynamic: r.Dynamic, Artifacts: r.Artifacts(), Suppressed: len(r.Suppressed), Merged: r.Merged},
		Races:   make([]jsonRace, len(r.Races)),

		Exploration: exploration,
	}
	if r.OldFrom != "" {
		out.Baseline, out.Old = r.OldFrom, jsonOfOld(r.Old)
	} else if r.Baseline != "" {
		n := len(r.Known)
		out.Baseline, out.Summary.Known, out.Summary.Gone = r.Baseline, &n, &r.Gone
		for i := range r.Known {
			out.Known = append(out.Known, jsonKnown{r.Known[i].Fingerprint, r.Known[i].Dynamic})
		}
	}
	races := r.byFingerprint()
	for i := range r.Races {
		out.Races[i] = jsonOf(&r.Races[i])
		r.Races[i].artifactJSON(&out.Races[i], races)
	}
	for i := range r.Unshown {
		out.Unshown = append(out.Unshown, jsonOf(&r.Unshown[i]))
	}
	out.Deadlocks = jsonDeadlocks(r.Deadlocks, r.UnshownDeadlocks)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}

func jsonTraceOf(i *Info) jsonTrace {
	return jsonTrace{File: i.File, Program: i.Program, Args: append([]string{}, i.Args...), Threads: i.Threads,
		Instructions: i.Instructions, Seed: i.Seed, Complete: i.Complete}
}

func jsonOf(r *Race) jsonRace {
	l := &r.Location
	out := jsonRace{ID: r.ID, Fingerprint: r.Fingerprint, Group: r.Group, Dynamic: r.Dynamic, ArtifactOf: []string{}, Seeds: r.Seeds, Trace: r.Trace, ThreadCounts: r.ThreadCounts, Orders: r.Orders, SameValue: jsonOfSameValue(r.SameValue), Impact: jsonOfImpact(r.impact), Prediction: jsonOfPrediction(r.Prediction),
		Location: jsonLocation{Kind: l.Kind, Name: l.Name, Path: l.Path, Address: jsonform.Address(l.Address), Offset: l.Offset, Size: l.Size,
			Symbol: l.Symbol, Local: jsonOfLocal(l.Local), Freed: l.Freed}}
	if r.Verdict != nil {
		out.Verdict, out.Evidence = &r.Verdict.Verdict, &r.Verdict.Evidence
	}
	switch l.Kind {
	case "heap", "stack", "tls":
		thread := uint32(l.Thread)
		out.Location.Thread = &thread
	}
	if len(l.Stack) > 0 {
		out.Location.Stack = jsonStack(l.Stack)
	}
	if l.Freed {
		by := uint32(l.FreedBy)
		out.Location.FreedBy, out.Location.FreedAt = &by, jsonStack(l.FreeStack)
	}
	for i := range r.Accesses {
		a := &r.Accesses[i]
		o := &out.Accesses[i]
		*o = jsonAccess{Thread: uint32(a.Thread), Op: jsonOp(a.Op), Atomic: a.Op.Atomic(), Call: a.called(), Size: a.Size, Address: jsonform.Address(a.Address),
			Function: a.Top.Function, File: a.Top.File, Line: a.Top.Line, PC: jsonform.Address(a.PC), Stack: jsonStack(a.Stack), Locks: []jsonLock{}, Task: jsonOfTask(a.Task)}
		for _, k := range a.Locks {
			mode := "read"
			if k.Write {
				mode = "write"
			}
			o.Locks = append(o.Locks, jsonLock{k.Name, mode, jsonform.Address(k.Address), k.Symbol})
		}
	}
	return out
}

func jsonOp(op replay.Op) string {
	switch {
	case op == replay.Free || op == replay.Use:
		return op.String()
	case op.Writes():
		return "write"
	}
	return "read"
}

func jsonStack(stack []Frame) []jsonFrame {
	out := make([]jsonFrame, len(stack))
	for i, f := range stack {
		out[i] = jsonFrame{jsonform.Frame{Function: f.Function, File: f.File, Line: f.Line, PC: jsonform.Address(f.PC)}, f.Path}
	}
	return out
}
