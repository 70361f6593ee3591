package contention

import (
	"encoding/json"
	"io"

	"hindsight/analyze/internal/jsonform"
)

// JSONVersion is the version of the JSON form (docs/contention.schema.json). Members may
// be added to it, but none is removed or changes its meaning.
const JSONVersion = 1

type jsonReport struct {
	Version int           `json:"version"`
	Tool    jsonform.Tool `json:"tool"`
	Trace   jsonTrace     `json:"trace"`
	Time    uint64        `json:"time"`
	Objects []jsonObject  `json:"objects"`
	More    int           `json:"objects_not_shown"`
	Free    int           `json:"objects_without_waits"`
}

type jsonTrace struct {
	File     string   `json:"file"`
	Program  string   `json:"program"`
	Args     []string `json:"args"`
	Threads  int      `json:"threads"`
	Seed     uint64   `json:"seed"`
	Policy   string   `json:"policy"`
	Quantum  uint64   `json:"quantum"`
	Complete bool     `json:"complete"`
}

type jsonObject struct {
	ID      string           `json:"id"`
	Kind    string           `json:"kind"`
	Name    string           `json:"name"`
	Where   string           `json:"where"`
	Address jsonform.Address `json:"address"`
	Taken   uint64           `json:"taken"`
	Waited  uint64           `json:"waited"`
	Time    uint64           `json:"time"`
	Longest uint64           `json:"longest"`
	Pairs   []jsonPair       `json:"pairs"`
	Sites   []jsonSite       `json:"sites"`
}

type jsonPair struct {
	Thread uint32 `json:"thread"`
	By     *int   `json:"by"` // null if no thread is known
	Times  uint64 `json:"times"`
	Time   uint64 `json:"time"`
}

type jsonSite struct {
	jsonform.Frame
	Times uint64 `json:"times"`
	Time  uint64 `json:"time"`
}

// WriteJSON writes the report in its JSON form, version 1, with an indentation of two
// spaces.
func (r *Report) WriteJSON(w io.Writer) error {
	out := jsonReport{
		Version: JSONVersion, Tool: jsonform.Hindsight(r.Info.Version),
		Trace: jsonTrace{r.Info.File, r.Info.Program, append([]string{}, r.Info.Args...), r.Info.Threads, r.Info.Seed,
			r.Info.Policy, r.Info.Quantum, r.Info.Complete},
		Time: r.Time, Objects: []jsonObject{}, More: r.More, Free: r.Free,
	}
	for i := range r.Objects {
		o := &r.Objects[i]
		j := jsonObject{o.ID, o.Kind, o.Name, o.Where, jsonform.Address(o.Address), o.Taken, o.Waited, o.Time, o.Longest, []jsonPair{}, []jsonSite{}}
		for _, p := range o.Pairs {
			pair := jsonPair{Thread: uint32(p.Thread), Times: p.Times, Time: p.Time}
			if p.By != Nobody {
				pair.By = &p.By
			}
			j.Pairs = append(j.Pairs, pair)
		}
		for _, s := range o.Sites {
			j.Sites = append(j.Sites, jsonSite{jsonform.Frame{Function: s.Function, File: s.File, Line: s.Line, PC: jsonform.Address(s.PC)}, s.Times, s.Time})
		}
		out.Objects = append(out.Objects, j)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}
