package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/tracefmt/numtext"
)

// RankedBy says how the groups of a report are ranked.
const RankedBy = "your own code first, then causes, values that reach far, two writes, how often"

// WriteBrief writes a line for each group of races, ranked as in the text. Groups about
// one object are adjacent.
func (r *Report) WriteBrief(w io.Writer, opts TextOptions) error {
	if opts.Width <= 0 {
		opts.Width = plainWidth
	}
	t := newText(r, opts)
	t.lines()
	for i := range r.Deadlocks {
		t.printf("%s  deadlock  %s\n", r.Deadlocks[i].ID, r.Deadlocks[i].line())
	}
	t.totals()
	_, err := io.WriteString(w, t.out.String())
	return err
}

// summary writes the head of a text with several groups.
func (t *text) summary() {
	if len(t.shown) > 1 {
		t.lines()
		t.printf("hindsight: ranked: %s\n", RankedBy)
	}
}

// choose returns the groups that are shown, the most important first. Groups about one
// object are adjacent, at the place of the first of them.
func (t *text) choose() {
	type ranked struct {
		*groupOf
		object string
		rank   []int64
	}
	var list []ranked
	best := map[string][]int64{}
	for i := range t.groups {
		g := &t.groups[i]
		if g.under != "" {
			continue
		}
		x := ranked{g, g.lead.Location.object(), g.rank(i)}
		list = append(list, x)
		if b, ok := best[x.object]; !ok || slices.Compare(x.rank, b) < 0 {
			best[x.object] = x.rank
		}
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(slices.Compare(best[a.object], best[b.object]), slices.Compare(a.rank, b.rank))
	})
	for _, x := range list {
		t.shown = append(t.shown, x.groupOf)
	}
}

// rank returns what a group is ranked by, where smaller is first. The last element is its
// position among all groups.
func (g *groupOf) rank(place int) []int64 {
	r := g.lead
	code := int64(0)
	for i := range r.Accesses {
		if !r.Accesses[i].Top.Own {
			code++
		}
	}
	behind := int64(0)
	if r.Artifact != nil || len(r.Behind) > 0 {
		behind = 1
	}
	same := int64(0)
	if g.same == g.pairs {
		same = 1
	}
	reach := int64(0)
	if r.impact != nil && r.impact.Verdict == slice.DiesUnused {
		reach = 1
	}
	writes := int64(1)
	if g.writes {
		writes = 0
	}
	often := -int64(min(g.dynamic, 1<<62))
	return []int64{code, behind, same, reach, writes, often, int64(place)}
}

// object returns the memory of a race: the variable, or the block, identified by where it
// was allocated.
func (l *Location) object() string {
	name := l.Symbol
	if name == "" {
		name = l.Name
	}
	if l.Kind == "heap" {
		at := top(l.Stack)
		name = fmt.Sprintf("%s %s:%d", at.Function, at.Path, at.Line)
	}
	if l.Local != nil {
		name = l.Local.object()
	}
	return l.Kind + " " + name
}

// lines returns the table of groups: id, variable, the two lines, how often.
func (t *text) lines() {
	var rows [][3]string
	var widths [2]int
	for _, g := range t.shown {
		row := [3]string{g.lead.ID, g.lead.Location.Words(), g.where()}
		rows = append(rows, row)
		for i := range widths {
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
	}
	widths[1] = min(widths[1], t.opts.Width/3)
	for i, row := range rows {
		head := fmt.Sprintf("%-*s  %s  ", widths[0], row[0], pad(t.fit(row[1], t.opts.Width-widths[1]), widths[1]))
		tail := "  " + t.often(t.shown[i])
		t.printf("%s%s%s\n", head, t.fit(row[2], len([]rune(head))+len([]rune(tail))), tail)
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-len([]rune(s)), 0))
}

// Words describes the memory of a race in a few words: the variable, or the block and
// where it was allocated.
func (l *Location) Words() string {
	switch {
	case l.Local != nil:
		return l.Local.words()
	case l.Kind == "heap":
		return "block from " + lineOf(top(l.Stack))
	case l.Kind == "stack":
		return "stack of " + threadName(l.Thread)
	case l.Path != "":
		return index.ReplaceAllString(l.Path, "[]")
	case l.Symbol != "":
		return l.Symbol
	}
	return fmt.Sprintf("memory at 0x%x", l.Address)
}

// Words says what the access was and where: write in transfer bank.c:42.
func (a *Access) Words() string {
	s := a.Op.String()
	if a.Top.Function != "" {
		s += " in " + a.Top.Function
	}
	if a.Top.Line > 0 {
		s += fmt.Sprintf(" %s:%d", a.Top.File, a.Top.Line)
	}
	return s
}

// where describes the two lines of a group and their operations, the earlier access
// first.
func (g *groupOf) where() string {
	b, a := &g.lead.Accesses[0], &g.lead.Accesses[1]
	return fmt.Sprintf("%s %s, %s %s", lineOf(a.Top), a.verb(), lineOf(b.Top), b.verb())
}

// often says how often a group raced, and in which runs.
func (t *text) often(g *groupOf) string {
	s := numtext.Plural(g.dynamic, "time")
	var behind []string
	for _, f := range g.lead.Behind {
		if c := t.races[f]; c != nil && g.lead.Artifact == nil {
			behind = append(behind, c.ID)
		}
	}
	if len(behind) > 0 {
		s += ", behind " + strings.Join(behind, ", ")
	}
	if len(g.seeds) > 0 {
		seeds := slices.Clone(g.seeds)
		slices.Sort(seeds)
		s += fmt.Sprintf(", %s from %d", numtext.Plural(uint64(len(slices.Compact(seeds))), "seed"), seeds[0])
	}
	return s
}
