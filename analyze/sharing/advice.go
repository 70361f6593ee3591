package sharing

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hindsight/tracefmt/event"
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

// subscript matches a subscript, or a range of subscripts, in a path.
var subscript = regexp.MustCompile(`\[[0-9.]+\]`)

// advice says what can be done about the sharing of a variable.
func advice(v *Variable, line uint64) []string {
	var out []string
	if v.Verdict == False || v.Verdict == Mixed {
		out = append(out, layout(v, line))
	}
	if v.Verdict == True || v.Verdict == Mixed {
		if a := apart(v); a != "" {
			out = append(out, a)
		}
		out = append(out, protocol(v))
	}
	if v.Verdict == Handover {
		out = append(out, "nothing to gain: its lines pass from thread to thread and do not come back")
	}
	return out
}

// layout returns the advice against false sharing: which threads wrote what in the line
// that has most of it.
func layout(v *Variable, line uint64) string {
	worst := &v.Lines[0]
	for i := range v.Lines {
		if v.Lines[i].FalseSharing > worst.FalseSharing {
			worst = &v.Lines[i]
		}
	}
	a, b := rivals(worst.Fields, v.Location.Name)
	switch {
	case b == nil:
		return fmt.Sprintf("threads use different bytes of one line: give each thread's part a line of its own (align to %d bytes)", line)
	case v.Location.Kind != "global" || a.Name == "" || b.Name == "":
		return fmt.Sprintf("threads use different parts of one line (%s and %s): pad or align each thread's part to %d bytes", a.label(), b.label(), line)
	case subscript.ReplaceAllString(a.Name, "[]") == subscript.ReplaceAllString(b.Name, "[]"):
		whole, _, _ := strings.Cut(a.Name, "[")
		if v.Location.Size > 4*line {
			return fmt.Sprintf("elements of %s that different threads use meet on a line: begin each thread's part on a border of %d bytes", whole, line)
		}
		return fmt.Sprintf("each thread uses its own element of %s: pad the elements to %d bytes (alignas(%d)), or work in a local variable and store once", whole, line, line)
	case root(a.Name) == root(b.Name):
		return fmt.Sprintf("split %s: put %s and %s on different lines (alignas(%d) on one of them)", root(a.Name), a.Name, b.Name, line)
	}
	return fmt.Sprintf("%s and %s are different variables that happen to share a line: align one of them to %d bytes", a.Name, b.Name, line)
}

// root returns the variable of a path.
func root(path string) string {
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return path
}

// label names a field in a sentence.
func (f *Field) label() string {
	if f.Name != "" {
		return f.Name
	}
	return fmt.Sprintf("bytes %d to %d", f.Offset, f.Offset+f.Size-1)
}

// rivals returns two fields that make a line falsely shared: one that is written, and
// another one that a different thread uses. It prefers fields of the variable to its
// neighbours in the line, and these to bytes without a name, which startup code probably
// wrote.
func rivals(fields []Field, variable string) (a, b *Field) {
	best := -1
	for i := range fields {
		for j := range i {
			f, g := &fields[j], &fields[i]
			fit := f.fits(variable) + g.fits(variable)
			if fit > best && (disturbs(f, g) || disturbs(g, f)) {
				best, a, b = fit, f, g
			}
		}
	}
	return a, b
}

// fits says how well a field represents a variable: fields of the variable itself fit
// best, and bytes without a name do not fit.
func (f *Field) fits(variable string) int {
	switch {
	case f.Name == "":
		return 0
	case root(f.Name) != variable:
		return 1
	}
	return 3
}

// disturbs reports whether a thread writes f while another, which does not touch f, uses
// g.
func disturbs(f, g *Field) bool {
	touches := func(f *Field, t event.ThreadID) bool {
		return slices.ContainsFunc(f.Uses, func(u Use) bool { return u.Thread == t })
	}
	return slices.ContainsFunc(f.Uses, func(w Use) bool {
		return w.Write && slices.ContainsFunc(g.Uses, func(u Use) bool {
			return u.Thread != w.Thread && !touches(f, u.Thread)
		})
	})
}

// apart returns the advice against true sharing: what to do so that threads need each
// other's data less often. It returns "" if it is not known how they use it.
func apart(v *Variable) string {
	var both, writers, readers int
	name := ""
	for i := range v.Lines {
		for j := range v.Lines[i].Fields {
			f := &v.Lines[i].Fields[j]
			b, w, r := users(f)
			if b+w+r > both+writers+readers || b > both {
				both, writers, readers, name = b, w, r, f.label()
			}
		}
	}
	switch {
	case both > 1:
		return fmt.Sprintf("%d threads update %s: give each thread its own copy, on a line of its own, and sum them up at the end; or update a local variable and add it once", both, name)
	case both+writers == 1 && readers > 0:
		return fmt.Sprintf("one thread writes %s and %s it: write it less often, or let readers keep a copy that they renew when they must", name, reading(readers))
	case both+writers > 1:
		return fmt.Sprintf("%d threads write %s: let one thread own it and hand it results in larger pieces", both+writers, name)
	}
	return ""
}

func reading(threads int) string {
	if threads == 1 {
		return "another reads"
	}
	return fmt.Sprintf("%d others read", threads)
}

// users counts the threads that read and write a field, only write it, and only read it.
func users(f *Field) (both, writers, readers int) {
	for _, u := range f.Uses {
		switch {
		case u.Read && u.Write:
			both++
		case u.Write:
			writers++
		default:
			readers++
		}
	}
	return both, writers, readers
}

// protocol says which protocol suits, and why.
func protocol(v *Variable) string {
	w := &v.Counts
	runs := float64(w.Writes) / float64(max(w.Runs, 1))
	switch v.Protocol {
	case Update:
		return fmt.Sprintf("an update protocol suits it: between two writes of a thread others read it %.1f times on average", float64(w.IntervalReads)/float64(max(w.Intervals, 1)))
	case Invalidate:
		return fmt.Sprintf("an invalidation protocol suits it: a thread writes it %.1f times in a row on average before another uses it", runs)
	}
	return "neither protocol is better for it"
}
