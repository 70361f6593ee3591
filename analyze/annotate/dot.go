package annotate

import (
	"bufio"
	"fmt"
	"io"

	"hindsight/tracefmt/numtext"
	"hindsight/wet"
)

// maxDrawn is the largest number of lines in a graph that is drawn, and maxEdges the
// largest number of arrows.
const (
	maxDrawn = 60
	maxEdges = 240
)

// WriteDOT writes the slices as a graph for Graphviz, with a box for each line, and an
// edge for the dependences of one kind between two lines. It returns an error if there
// are too many to draw.
func (r *Report) WriteDOT(w io.Writer) error {
	var views []*view
	lines, edges := 0, 0
	for n := range r.Parts {
		v, err := newView(r.Parts[n].Slice, r.Image, rowing{})
		if err != nil {
			return err
		}
		views = append(views, v)
		lines += len(v.rows)
		for i := range v.rows {
			edges += len(v.rows[i].in)
		}
	}
	if lines > maxDrawn || edges > maxEdges {
		return fmt.Errorf("a graph of %d lines and %d arrows is too large to draw (at most %d and %d); make the slice smaller (--depth 5, --deps data, --through-threads=false) or use --format html",
			lines, edges, maxDrawn, maxEdges)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph slice {\n  node [shape=box, fontname=monospace];\n")
	for n, v := range views {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%s;\n", n, dotQuote(r.Parts[n].Title))
		far := v.rank()
		for _, i := range v.byDistance(far) {
			row := &v.rows[i]
			style := ""
			if row.begun {
				style = ", penwidth=3"
			}
			fmt.Fprintf(b, "    r%d_%d [label=%s%s];\n", n, i, dotQuote(r.dotLabel(v, row, far)), style)
		}
		for i := range v.rows {
			for _, l := range v.rows[i].in {
				style := ""
				if l.kind == wet.DepControl || l.kind == wet.DepExit {
					style = ", style=dashed"
				}
				if l.crossing > 0 {
					style += ", color=red"
				}
				fmt.Fprintf(b, "    r%d_%d -> r%d_%d [label=\"%d\"%s];\n", n, l.row, n, i, l.count, style)
			}
		}
		fmt.Fprintf(b, "  }\n")
	}
	fmt.Fprintf(b, "}\n")
	return b.Flush()
}

func (r *Report) dotLabel(v *view, row *row, far *ranking) string {
	label := v.nameOf(row, "")
	if text, ok := r.Sources.line(row.key.file, row.key.line); ok {
		label += "\n" + expand(trimLeft(text))
	}
	label += fmt.Sprintf("\n%s times, %s away", numtext.Grouped(row.count), far.rowText(row))
	if text := v.rangeText(row); text != "" {
		label += ": " + text
	}
	return label
}

func trimLeft(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

// dotQuote returns text as a DOT string with left-aligned lines.
func dotQuote(s string) string {
	out := []byte{'"'}
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, `\l`...)
		default:
			if c >= ' ' {
				out = append(out, c)
			}
		}
	}
	return string(append(out, `\l"`...))
}
