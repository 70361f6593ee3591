package annotate

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/tracefmt/numtext"
	"hindsight/wet"
)

// TextOptions of [Report.WriteText]. The zero value means plain text of 100 columns.
type TextOptions struct {
	Color bool // emphasise by ANSI escape sequences, for a terminal
	Width int  // columns; 0 means 100
	// Instructions lists code without lines by instruction, and not by function.
	Instructions bool
	// BySource lists lines in the order of the source, with their dependences, and not by
	// distance from where the slice began.
	BySource bool
	// Lines limits the lines that are listed by distance; 0 means all.
	Lines int
	// All lists code of libraries like that of the program.
	All bool
	// Why, if set, names a line, as 42 or file.c:42. The path from where the slice began
	// to that line is shown.
	Why string
	// Arrows is the largest number of dependences shown for a line; 0 means 4.
	Arrows int
}

const (
	plainWidth  = 100
	plainArrows = 4
	gutter      = 19 // columns before the source
	tabWidth    = 4
)

type textWriter struct {
	*bufio.Writer
	rep  *Report
	opts TextOptions
}

// WriteText writes the source lines of each slice, with how often they took part and
// which values they computed. It adds the dependences that led to them or, in a forward
// slice, on from them.
func (r *Report) WriteText(w io.Writer, opts TextOptions) error {
	if opts.Width <= 0 {
		opts.Width = plainWidth
	}
	if opts.Arrows <= 0 {
		opts.Arrows = plainArrows
	}
	t := &textWriter{bufio.NewWriter(w), r, opts}
	for n := range r.Parts {
		if n > 0 {
			t.printf("\n")
		}
		if err := t.part(&r.Parts[n]); err != nil {
			return err
		}
	}
	if r.Impact != nil {
		t.impact(r.Impact)
	}
	return t.Flush()
}

func (t *textWriter) printf(format string, args ...any) { fmt.Fprintf(t, format, args...) }

// paint wraps text in an escape sequence, if there is colour.
func (t *textWriter) paint(code, text string) string {
	if !t.opts.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	bold = "1"
	dim  = "2"
	cyan = "36"
)

func (t *textWriter) part(p *Part) error {
	v, err := newView(p.Slice, t.rep.Image, rowing{t.opts.Instructions, t.opts.All})
	if err != nil {
		return err
	}
	t.printf("%s\n", t.paint(bold, t.clip(p.Title)))
	lines := uint64(0)
	for i := range v.rows {
		if v.rows[i].key.kind == rowLine {
			lines++
		}
	}
	how := about(p.Slice) + ": "
	if !t.opts.BySource && !v.bare() {
		how = about(p.Slice) + ", nearest first: "
	}
	size := fmt.Sprintf("%s, %s, %s, %s", numtext.Plural(v.Len(), "instance"), numtext.Plural(uint64(len(v.Statements())), "instruction"),
		numtext.Plural(lines, "line"), numtext.Plural(uint64(len(threadsOf(p.Slice))), "thread"))
	if len(how)+len(size) > t.opts.Width {
		how = strings.TrimSuffix(how, " ") + "\n  "
	}
	t.printf("%s%s\n", how, size)
	if v.unread > 0 {
		t.printf("values of %s are left out: they would take long to read\n", numtext.Plural(uint64(v.unread), "line"))
	}
	if t.opts.Why != "" {
		return t.writeWhy(v, t.opts.Why)
	}
	if !t.opts.BySource && !v.bare() {
		t.near(v)
		return nil
	}
	file, kind := "", -1
	for i := range v.rows {
		r := &v.rows[i]
		if r.key.kind != kind || r.key.file != file {
			file, kind = r.key.file, r.key.kind
			t.heading(r)
		}
		t.row(v, r)
	}
	return nil
}

func (t *textWriter) heading(r *row) {
	switch r.key.kind {
	case rowLine:
		name := path.Clean(r.key.file)
		if t.rep.Sources.Lines(name) == nil {
			name += " (its text is not here: instructions are shown; --source-dir says where it is)"
		}
		t.printf("\n%s\n%s\n", t.paint(bold, t.clip(name)), t.paint(dim, "  line      times"))
	case rowCode:
		t.printf("\n%s\n", t.paint(bold, "code without line numbers"))
	default:
		t.printf("\n%s\n", t.paint(bold, "outside of the instructions"))
	}
}

