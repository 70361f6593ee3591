package sharing

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

const (
	width     = 100 // columns of the text form
	textLines = 3   // number of lines of a variable that it shows
	maxFields = 8   // number of fields of a line that it shows
)

// WriteText writes the report for people, in at most 100 columns.
func (r *Report) WriteText(out io.Writer) error {
	w := &writer{w: bufio.NewWriter(out)}
	r.head(w)
	for i := range r.Variables {
		w.variable(&r.Variables[i])
	}
	switch {
	case len(r.Variables) == 0:
		w.line("no thread took a line of its cache from another that had it")
	case r.More > 0:
		w.line("%s not shown (--top)", numtext.Plural(uint64(r.More), "further variable"))
	}
	if r.Below > 0 {
		w.line("%s cost less than %g %% of that each (--threshold)", numtext.Plural(uint64(r.Below), "further variable"), r.Threshold)
	}
	if r.Summary.Dropped > 0 {
		w.line("%s that cost less did not fit into the trace", numtext.Plural(r.Summary.Dropped, "line"))
	}
	return w.w.Flush()
}

// writer writes lines, cut to the width.
type writer struct{ w *bufio.Writer }

func (w *writer) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if utf8.RuneCountInString(s) > width {
		s = string([]rune(s)[:width-1]) + "…"
	}
	fmt.Fprintln(w.w, strings.TrimRight(s, " "))
}

// wrapped writes a paragraph with a hanging indent.
func (w *writer) wrapped(first, text string) {
	at := first
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(at)+1+utf8.RuneCountInString(word) > width {
			w.line("%s", at)
			at = strings.Repeat(" ", len(first))
		}
		at += " " + word
	}
	w.line("%s", at)
}

func (r *Report) head(w *writer) {
	c, k := &r.Summary.Config, &r.Total
	w.line("hindsight: sharing in %s: %s, seed %d, quantum %d",
		strings.Join(append([]string{r.Info.Program}, r.Info.Args...), " "), numtext.Plural(uint64(r.Info.Threads), "thread"), r.Info.Seed, r.Info.Quantum)
	w.line("  modelled    L1 of %s bytes, %d ways, lines of %d bytes, MESI; gshare of %s counters, %d bits",
		numtext.Grouped(c.Size), c.Ways, c.Line, numtext.Grouped(c.Table), c.HistoryBits)
	misses := k.LoadMisses + k.StoreMisses
	w.line("  accesses    %s, %s missed (%s)", numtext.Grouped(k.Loads+k.Stores), numtext.Grouped(misses), percent(misses, k.Loads+k.Stores))
	w.line("  misses      %s cold, %s replacement, %s coherence (%s true, %s false sharing)",
		numtext.Grouped(k.Cold), numtext.Grouped(k.Replacement), numtext.Grouped(k.Coherence), numtext.Grouped(k.TrueSharing), numtext.Grouped(k.FalseSharing))
	w.line("  bus         %s, %s, %s from cache to cache, %s",
		numtext.Plural(k.Upgrades, "upgrade"), numtext.Plural(k.InvalidationsSent, "invalidation"), numtext.Grouped(k.CacheToCache), numtext.Plural(k.Writebacks, "writeback"))
	w.line("  branches    %s, %s mispredicted (%s)", numtext.Grouped(k.Branches), numtext.Grouped(k.Mispredicted), percent(k.Mispredicted, k.Branches))
	w.line("  Magnitudes depend on the quantum and the seed of the run: compare variables with each other.")
	w.line("")
}

func (v Verdict) text() string {
	switch v {
	case False:
		return "FALSE SHARING"
	case True:
		return "true sharing"
	case Mixed:
		return "true and FALSE SHARING"
	}
	return "handed over"
}

