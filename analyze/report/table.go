package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hindsight/analyze/race"
)

// TableVersion is the version of the table's JSON form (docs/race-table.schema.json).
// Columns may be added at its end, but none is removed or changes its meaning.
const TableVersion = 1

// Row is a line of the table of races.
type Row struct {
	ID         string `json:"id"`    // R1; "" for a suppressed race
	Group      string `json:"group"` // ID of the first race with which the text shows it
	Variable   string `json:"variable"`
	Location   string `json:"location"` // global, heap, stack, tls or unknown
	Address    string `json:"address"`
	Dynamic    uint64 `json:"dynamic"`
	Earlier    Cell   `json:"earlier"`
	Later      Cell   `json:"later"`
	ArtifactOf string `json:"artifact_of"` // IDs of its causes, separated by spaces
	Suppressed string `json:"suppressed"`  // the rule, type:pattern
	Print      string `json:"fingerprint"`
}

// Cell is an access of the first instance of a race.
type Cell struct {
	Op       string `json:"op"`
	Thread   uint32 `json:"thread"`
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`  // from 1; 0 if unknown
	Locks    string `json:"locks"` // held locks, separated by spaces
}

// Rows returns the races of the report, the suppressed ones last.
func (r *Report) Rows() []Row {
	ids := map[string]string{}
	for i := range r.Races {
		ids[r.Races[i].Fingerprint] = r.Races[i].ID
	}
	rows := []Row{}
	for _, x := range slices.Concat(r.Races, r.Suppressed) {
		row := Row{ID: x.ID, Group: x.Group, Variable: x.Location.Words(), Location: x.Location.Kind, Address: fmt.Sprintf("0x%x", x.Location.Address),
			Dynamic: x.Dynamic, Earlier: x.Accesses[1].cell(), Later: x.Accesses[0].cell(), Suppressed: x.SuppressedBy, Print: x.Fingerprint}
		if x.Artifact != nil {
			var of []string
			for _, f := range x.Artifact.Of {
				of = append(of, ids[f])
			}
			row.ArtifactOf = strings.Join(of, " ")
		}
		rows = append(rows, row)
	}
	return rows
}

func (a *Access) cell() Cell {
	c := Cell{Op: a.Op.String(), Thread: uint32(a.Thread), Function: a.Top.Function, File: a.Top.File, Line: a.Top.Line}
	var locks []string
	for _, l := range a.Locks {
		locks = append(locks, l.Name)
	}
	c.Locks = strings.Join(locks, " ")
	return c
}

// Warnings returns the number of warnings in the text: races, with artifacts counted
// under their cause, and predicted deadlocks.
func (r *Report) Warnings() int { return len(newText(r, TextOptions{}).shown) + len(r.Deadlocks) }

// WriteTable writes the races as a table in JSON.
func (r *Report) WriteTable(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Version int   `json:"version"`
		Races   []Row `json:"races"`
	}{TableVersion, r.Rows()})
}

// WriteCSV writes the races as a table with commas (RFC 4180) and a header.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"id", "group", "variable", "location", "address", "dynamic"}
	for _, side := range []string{"earlier", "later"} {
		for _, column := range []string{"op", "thread", "function", "file", "line", "locks"} {
			header = append(header, side+"_"+column)
		}
	}
	if err := out.Write(append(header, "artifact_of", "suppressed", "fingerprint")); err != nil {
		return err
	}
	for _, x := range r.Rows() {
		row := []string{x.ID, x.Group, x.Variable, x.Location, x.Address, strconv.FormatUint(x.Dynamic, 10)}
		for _, c := range []Cell{x.Earlier, x.Later} {
			row = append(row, c.Op, strconv.FormatUint(uint64(c.Thread), 10), c.Function, c.File, strconv.Itoa(c.Line), c.Locks)
		}
		if err := out.Write(append(row, x.ArtifactOf, x.Suppressed, x.Print)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Found returns the result of the analysis from which the report was built, or nil if the
// report was merged or read from a file. [Race.Index] refers to it.
func (r *Report) Found() *race.Result { return r.result }

// Index returns the index of the race in the Races of [Report.Found].
func (x *Race) Index() int { return x.index }