// row writes a row. Below it, it writes the values and dependences of the row.
func (t *textWriter) row(v *view, r *row) {
	mark := " "
	if r.begun {
		mark = ">"
	}
	place := ""
	if r.key.kind == rowLine {
		place = fmt.Sprint(r.key.line)
	}
	count := numtext.Grouped(r.count)
	t.printf("%s%5s %10s  %s\n", t.paint(bold, mark), place, count, t.clipTo(t.what(v, r), t.opts.Width-gutter))
	if r.key.kind == rowCode && len(r.stmts) > 1 {
		return // a whole function, to which everything leads
	}
	var notes []string
	width := 0
	add := func(note, color string) {
		width += len([]rune(note)) + 2
		notes = append(notes, t.paint(color, note))
	}
	if text := v.rangeText(r); text != "" {
		if end := strings.LastIndex(text, ", "); end > 0 && len([]rune(text))+2 > t.opts.Width-gutter {
			text = text[:end] // without the range
		}
		add(t.clipTo("= "+text, t.opts.Width-gutter), cyan)
	}
	links, from, because := r.in, "from ", "if "
	if v.Options().Direction == slice.Forward {
		links, from, because = r.out, "to ", "decides "
	}
	room := t.opts.Width - gutter
	if text := t.links(v, r, links, from, because, room-width); text != "" {
		if len([]rune(text)) > room-width && width > 0 {
			t.printf("%*s%s\n", gutter, "", strings.Join(notes, "  "))
			notes = nil
			text = t.links(v, r, links, from, because, room)
		}
		notes = append(notes, t.paint(dim, t.clipTo(text, room)))
	}
	if len(notes) > 0 {
		t.printf("%*s%s\n", gutter, "", strings.Join(notes, "  "))
	}
}

// what returns the source of a row, or what stands in for it.
func (t *textWriter) what(v *view, r *row) string {
	stmts := v.Statements()
	switch r.key.kind {
	case rowLine:
		if text, ok := t.rep.Sources.line(r.key.file, r.key.line); ok {
			if t.brace(r) && r.function != "" {
				text = strings.TrimRight(text, " ") + " of " + r.function
			}
			return expand(text)
		}
		text := r.function + ": "
		for i, n := range r.stmts {
			if i > 0 {
				text += "; "
			}
			text += instText(v.img, &stmts[n])
		}
		return text
	case rowCode:
		if len(r.stmts) > 1 {
			return fmt.Sprintf("%s, %s", r.function, numtext.Plural(uint64(len(r.stmts)), "instruction"))
		}
		return fmt.Sprintf("%#x <%s>  %s", stmts[r.stmts[0]].PC, offsetText(v.img, stmts[r.stmts[0]].PC), instText(v.img, &stmts[r.stmts[0]]))
	}
	return r.key.text
}

// links writes the most important dependences of a row.
func (t *textWriter) links(v *view, r *row, list []link, from, because string, room int) string {
	text := ""
	for n, l := range list {
		other := &v.rows[l.row]
		one := v.nameOf(other, r.key.file)
		if l.kind == wet.DepControl || l.kind == wet.DepExit {
			one = because + one
		} else {
			one = from + one
		}
		if l.crossing > 0 && other.key.kind != rowOutside {
			one += crossText(other)
			if l.through != "" {
				one += " through " + l.through
			}
		}
		more := ""
		if left := len(list) - n; left > 1 {
			more = fmt.Sprintf(", %d more", left-1)
		}
		if n > 0 {
			one = ", " + one
		}
		if n >= t.opts.Arrows || n > 0 && len([]rune(text+one+more)) > room {
			return text + fmt.Sprintf(", %d more", len(list)-n)
		}
		text += one
	}
	return text
}

// impact writes what a racy value reached.
func (t *textWriter) impact(m *slice.Impact) {
	t.printf("\n%s %s\n", t.paint(bold, "the racy value:"), m.Verdict)
	t.printf("  %s of statements depend on it\n", numtext.Plural(m.Instances, "instance"))
	if m.OutputCalls > 0 {
		t.printf("  output: %s in %s\n", numtext.Plural(m.OutputBytes, "byte"), numtext.Plural(m.OutputCalls, "write"))
	}
	if m.ExitStatus {
		t.printf("  the exit status\n")
	}
	if m.Branches > 0 {
		t.printf("  control flow: %s of %s\n", numtext.Plural(m.Branches, "execution"), branches(m.BranchSites))
	}
	for _, x := range m.Variables {
		t.printf("%s\n", t.clip(fmt.Sprintf("  variable %s: %s", x.Name, numtext.Plural(x.Stores, "store"))))
	}
}

func branches(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return numtext.Grouped(uint64(n)) + " branches"
}

// expand replaces tabs by spaces.
func expand(s string) string {
	return strings.ReplaceAll(strings.TrimRight(s, " \t"), "\t", strings.Repeat(" ", tabWidth))
}

func (t *textWriter) clip(s string) string { return t.clipTo(s, t.opts.Width) }

// clipTo shortens text to a number of columns, and removes control characters.
func (t *textWriter) clipTo(s string, columns int) string {
	runes := []rune(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '?'
		}
		return c
	}, s))
	if len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return string(runes)
}
