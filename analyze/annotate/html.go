package annotate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"

	"hindsight/wet"
)

//go:embed page.html
var pageText string

// pageLinks is how many dependences of a line a page shows each way.
const pageLinks = 8

type page struct {
	Report *Report
	Args   string
	Parts  []pagePart
	Impact []string
}

type pagePart struct {
	Title, About string
	Note         string
	Near         []pageNear
	Files        []pageFile
}

// pageNear is a line of the program in order of its distance.
type pageNear struct {
	To, Far, Name, Text, Way string
}

// pageNearest is how many of them a page lists first.
const pageNearest = 40

type pageFile struct {
	Name  string
	Lines []pageLine
}

type pageLine struct {
	ID      string // "" of a line that is not in the slice
	Number  string
	Text    string
	Count   string
	Values  string
	Threads string
	Begun   bool
	In, Out []pageLink
	More    string
}

type pageLink struct {
	To, Text, Title, Class string
}

// WriteHTML writes the report as one page of HTML that needs nothing else: the
// source files with the slices' lines lit, in which dependences are links.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("annotate: the page's template: %w", err)
	}
	p := page{Report: r, Args: strings.Join(r.Info.Args, " ")}
	for n := range r.Parts {
		part, err := r.pagePart(n)
		if err != nil {
			return err
		}
		p.Parts = append(p.Parts, part)
	}
	if m := r.Impact; m != nil {
		p.Impact = append(p.Impact, "the racy value "+m.Verdict.String()+": "+plural(m.Instances, "instance")+" of statements depend on it")
		if m.OutputCalls > 0 {
			p.Impact = append(p.Impact, plural(m.OutputBytes, "byte")+" in "+plural(m.OutputCalls, "write"))
		}
		if m.ExitStatus {
			p.Impact = append(p.Impact, "the exit status")
		}
		if m.Branches > 0 {
			p.Impact = append(p.Impact, plural(m.Branches, "execution")+" of "+branches(m.BranchSites))
		}
		for _, v := range m.Variables {
			p.Impact = append(p.Impact, "variable "+v.Name+": "+plural(v.Stores, "store"))
		}
	}
	return t.Execute(w, p)
}

func (r *Report) pagePart(n int) (pagePart, error) {
	s := r.Parts[n].Slice
	v, err := newView(s, r.Image, true)
	if err != nil {
		return pagePart{}, err
	}
	part := pagePart{Title: r.Parts[n].Title, About: fmt.Sprintf("%s: %s of %s in %s", about(s), plural(s.Len(), "instance"),
		plural(uint64(len(s.Statements())), "instruction"), threadList(threadsOf(s)))}
	if v.unread > 0 {
		part.Note = "Values of " + plural(uint64(v.unread), "line") + " are left out: they would take long to read."
	}
	part.Near = r.pageNear(v, n)
	for i := 0; i < len(v.rows); {
		end := i
		for end < len(v.rows) && v.rows[end].key.kind == v.rows[i].key.kind && v.rows[end].key.file == v.rows[i].key.file {
			end++
		}
		part.Files = append(part.Files, r.pageFile(v, n, i, end))
		i = end
	}
	return part, nil
}

// pageNear lists the nearest lines of the program.
func (r *Report) pageNear(v *view, part int) (list []pageNear) {
	far := v.rank()
	v.pass = make([]bool, len(v.rows))
	for i := range v.rows {
		v.pass[i] = v.rows[i].key.kind != rowLine || !v.mine(&v.rows[i])
	}
	for _, i := range v.byDistance(far) {
		row := &v.rows[i]
		if v.pass[i] || len(list) == pageNearest {
			continue
		}
		text, _ := r.Sources.line(row.key.file, row.key.line)
		list = append(list, pageNear{fmt.Sprintf("#p%dr%d", part, i), far.rowText(row), v.nameOf(row, ""), expand(trimLeft(text)), v.wayText(far, row)})
	}
	return list
}

// pageFile makes the part of a page that shows rows from i up to end, which are
// of one file.
func (r *Report) pageFile(v *view, part, i, end int) pageFile {
	key := v.rows[i].key
	f := pageFile{Name: path.Clean(key.file)}
	switch key.kind {
	case rowCode:
		f.Name = "code without line numbers"
	case rowOutside:
		f.Name = "outside of the instructions"
	}
	lines := r.Sources.Lines(key.file)
	if key.kind != rowLine {
		lines = nil
	} else if lines == nil {
		f.Name += " (without its text)"
	}
	next := 1
	plain := func(to int) {
		for ; next < to && next <= len(lines); next++ {
			f.Lines = append(f.Lines, pageLine{Number: fmt.Sprint(next), Text: expand(lines[next-1])})
		}
	}
	for ; i < end; i++ {
		row := &v.rows[i]
		line := r.pageLine(v, part, i)
		if key.kind == rowLine {
			plain(row.key.line)
			line.Number = fmt.Sprint(row.key.line)
			next = row.key.line + 1
		}
		f.Lines = append(f.Lines, line)
	}
	plain(len(lines) + 1)
	return f
}

func (r *Report) pageLine(v *view, part, i int) pageLine {
	row := &v.rows[i]
	line := pageLine{
		ID: fmt.Sprintf("p%dr%d", part, i), Count: grouped(row.count), Values: v.rangeText(row),
		Threads: threadList(row.threads), Begun: row.begun,
	}
	text, ok := r.Sources.line(row.key.file, row.key.line)
	switch stmts := v.Statements(); {
	case ok && row.key.kind == rowLine:
		line.Text = expand(text)
	case row.key.kind == rowOutside:
		line.Text = row.key.text
	case row.key.kind == rowCode && len(row.stmts) > 1:
		line.Text = row.function + ", " + plural(uint64(len(row.stmts)), "instruction")
	default:
		line.Text = row.function + ":"
		for _, n := range row.stmts {
			line.Text += " " + instText(v.img, &stmts[n]) + ";"
		}
	}
	var moreIn, moreOut int
	line.In, moreIn = v.pageLinks(part, row, row.in)
	line.Out, moreOut = v.pageLinks(part, row, row.out)
	if moreIn+moreOut > 0 {
		line.More = fmt.Sprintf("%d more", moreIn+moreOut)
	}
	return line
}

func (v *view) pageLinks(part int, row *row, list []link) (out []pageLink, more int) {
	for n, l := range list {
		if n == pageLinks {
			return out, len(list) - n
		}
		other := &v.rows[l.row]
		one := pageLink{To: fmt.Sprintf("#p%dr%d", part, l.row), Text: v.nameOf(other, row.key.file), Class: "data"}
		one.Title = fmt.Sprintf("%s, through %s", plural(l.count, "time"), l.kind)
		if l.kind == wet.DepControl || l.kind == wet.DepExit {
			one.Class, one.Title = "control", "decided "+plural(l.count, "time")
		}
		if l.crossing > 0 {
			one.Class = "crossing"
			one.Text += crossText(other)
			if l.through != "" {
				one.Title += ", " + l.through
			}
			one.Title += ", " + grouped(l.crossing) + " between threads"
		}
		out = append(out, one)
	}
	return out, 0
}