func (w *writer) variable(v *Variable) {
	k := &v.Counts
	w.line("%s  %s: %s", v.ID, v.Location.text(), v.Verdict.text())
	for i, f := range v.Location.Stack {
		if i == 3 {
			break
		}
		w.line("      #%d %s", i, f.text())
	}
	w.wrapped("    cost     ", fmt.Sprintf("on %s: %s (%s true, %s false), %s, %s", numtext.Plural(uint64(len(v.Lines)+v.More), "line"),
		numtext.Plural(k.Coherence, "coherence miss"), numtext.Grouped(k.TrueSharing), numtext.Grouped(k.FalseSharing),
		numtext.Plural(k.Upgrades, "upgrade"), numtext.Plural(k.InvalidationsSent, "invalidation")))
	for i := range v.Lines {
		if i == textLines {
			w.line("    … %s", numtext.Plural(uint64(len(v.Lines)-i+v.More), "further line"))
			break
		}
		w.cacheLine(&v.Lines[i])
	}
	for i := range v.Sites {
		s := &v.Sites[i]
		w.line("    at        %s, %s %s: %s, %s", s.text(), threadList(s.Threads), s.op(), numtext.Plural(s.Misses, "miss"), numtext.Plural(s.Upgrades, "upgrade"))
	}
	w.line("    protocol  invalidate: %s bus transactions, update: %s; mean write run %s",
		numtext.Grouped(k.InvalidateBus), numtext.Grouped(k.UpdateBus), ratio(k.Writes, k.Runs))
	if k.Intervals > 0 {
		w.line("              others read it in %s of %s between two writes of a thread", percent(k.ReadIntervals, k.Intervals), numtext.Plural(k.Intervals, "interval"))
	}
	for _, a := range v.Advice {
		w.wrapped("    advice   ", a)
	}
	w.line("")
}

func (w *writer) cacheLine(l *Line) {
	w.line("    line      0x%x: %s, %s", l.Address, numtext.Plural(l.Coherence, "coherence miss"), numtext.Plural(l.Upgrades, "upgrade"))
	for i := range l.Fields {
		if i == maxFields {
			w.line("      … %s", numtext.Plural(uint64(len(l.Fields)-i), "further field"))
			break
		}
		f := &l.Fields[i]
		name := f.Name
		if utf8.RuneCountInString(name) > 32 {
			name = string([]rune(name)[:31]) + "…"
		}
		w.line("      +%-3d %3d  %-32s  %s", f.Offset, f.Size, name, useText(f.Uses))
	}
}

// useText says which threads did what: T1 T3 write, T2 read.
func useText(uses []Use) string {
	var out []string
	for _, op := range []Use{{Read: true, Write: true}, {Write: true}, {Read: true}} {
		var threads []event.ThreadID
		for _, u := range uses {
			if u.Read == op.Read && u.Write == op.Write {
				threads = append(threads, u.Thread)
			}
		}
		if len(threads) > 0 {
			out = append(out, threadList(threads)+" "+rw(op.Read, op.Write))
		}
	}
	return strings.Join(out, ", ")
}

func (l *Location) text() string {
	size := ""
	if l.Size > 0 {
		size = fmt.Sprintf(" of %s", numtext.Plural(l.Size, "byte"))
	}
	name := l.Name
	if utf8.RuneCountInString(name) > 40 {
		name = string([]rune(name)[:39]) + "…"
	}
	switch l.Kind {
	case "global":
		return fmt.Sprintf("global '%s'%s at 0x%x", name, size, l.Address)
	case "heap":
		blocks := "heap block" + size
		if l.Blocks > 1 {
			blocks = fmt.Sprintf("%d heap blocks%s", l.Blocks, size)
		}
		return fmt.Sprintf("%s allocated by T%d", blocks, l.Thread)
	case "stack":
		return fmt.Sprintf("stack of T%d at 0x%x", l.Thread, l.Address)
	case "tls":
		return fmt.Sprintf("thread-local '%s' of T%d", name, l.Thread)
	}
	return fmt.Sprintf("memory at 0x%x", l.Address)
}

func (f *Frame) text() string {
	name := f.Function
	if name == "" {
		name = fmt.Sprintf("0x%x", f.PC)
	}
	if utf8.RuneCountInString(name) > 30 {
		name = string([]rune(name)[:29]) + "…"
	}
	if f.File == "" {
		return name
	}
	return fmt.Sprintf("%s %s:%d", name, f.File, f.Line)
}

func (s *Site) op() string { return rw(s.Read, s.Write) }

func rw(read, write bool) string {
	switch {
	case read && write:
		return "read write"
	case write:
		return "write"
	}
	return "read"
}

func threadList(list []event.ThreadID) string {
	var b strings.Builder
	for i, t := range list {
		if i == 6 {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "T%d", t)
	}
	return b.String()
}

func percent(part, whole uint64) string {
	return fmt.Sprintf("%.2f %%", 100*float64(part)/float64(max(whole, 1)))
}

func ratio(a, b uint64) string { return fmt.Sprintf("%.1f", float64(a)/float64(max(b, 1))) }
