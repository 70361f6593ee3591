package annotate

import (
	"container/heap"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/wet"
)

// ErrNotInSlice says that a line is not in a slice.
var ErrNotInSlice = errors.New("not in the slice")

// whyReach limits the instances that are searched for a path.
const whyReach = 4 << 20

// visit is an instance that a search for a path reached.
type visit struct {
	dist     int
	to       int // the previous visit, nearer to where the slice began; -1: none
	relation slice.Relation
	of       wet.Instance
}

// visits is a heap of indexes into a list of visits, with the nearest on top.
type visits struct {
	list []visit
	open []int
}

func (q *visits) Len() int { return len(q.open) }
func (q *visits) Less(i, j int) bool {
	a, b := q.open[i], q.open[j]
	if q.list[a].dist != q.list[b].dist {
		return q.list[a].dist < q.list[b].dist
	}
	return a < b
}
func (q *visits) Swap(i, j int) { q.open[i], q.open[j] = q.open[j], q.open[i] }
func (q *visits) Push(x any)    { q.open = append(q.open, x.(int)) }
func (q *visits) Pop() any {
	last := q.open[len(q.open)-1]
	q.open = q.open[:len(q.open)-1]
	return last
}

// way finds the cheapest path from where a backward slice began to an instance of a line.
// Each step of the path is one dependence of one instance.
func (v *view) way(target int) (list []visit, err error) {
	f := v.Follower()
	q := &visits{}
	best := map[wet.Instance]int{}
	push := func(x visit) {
		if d, ok := best[x.of]; ok && d <= x.dist {
			return
		}
		best[x.of] = x.dist
		q.list = append(q.list, x)
		heap.Push(q, len(q.list)-1)
	}
	for _, i := range v.Criterion() {
		push(visit{to: -1, of: i})
	}
	for q.Len() > 0 && len(q.list) < whyReach {
		at := heap.Pop(q).(int)
		x := q.list[at]
		if best[x.of] < x.dist {
			continue
		}
		here := v.rowOf(x.of)
		if here == target {
			for ; at >= 0; at = q.list[at].to {
				list = append(list, q.list[at])
			}
			return list, nil
		}
		n := v.Graph().Node(x.of.Node)
		err := f.Deps(x.of, func(d wet.Dep) error {
			rel := slice.ByValue
			if n.Kind == wet.NodePath || d.Kind != wet.DepRegister {
				rel = slice.Relate(n.Stmts[x.of.Stmt].Inst, d.Kind, d.Reg)
			}
			cost := stepCost[rel]
			if rel == slice.ByValue && (v.rowOf(d.From) == here || f.Passed(d.From)) {
				cost = 0
			}
			push(visit{x.dist + cost, at, rel, d.From})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, ErrNotInSlice
}

// rowOf returns the row of an instance, or -1 if it is only passed through or not in the
// slice.
func (v *view) rowOf(i wet.Instance) int {
	if v.rowAt == nil {
		v.rowAt = map[wet.Site]int{}
		for n := range v.Statements() {
			for i := range v.Of(n) {
				v.rowAt[wet.Site{Node: i.Node, Stmt: i.Stmt}] = v.of[n]
			}
		}
	}
	if row, ok := v.rowAt[wet.Site{Node: i.Node, Stmt: i.Stmt}]; ok {
		return row
	}
	return -1
}

// line finds the row that text names. Text is file.c:42, or the number of a line in the
// file where the slice began.
func (v *view) line(text string) (int, error) {
	name, digits, named := strings.Cut(text, ":")
	if !named {
		digits = text
	}
	line, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("%s: want a line: 42 or file.c:42", text)
	}
	var found []int
	for i := range v.rows {
		k := v.rows[i].key
		if k.kind == rowLine && k.line == line && (!named || k.file == name || path.Base(k.file) == name || strings.HasSuffix(k.file, "/"+name)) {
			found = append(found, i)
		}
	}
	if !named && len(found) > 1 {
		for _, n := range v.begins() {
			if own := slices.IndexFunc(found, func(i int) bool { return v.rows[i].key.file == v.rows[v.of[n]].key.file }); own >= 0 {
				return found[own], nil
			}
		}
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("%s: %w", text, ErrNotInSlice)
	}
	return found[0], nil
}

// writeWhy writes the path from where a slice began to a line.
func (t *textWriter) writeWhy(v *view, line string) error {
	if v.Options().Direction == slice.Forward {
		return errors.New("the path is shown only for backward slices")
	}
	target, err := v.line(line)
	if err != nil {
		return err
	}
	list, err := v.way(target)
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	t.printf("%s\n\n", t.paint(bold, t.clip("how "+placeText(&v.rows[target])+" led there:")))
	width := 4
	for _, x := range list {
		if row := v.rowOf(x.of); row >= 0 && v.rows[row].key.kind == rowLine {
			width = max(width, min(placeWidth, len(placeText(&v.rows[row]))))
		}
	}
	var past []string
	for n := 0; n < len(list); {
		row, rel, end := v.rowOf(list[n].of), list[n].relation, n
		for end+1 < len(list) && (v.rowOf(list[end+1].of) == row || v.rowOf(list[end+1].of) < 0) {
			end++
			rel = max(rel, list[end].relation)
		}
		if row >= 0 && v.rows[row].key.kind == rowLine && (t.opts.All || v.mine(&v.rows[row])) {
			if len(past) > 0 {
				t.printf("   %*s    through %s\n", width+6, "", t.clipTo(strings.Join(past, ", "), t.opts.Width-width-20))
				past = nil
			}
			t.whyRow(v, row, list[n:end+1], rel, width)
		} else if row >= 0 && v.rows[row].function != "" && !slices.Contains(past, v.rows[row].function) {
			past = append(past, v.rows[row].function)
		}
		n = end + 1
	}
	if len(past) > 0 {
		t.printf("   %*s    through %s\n", width+6, "", strings.Join(past, ", "))
	}
	return nil
}

// whyRow writes one line of a path, with the values that it had then.
func (t *textWriter) whyRow(v *view, row int, list []visit, rel slice.Relation, width int) {
	r := &v.rows[row]
	t.printf("  T%-3d %-*s  %s\n", list[0].of.Thread, width, placeText(r), t.clipTo(strings.TrimLeft(t.what(v, r), " "), t.opts.Width-width-9))
	text := ""
	for _, x := range list {
		name := slice.VariableOf(v.img, v.Graph(), x.of)
		in := v.Graph().Node(x.of.Node).Stmts[x.of.Stmt].Inst
		value, ok, err := slice.Stored(v.Graph(), x.of)
		if _, store := storedRegister(in); !store {
			value, ok, err = v.Graph().Value(x.of)
		}
		if err == nil && ok && name != "" {
			text = fmt.Sprintf("%s = %s", name, valueText(in, value))
		}
	}
	words := [...]string{"the value goes to", "it ended the loop before", "it decided that this ran:", "it said where this reads or writes:", "it came before", "it might have changed what this reads:"}
	if list[len(list)-1].to >= 0 {
		if text != "" {
			text += "; "
		}
		text += words[rel]
	}
	if text != "" {
		t.printf("       %*s  %s\n", width, "", t.paint(dim, t.clipTo(text, t.opts.Width-width-9)))
	}
}
