package annotate

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
	"hindsight/wet"
)

// The columns of a slice by distance: mark, distance, times, place.
const (
	nearGutter = 20
	placeWidth = 24
)

// near writes a slice's rows by distance: first lines of the program, then one paragraph
// about what else the values passed through.
func (t *textWriter) near(v *view) {
	r := v.rank()
	v.pass = make([]bool, len(v.rows))
	for i := range v.rows {
		row := &v.rows[i]
		v.pass[i] = row.key.kind != rowLine || !t.opts.All && (!v.mine(row) || !row.begun && t.ending(v, row))
	}
	width := 4
	var lines, others []int
	for _, i := range v.byDistance(r) {
		row := &v.rows[i]
		if v.pass[i] {
			if row.key.kind != rowLine || !t.ending(v, row) {
				others = append(others, i)
			}
			continue
		}
		lines = append(lines, i)
		width = max(width, min(len(placeText(row)), placeWidth))
	}
	if len(lines) > 0 {
		t.printf("\n%s\n", t.paint(dim, fmt.Sprintf("   far     times  %-*s", width, "line")))
	}
	shown := lines
	if t.opts.Lines > 0 && len(lines) > t.opts.Lines {
		shown = lines[:t.opts.Lines]
	}
	for _, i := range shown {
		t.nearRow(v, r, &v.rows[i], width)
	}
	if left := len(lines) - len(shown); left > 0 {
		t.printf("%*s… %s farther away; --lines 0 shows them\n", nearGutter, "", numtext.Plural(uint64(left), "line"))
	}
	if len(others) == 0 {
		return
	}
	if !t.opts.All && !t.opts.Instructions {
		t.through(v, others)
		return
	}
	for n, i := range others {
		row := &v.rows[i]
		if n == 0 || v.rows[others[n-1]].key.kind != row.key.kind {
			t.heading(row)
		}
		t.row(v, row)
	}
}

// mine reports whether a row is code of the program itself, and not of a library or of a
// library's header.
func (v *view) mine(r *row) bool {
	if systemHeader(r.key.file) {
		return false
	}
	stmts := v.Statements()
	return slices.ContainsFunc(r.stmts, func(n int) bool { return v.img.User(stmts[n].PC) })
}

func placeText(r *row) string { return fmt.Sprintf("%s:%d", path.Base(r.key.file), r.key.line) }

// nearRow writes one line: its distance, how often it took part, and its text. The next
// lines show its values and how it leads to where the slice began.
func (t *textWriter) nearRow(v *view, r *ranking, row *row, width int) {
	mark := " "
	if row.begun {
		mark = ">"
	}
	d := far
	if n := r.nearest(row); n >= 0 {
		d = r.dist[n]
	}
	place := placeText(row)
	if len(place) > width {
		place = "…" + place[len(place)-width+1:]
	}
	indent := nearGutter - 2 + width
	room := t.opts.Width - indent
	t.printf("%s%5s %9s  %-*s  %s\n", t.paint(bold, mark), distanceText(d), numtext.Grouped(row.count), width, place, t.clipTo(strings.TrimLeft(t.what(v, row), " "), room-2))
	var notes []string
	used := 0
	add := func(text, color string) {
		if text == "" {
			return
		}
		if used > 0 && used+len([]rune(text))+2 > room-2 {
			t.printf("%*s%s\n", indent+2, "", strings.Join(notes, "  "))
			notes, used = nil, 0
		}
		text = t.clipTo(text, room-2)
		used += len([]rune(text)) + 2
		notes = append(notes, t.paint(color, text))
	}
	add(v.valueText(row, room), cyan)
	for _, note := range v.origin(row) {
		add(note, "")
	}
	add(v.wayText(r, row), dim)
	if len(notes) > 0 {
		t.printf("%*s%s\n", indent+2, "", strings.Join(notes, "  "))
	}
}

