package annotate

import (
	"fmt"
	"path"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/tracefmt/numtext"
	"hindsight/wet"
)

// sheetLinks is the number of dependences that a sheet has of each row, in each
// direction.
const sheetLinks = 8

// sheetNearest is the number of rows that a sheet lists by distance.
const sheetNearest = 40

// Sheet is a slice as rows for a page: first lines of the source, by file and line, then
// functions without lines, then what happened outside. Rows refer to each other by index.
type Sheet struct {
	Role  string      `json:"role"`
	Title string      `json:"title"`
	About string      `json:"about"`
	Note  string      `json:"note,omitempty"`
	Near  []SheetNear `json:"near"` // the program's own rows, the nearest first
	Rows  []SheetRow  `json:"rows"`
}

// SheetNear is a row in order of distance.
type SheetNear struct {
	Row    int    `json:"row"`
	Far    string `json:"far"`
	Values string `json:"values,omitempty"`
	Way    string `json:"way,omitempty"` // how the row leads to where the slice began
}

// SheetRow is a line of the source, or what stands in for one.
type SheetRow struct {
	File    string      `json:"file,omitempty"` // path, or "" if it is not a line of a file
	Line    int         `json:"line,omitempty"`
	Own     bool        `json:"own,omitempty"`  // code of the program itself
	Text    string      `json:"text,omitempty"` // instructions, or what happened, if there is no source
	Count   string      `json:"count"`          // instances
	Values  string      `json:"values,omitempty"`
	Threads string      `json:"threads"`
	Begun   bool        `json:"begun,omitempty"` // the slice began with it
	In      []SheetLink `json:"in,omitempty"`    // what it depends on
	Out     []SheetLink `json:"out,omitempty"`   // what depends on it
	More    int         `json:"more,omitempty"`  // number of dependences left out
}

// SheetLink stands for the dependences between a row and another.
type SheetLink struct {
	Row   int    `json:"row"`
	Text  string `json:"text"`
	Title string `json:"title"`
	Kind  string `json:"kind"` // data, control, or crossing (between threads)
}

// Sheets returns a sheet for each part of the report.
func (r *Report) Sheets() ([]Sheet, error) {
	var list []Sheet
	for n := range r.Parts {
		s, err := r.sheet(&r.Parts[n])
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (r *Report) sheet(p *Part) (Sheet, error) {
	s := p.Slice
	v, err := newView(s, r.Image, rowing{})
	if err != nil {
		return Sheet{}, err
	}
	out := Sheet{Role: p.Role, Title: p.Title, Near: []SheetNear{}, Rows: []SheetRow{},
		About: fmt.Sprintf("%s: %s of %s in %s", about(s), numtext.Plural(s.Len(), "instance"), numtext.Plural(uint64(len(s.Statements())), "instruction"), threadList(threadsOf(s)))}
	if v.unread > 0 {
		out.Note = "Values of " + numtext.Plural(uint64(v.unread), "line") + " are left out: they would take long to read."
	}
	out.Near = append(out.Near, v.nearest()...)
	for i := range v.rows {
		out.Rows = append(out.Rows, r.sheetRow(v, &v.rows[i]))
	}
	return out, nil
}

// nearest returns the nearest lines of the program.
func (v *view) nearest() (list []SheetNear) {
	far := v.rank()
	v.pass = make([]bool, len(v.rows))
	for i := range v.rows {
		v.pass[i] = v.rows[i].key.kind != rowLine || !v.mine(&v.rows[i])
	}
	for _, i := range v.byDistance(far) {
		if v.pass[i] || len(list) == sheetNearest {
			continue
		}
		row := &v.rows[i]
		list = append(list, SheetNear{i, far.rowText(row), v.valueText(row, sheetValues), v.wayText(far, row)})
	}
	return list
}

// sheetValues is about the largest length of the text of values.
const sheetValues = 80

func (r *Report) sheetRow(v *view, row *row) SheetRow {
	out := SheetRow{Count: numtext.Grouped(row.count), Values: v.rangeText(row), Threads: threadList(row.threads), Begun: row.begun}
	switch {
	case row.key.kind == rowLine:
		out.File, out.Line, out.Own = path.Clean(row.key.file), row.key.line, v.mine(row)
		if _, ok := r.Sources.line(row.key.file, row.key.line); !ok {
			out.Text = r.code(v, row)
		}
	case row.key.kind == rowOutside:
		out.Text = row.key.text
	case len(row.stmts) > 1:
		out.Text = row.function + ", " + numtext.Plural(uint64(len(row.stmts)), "instruction")
	default:
		out.Text = r.code(v, row)
	}
	var moreIn, moreOut int
	out.In, moreIn = v.sheetLinks(row, row.in)
	out.Out, moreOut = v.sheetLinks(row, row.out)
	out.More = moreIn + moreOut
	return out
}

// code returns the instructions of a row.
func (r *Report) code(v *view, row *row) string {
	var text strings.Builder
	text.WriteString(row.function + ":")
	for _, n := range row.stmts {
		text.WriteString(" " + instText(v.img, &v.Statements()[n]) + ";")
	}
	return text.String()
}

func (v *view) sheetLinks(row *row, list []link) (out []SheetLink, more int) {
	for n, l := range list {
		if n == sheetLinks {
			return out, len(list) - n
		}
		other := &v.rows[l.row]
		one := SheetLink{Row: l.row, Text: v.nameOf(other, row.key.file), Kind: "data"}
		one.Title = fmt.Sprintf("%s, through %s", numtext.Plural(l.count, "time"), l.kind)
		if l.kind == wet.DepControl || l.kind == wet.DepExit {
			one.Kind, one.Title = "control", "decided "+numtext.Plural(l.count, "time")
		}
		if l.crossing > 0 {
			one.Kind = "crossing"
			one.Text += crossText(other)
			if l.through != "" {
				one.Title += ", " + l.through
			}
			one.Title += ", " + numtext.Grouped(l.crossing) + " between threads"
		}
		out = append(out, one)
	}
	return out, 0
}

// ImpactLines says what a racy value reached, in one string for each line.
func ImpactLines(m *slice.Impact) []string {
	list := []string{"the racy value " + m.Verdict.String() + ": " + numtext.Plural(m.Instances, "instance") + " of statements depend on it"}
	if m.OutputCalls > 0 {
		list = append(list, numtext.Plural(m.OutputBytes, "byte")+" in "+numtext.Plural(m.OutputCalls, "write"))
	}
	if m.ExitStatus {
		list = append(list, "the exit status")
	}
	if m.Branches > 0 {
		list = append(list, numtext.Plural(m.Branches, "execution")+" of "+branches(m.BranchSites))
	}
	for _, v := range m.Variables {
		list = append(list, "variable "+v.Name+": "+numtext.Plural(v.Stores, "store"))
	}
	return list
}
