package sharing

import (
	"encoding/json"
	"io"

	"hindsight/analyze/internal/jsonform"
	"hindsight/tracefmt/archinfo"
	"hindsight/tracefmt/event"
)

// JSONVersion is the version of the JSON form (docs/sharing.schema.json). Members may be
// added to it, but none is removed or changes its meaning.
const JSONVersion = 1

type jsonReport struct {
	Version int `json:"version"`
	Tool    struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"tool"`
	Trace     jsonTrace      `json:"trace"`
	Machine   jsonMachine    `json:"machine"`
	Summary   jsonSummary    `json:"summary"`
	Total     jsonHart       `json:"total"`
	Threads   []jsonHart     `json:"threads"`
	Variables []jsonVariable `json:"variables"`
}

type jsonTrace struct {
	File         string   `json:"file"`
	Program      string   `json:"program"`
	Args         []string `json:"args"`
	Threads      int      `json:"threads"`
	Instructions uint64   `json:"instructions"`
	Seed         uint64   `json:"seed"`
	Quantum      uint64   `json:"quantum"`
	Complete     bool     `json:"complete"`
}

type jsonMachine struct {
	CacheBytes  uint64 `json:"cache_bytes"`
	Ways        uint64 `json:"ways"`
	LineBytes   uint64 `json:"line_bytes"`
	Counters    uint64 `json:"predictor_counters"`
	HistoryBits uint64 `json:"history_bits"`
}

type jsonSummary struct {
	Variables   int    `json:"variables"` // including those that are not shown
	Lines       int    `json:"lines"`
	Dropped     uint64 `json:"dropped_lines"`
	Touched     uint64 `json:"touched_lines"`
	SharedLines uint64 `json:"shared_lines"`
	// Variables below the threshold, in percent of the total cost.
	Below     int     `json:"variables_below_threshold"`
	Threshold float64 `json:"threshold"`
}

type jsonHart struct {
	Thread                *uint32 `json:"thread,omitempty"`
	Loads                 uint64  `json:"loads"`
	Stores                uint64  `json:"stores"`
	LoadMisses            uint64  `json:"load_misses"`
	StoreMisses           uint64  `json:"store_misses"`
	Cold                  uint64  `json:"cold"`
	Replacement           uint64  `json:"replacement"`
	Coherence             uint64  `json:"coherence"`
	TrueSharing           uint64  `json:"true_sharing"`
	FalseSharing          uint64  `json:"false_sharing"`
	Upgrades              uint64  `json:"upgrades"`
	InvalidationsSent     uint64  `json:"invalidations_sent"`
	InvalidationsReceived uint64  `json:"invalidations_received"`
	CacheToCache          uint64  `json:"cache_to_cache"`
	Writebacks            uint64  `json:"writebacks"`
	Branches              uint64  `json:"branches"`
	Mispredicted          uint64  `json:"mispredicted"`
}

type jsonCounts struct {
	ReadMisses    uint64 `json:"read_misses"`
	WriteMisses   uint64 `json:"write_misses"`
	Coherence     uint64 `json:"coherence"`
	TrueSharing   uint64 `json:"true_sharing"`
	FalseSharing  uint64 `json:"false_sharing"`
	Upgrades      uint64 `json:"upgrades"`
	Invalidations uint64 `json:"invalidations"`
	CacheToCache  uint64 `json:"cache_to_cache"`
	Writebacks    uint64 `json:"writebacks"`
}

type jsonVariable struct {
	ID        string       `json:"id"`
	Location  jsonLocation `json:"location"`
	Sharing   Verdict      `json:"sharing"`
	Counts    jsonCost     `json:"counts"`
	Protocol  jsonProtocol `json:"protocol"`
	Advice    []string     `json:"advice"`
	Sites     []jsonSite   `json:"sites"`
	LineCount int          `json:"line_count"`
	Lines     []jsonLine   `json:"lines"`
}

type jsonLocation struct {
	Kind    string           `json:"kind"`
	Name    string           `json:"name"`
	Address jsonform.Address `json:"address"`
	Size    uint64           `json:"size"`
	Blocks  int              `json:"blocks,omitempty"`
	Thread  *uint32          `json:"thread,omitempty"`
	Freed   bool             `json:"freed,omitempty"`
	Stack   []jsonform.Frame `json:"stack,omitempty"`
}

type jsonProtocol struct {
	Suits         Protocol `json:"suits"`
	Invalidate    uint64   `json:"invalidate_transactions"`
	Update        uint64   `json:"update_transactions"`
	Reads         uint64   `json:"reads"`
	Writes        uint64   `json:"writes"`
	RemoteReads   uint64   `json:"remote_reads"`
	WriteRuns     uint64   `json:"write_runs"`
	LongestRun    uint64   `json:"longest_run"`
	Intervals     uint64   `json:"intervals"`
	ReadIntervals uint64   `json:"read_intervals"`
	IntervalReads uint64   `json:"interval_reads"`
}

type jsonSite struct {
	jsonform.Frame
	Threads      []uint32 `json:"threads"`
	Op           string   `json:"op"`
	Misses       uint64   `json:"misses"`
	TrueSharing  uint64   `json:"true_sharing"`
	FalseSharing uint64   `json:"false_sharing"`
	Upgrades     uint64   `json:"upgrades"`
}

type jsonLine struct {
	Address jsonform.Address `json:"address"`
	Sharing Verdict          `json:"sharing"`
	Counts  jsonCounts       `json:"counts"`
	Threads []jsonThread     `json:"threads"`
	Fields  []jsonField      `json:"fields"`
	Words   []jsonWord       `json:"words"`
}

type jsonThread struct {
	Thread                uint32 `json:"thread"`
	Misses                uint64 `json:"misses"`
	InvalidationsSent     uint64 `json:"invalidations_sent"`
	InvalidationsReceived uint64 `json:"invalidations_received"`
}

type jsonField struct {
	Name   string    `json:"name"`
	Offset uint64    `json:"offset"`
	Size   uint64    `json:"size"`
	Uses   []jsonUse `json:"uses"`
}

type jsonUse struct {
	Thread uint32 `json:"thread"`
	Op     string `json:"op"`
}

type jsonCost struct {
	ReadMisses            uint64 `json:"read_misses"`
	WriteMisses           uint64 `json:"write_misses"`
	Coherence             uint64 `json:"coherence"`
	TrueSharing           uint64 `json:"true_sharing"`
	FalseSharing          uint64 `json:"false_sharing"`
	Upgrades              uint64 `json:"upgrades"`
	InvalidationsSent     uint64 `json:"invalidations_sent"`
	InvalidationsReceived uint64 `json:"invalidations_received"`
}

type jsonWord struct {
	Offset int `json:"offset"` // in the line
	jsonCost
	Protocol jsonProtocol `json:"protocol"`
}

func jsonOfCost(w *archinfo.WordCounts) jsonCost {
	return jsonCost{w.ReadMisses, w.WriteMisses, w.Coherence, w.TrueSharing, w.FalseSharing,
		w.Upgrades, w.InvalidationsSent, w.InvalidationsReceived}
}

// WriteJSON writes the report in its JSON form, version 1, as docs/sharing.schema.json
// describes it, with an indentation of two spaces.
func (r *Report) WriteJSON(w io.Writer) error {
	c := &r.Summary.Config
	out := jsonReport{
		Version: JSONVersion,
		Trace: jsonTrace{File: r.Info.File, Program: r.Info.Program, Args: append([]string{}, r.Info.Args...),
			Threads: r.Info.Threads, Instructions: r.Info.Instructions, Seed: r.Info.Seed, Quantum: r.Info.Quantum, Complete: r.Info.Complete},
		Machine: jsonMachine{c.Size, c.Ways, c.Line, c.Table, c.HistoryBits},
		Summary: jsonSummary{len(r.Variables) + r.More + r.Below, len(r.Summary.Lines), r.Summary.Dropped, r.Summary.Touched, r.Summary.SharedLines, r.Below, r.Threshold},
		Total:   jsonOfHart(&r.Total), Threads: []jsonHart{}, Variables: []jsonVariable{},
	}
	out.Tool.Name, out.Tool.Version = "hindsight", r.Info.Version
	for i := range r.Summary.Harts {
		h := jsonOfHart(&r.Summary.Harts[i])
		id := uint32(i)
		h.Thread = &id
		out.Threads = append(out.Threads, h)
	}
	for i := range r.Variables {
		out.Variables = append(out.Variables, jsonOf(&r.Variables[i]))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}

func jsonOfHart(k *archinfo.HartCounts) jsonHart {
	return jsonHart{nil, k.Loads, k.Stores, k.LoadMisses, k.StoreMisses, k.Cold, k.Replacement, k.Coherence, k.TrueSharing, k.FalseSharing,
		k.Upgrades, k.InvalidationsSent, k.InvalidationsReceived, k.CacheToCache, k.Writebacks, k.Branches, k.Mispredicted}
}

func jsonOf(v *Variable) jsonVariable {
	l := &v.Location
	out := jsonVariable{ID: v.ID, Sharing: v.Verdict, Counts: jsonOfCost(&v.Counts), Protocol: jsonOfProtocol(v.Protocol, &v.Counts),
		Location: jsonLocation{Kind: l.Kind, Name: l.Name, Address: jsonform.Address(l.Address), Size: l.Size, Blocks: l.Blocks, Freed: l.Freed},
		Advice:   append([]string{}, v.Advice...), Sites: []jsonSite{}, LineCount: len(v.Lines) + v.More, Lines: []jsonLine{}}
	switch l.Kind {
	case "heap", "stack", "tls":
		thread := uint32(l.Thread)
		out.Location.Thread = &thread
	}
	for i := range l.Stack {
		out.Location.Stack = append(out.Location.Stack, jsonOfFrame(&l.Stack[i]))
	}
	for i := range v.Sites {
		s := &v.Sites[i]
		out.Sites = append(out.Sites, jsonSite{jsonOfFrame(&s.Frame), ids(s.Threads), s.op(), s.Misses, s.True, s.False, s.Upgrades})
	}
	for i := range v.Lines {
		out.Lines = append(out.Lines, jsonOfLine(&v.Lines[i]))
	}
	return out
}

func jsonOfLine(l *Line) jsonLine {
	out := jsonLine{Address: jsonform.Address(l.Address), Sharing: l.Verdict, Counts: jsonCounts(l.LineCounts),
		Threads: []jsonThread{}, Fields: []jsonField{}, Words: []jsonWord{}}
	for _, t := range l.Threads {
		out.Threads = append(out.Threads, jsonThread{uint32(t.Thread), t.Misses, t.InvalidationsSent, t.InvalidationsReceived})
	}
	for _, f := range l.Fields {
		o := jsonField{Name: f.Name, Offset: f.Offset, Size: f.Size, Uses: []jsonUse{}}
		for _, u := range f.Uses {
			o.Uses = append(o.Uses, jsonUse{uint32(u.Thread), rw(u.Read, u.Write)})
		}
		out.Fields = append(out.Fields, o)
	}
	for i := range l.Words {
		w := &l.Words[i].WordCounts
		out.Words = append(out.Words, jsonWord{l.Words[i].Index * 8, jsonOfCost(w), jsonOfProtocol(suits(w), w)})
	}
	return out
}

func jsonOfProtocol(p Protocol, w *archinfo.WordCounts) jsonProtocol {
	return jsonProtocol{p, w.InvalidateBus, w.UpdateBus, w.Reads, w.Writes, w.RemoteReads, w.Runs, w.LongestRun, w.Intervals, w.ReadIntervals, w.IntervalReads}
}

func jsonOfFrame(f *Frame) jsonform.Frame {
	return jsonform.Frame{Function: f.Function, File: f.File, Line: f.Line, PC: jsonform.Address(f.PC)}
}

func ids(list []event.ThreadID) []uint32 {
	out := []uint32{}
	for _, t := range list {
		out = append(out, uint32(t))
	}
	return out
}