// through names what the values passed through besides lines of the program.
func (t *textWriter) through(v *view, others []int) {
	const most = 24
	var names []string
	for _, i := range others {
		row := &v.rows[i]
		name := row.function
		if row.key.kind == rowOutside {
			name = row.key.text
		}
		if v.startup(row) {
			continue
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := "through libraries and the system: "
	if v.Options().Direction == slice.Forward {
		text = "and in libraries and the system: "
	}
	if len(names) == 0 {
		return
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(", %d more (--all)", len(names)-most)
		names = names[:most]
	}
	t.printf("\n")
	line := text
	for n, name := range names {
		if n < len(names)-1 {
			name += ","
		} else {
			name += more
		}
		if len([]rune(line))+len([]rune(name))+1 > t.opts.Width {
			t.printf("%s\n", t.clip(strings.TrimRight(line, " ")))
			line = "  "
		}
		line += name + " "
	}
	t.printf("%s\n", t.clip(strings.TrimRight(line, " ")))
}

// startup reports whether a row belongs to a library and ran before main. Everything
// depends on such rows.
func (v *view) startup(r *row) bool {
	if r.key.kind == rowOutside {
		return slices.Equal(r.threads, []event.ThreadID{0})
	}
	main, ok := v.img.Lookup("main")
	if !ok {
		return false
	}
	if v.began == 0 {
		v.began = 1
		for _, s := range v.Graph().Sites(main.Addr) {
			if v.Graph().Executions(0, s.Node) == 0 {
				continue
			}
			if at, err := v.Graph().Time(0, s.Node, 0); err == nil {
				v.began = v.Graph().Order(0, at)
			}
		}
	}
	for _, n := range r.stmts {
		for i := range v.Of(n) {
			at, err := v.Graph().Time(i.Thread, i.Node, i.K)
			if err != nil || v.Graph().Order(i.Thread, at) >= v.began {
				return false
			}
			break
		}
	}
	return true
}

// valueText describes the values of a row, with the name of the variable that they were
// written to. Values without a name that look like addresses are omitted.
func (v *view) valueText(row *row, room int) string {
	text := v.rangeText(row)
	if row.names >= 0 && row.names != row.of && v.Statements()[row.names].Count == 1 {
		for i := range v.Of(row.names) { // fewer values may have been stored than computed
			if x, ok, err := slice.Stored(v.Graph(), i); err == nil && ok {
				text = valueText(v.Statements()[row.of].Inst, x)
			}
		}
	}
	if text == "" {
		return ""
	}
	if end := strings.LastIndex(text, ", "); end > 0 && len([]rune(text)) > room/2 {
		text = text[:end] // without the range
	}
	if row.names >= 0 {
		if name := v.writtenName(row.names); name != "" {
			return name + " = " + text
		}
	}
	floats := v.Statements()[row.of].Inst.Defs().Regs >= 1<<rv.RegF
	if floats || !v.address(row.values.First) && !v.address(row.values.Last) {
		return "= " + text
	}
	return ""
}

// namedWrites limits the instances whose variables are compared.
const namedWrites = 16

// writtenName returns the variable that a statement writes. If it writes several elements
// of an array, that is the array.
func (v *view) writtenName(n int) (name string) {
	left := namedWrites
	for i := range v.Of(n) {
		one := slice.VariableOf(v.img, v.Graph(), i)
		switch {
		case name == "" || one == "":
			name = one
		case one != name:
			array, _, _ := strings.Cut(one, "[")
			if !strings.HasPrefix(name, array+"[") {
				return ""
			}
			name = array + "[…]"
		}
		left--
		if left == 0 || name == "" {
			break
		}
	}
	return name
}

// address reports whether a number looks like an address.
func (v *view) address(x uint64) bool {
	if n := int64(x); n < math.MinInt32 || n > math.MaxUint32 {
		return true
	}
	const low = 1 << 16
	_, _, object := v.img.Object(x)
	return x >= low && (object || v.img.Exec(x))
}

// originLoads limits the loads of a statement that are examined for something remarkable.
const originLoads = 8

// origin says what is remarkable about the values that a row's loads read.
func (v *view) origin(r *row) (notes []string) {
	if v.Options().Direction == slice.Forward {
		return nil
	}
	if v.origins == nil {
		var err error
		if v.origins, err = slice.NewOrigins(v.Graph(), v.img); err != nil {
			return nil
		}
	}
	said := map[slice.Origin]bool{} // one of each kind is enough
	for _, n := range r.stmts {
		left := originLoads
		for i := range v.Of(n) {
			left--
			if left < 0 {
				break
			}
			f, err := v.origins.Of(i)
			if err != nil {
				return notes
			}
			if note := v.originText(&f, r.key.file); note != "" && !said[f.Origin] {
				said[f.Origin] = true
				notes = append(notes, note)
				if f.HasLater {
					notes = append(notes, fmt.Sprintf("T%d writes it later, at %s", f.Later.Thread, v.placeIn(f.Later, r.key.file)))
				}
			}
		}
	}
	return notes
}

// lineText names a line as seen from a line of file from.
func lineText(file string, line int, here string) string {
	if path.Base(file) == path.Base(here) {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", path.Base(file), line)
}

// placeIn names the line of the program in which an instance is, or from which the library
// was called that it is in, for a line of a file.
func (v *view) placeIn(i wet.Instance, here string) string {
	i, ok := v.caller(i, map[wet.Instance]bool{})
	if !ok {
		return "a library"
	}
	f, _ := v.own(i)
	return lineText(f.File, f.Line, here)
}

func (v *view) originText(f *slice.Found, here string) string {
	call := func(i wet.Instance) string { return v.placeIn(i, here) }
	switch f.Origin {
	case slice.Initial:
		name := v.img.ObjectPath(f.Addr)
		if name == "" || !v.img.UserObject(f.Addr) {
			return ""
		}
		text := "initial value of " + name
		if file, line, ok := v.img.Declared(f.Addr); ok {
			text += ", declared at " + lineText(file, line, here)
		}
		return text
	case slice.NeverWritten:
		if f.HasAlloc {
			return "never written since the block was allocated at " + call(f.Alloc)
		}
		return "never written"
	case slice.PreviousLife:
		text := "from the block's previous life"
		if f.HasFree {
			text += ", freed at " + call(f.Free)
		}
		return text + ", allocated again at " + call(f.Alloc)
	case slice.AfterFree:
		return "read after the block was freed at " + call(f.Free)
	case slice.StaleAddress:
		return fmt.Sprintf("by a pointer to the block of %s, which was freed at %s", call(f.Alloc), call(f.Free))
	}
	return ""
}
