package annotate

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/wet"
)

// Rows are ranked by their distance from where the slice began, which is the cost of the
// cheapest path along the dependences of statements. A step inside a row costs nothing if
// it is a dependence on a value.

// stepCost is the cost of a step to another row, by its meaning. A step inside a row
// costs the same, except for dependences on values.
var stepCost = [...]int{slice.ByValue: 1, slice.ByEnd: 2, slice.ByControl: 3, slice.ByAddress: 3, slice.ByOrder: 3, slice.ByOmission: 1}

// far is the distance of what no path leads to.
const far = int(^uint(0) >> 1)

// step is the next statement on the path from a statement to where the slice began. to is
// negative where the slice began.
type step struct {
	to       int
	relation slice.Relation
	crossing bool // to another thread
	arrow    int
}

// ranking has the distances of a view's statements, and the paths.
type ranking struct {
	dist []int
	next []step
}

// rank finds the paths in a slice whose rows are those of v.
func (v *view) rank() *ranking {
	stmts := v.Statements()
	r := &ranking{dist: make([]int, len(stmts)), next: make([]step, len(stmts))}
	for n := range stmts {
		r.dist[n], r.next[n].to = far, -1
	}
	forward := v.Options().Direction == slice.Forward
	arrows := make([][]int, len(stmts)) // by the nearer end
	for n, a := range v.arrows {
		near := a.To
		if forward {
			near = a.From
		}
		arrows[near] = append(arrows[near], n)
	}
	q := &statementQueue{r: r}
	entries, inside := v.entries(), 0
	if len(entries) > 0 {
		inside = insideCost
	}
	for _, n := range v.begins() {
		r.dist[n] = inside
		heap.Push(q, queued{inside, n})
	}
	for _, e := range entries {
		d := 0
		if e.to >= 0 && v.of[e.to] != v.of[e.stmt] {
			d = stepCost[slice.ByValue]
		}
		if e.to < 0 {
			v.rows[v.of[e.stmt]].begun = true
		}
		r.dist[e.stmt], r.next[e.stmt].to = d, e.to
		heap.Push(q, queued{d, e.stmt})
	}
	for q.Len() > 0 {
		x := heap.Pop(q).(queued)
		if x.dist > r.dist[x.stmt] {
			continue
		}
		for _, at := range arrows[x.stmt] {
			a := &v.arrows[at]
			other := a.From
			if forward {
				other = a.To
			}
			rel := slice.Relate(stmts[a.To].Inst, a.Kind, a.Reg)
			if stmts[a.To].Kind != wet.NodePath && a.Kind == wet.DepRegister {
				rel = slice.ByValue
			}
			cost := stepCost[rel]
			if rel == slice.ByValue && v.of[other] == v.of[x.stmt] {
				cost = 0
			}
			if d := x.dist + cost; d < r.dist[other] {
				r.dist[other] = d
				r.next[other] = step{x.stmt, rel, a.Crossing > 0, at}
				heap.Push(q, queued{d, other})
			}
		}
	}
	return r
}

// begins returns the statements of the criterion.
func (v *view) begins() (list []int) {
	stmts := v.Statements()
	for _, i := range v.Criterion() {
		n := v.Graph().Node(i.Node)
		pc := n.Stmts[i.Stmt].PC
		for s := range stmts {
			if stmts[s].PC == pc && stmts[s].Kind == n.Kind && stmts[s].Callee == n.Callee && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

type queued struct{ dist, stmt int }

// statementQueue is a heap with the nearest statement on top. Among equally near ones,
// that is the one with the lowest address.
type statementQueue struct {
	list []queued
	r    *ranking
}

func (q *statementQueue) Len() int { return len(q.list) }
func (q *statementQueue) Less(i, j int) bool {
	if q.list[i].dist != q.list[j].dist {
		return q.list[i].dist < q.list[j].dist
	}
	return q.list[i].stmt < q.list[j].stmt
}
func (q *statementQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *statementQueue) Push(x any)    { q.list = append(q.list, x.(queued)) }
func (q *statementQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// of returns the distance of a statement and the next step on its path. The step is nil
// if no path leads there, or if the slice began there.
func (r *ranking) of(stmt int) (distance, next *int) {
	if r.dist[stmt] == far {
		return nil, nil
	}
	distance = &r.dist[stmt]
	if r.next[stmt].to >= 0 {
		next = &r.next[stmt].to
	}
	return distance, next
}

// nearest returns the nearest statement of a row, or -1 if no path leads there.
func (r *ranking) nearest(row *row) int {
	best := -1
	for _, n := range row.stmts {
		if r.dist[n] < far && (best < 0 || r.dist[n] < r.dist[best]) {
			best = n
		}
	}
	return best
}

// way says how a row leads to where the slice began: by the next row that is shown.
type way struct {
	to       int
	relation slice.Relation
	crossing *slice.Arrow // nil if it does not cross threads
	past     []int        // the rows in between that are not shown
}

// onward finds the next step from a row. ok is false for a row that the slice began with.
func (v *view) onward(r *ranking, row *row) (w way, ok bool) {
	at := r.nearest(row)
	if at < 0 {
		return w, false
	}
	here := v.of[at]
	for {
		if v.of[at] != here {
			here = v.of[at]
			if !v.pass[here] {
				break
			}
			w.past = append(w.past, here)
		}
		s := r.next[at]
		if s.to < 0 {
			break
		}
		w.relation = max(w.relation, s.relation)
		if s.crossing {
			w.crossing = &v.arrows[s.arrow]
		}
		at = s.to
	}
	w.to = v.of[at]
	if &v.rows[w.to] == row {
		return w, false
	}
	if v.pass[w.to] { // the slice began in a library
		w.to = -1
		return w, true
	}
	// A value that is only used as an address in that row is an address.
	for w.relation == slice.ByValue && r.next[at].to >= 0 && v.of[r.next[at].to] == w.to {
		if r.next[at].relation == slice.ByAddress {
			w.relation = slice.ByAddress
		}
		at = r.next[at].to
	}
	return w, true
}

// relationText says what a row means for another row, which place names.
func relationText(rel slice.Relation, forward bool, place string) string {
	words := [...]string{"used by ", "ended the loop before ", "decides ", "address for ", "comes before ", "might have changed what is read in "}
	if forward {
		words = [...]string{"uses ", "after the loop that ended at ", "decided by ", "address from ", "comes after ", ""}
	}
	return words[rel] + place
}

// wayText says how a row leads to where the slice began.
func (v *view) wayText(r *ranking, row *row) string {
	w, ok := v.onward(r, row)
	if !ok {
		return ""
	}
	text := "leads there"
	if w.to >= 0 {
		text = relationText(w.relation, v.Options().Direction == slice.Forward, v.nameOf(&v.rows[w.to], row.key.file))
	}
	if w.crossing != nil && w.to >= 0 && v.rows[w.to].key.kind != rowOutside {
		text += crossText(&v.rows[w.to])
		if name := v.variable(w.crossing.From); name != "" && w.crossing.Kind == wet.DepMemory {
			text += " through " + name
		}
	}
	var names []string
	for _, i := range w.past {
		if name := v.rows[i].function; name != "" && v.rows[i].key.kind != rowOutside && !v.mine(&v.rows[i]) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if n := len(names); n > 3 {
		names = append(names[:2], "…", names[n-1])
	}
	if len(names) > 0 {
		text += " by way of " + strings.Join(names, ", ")
	}
	return text
}

// byDistance orders rows by distance, and rows with the same distance by place.
func (v *view) byDistance(r *ranking) []int {
	order := make([]int, len(v.rows))
	for i := range order {
		order[i] = i
	}
	dist := func(i int) int {
		if n := r.nearest(&v.rows[i]); n >= 0 {
			return r.dist[n]
		}
		return far
	}
	slices.SortStableFunc(order, func(a, b int) int {
		da, db := dist(a), dist(b)
		switch {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return 0
	})
	return order
}

// rowText returns the distance of a row as text.
func (r *ranking) rowText(row *row) string {
	if n := r.nearest(row); n >= 0 {
		return distanceText(r.dist[n])
	}
	return distanceText(far)
}

// distanceText formats a distance.
func distanceText(d int) string {
	if d == far {
		return "-"
	}
	return fmt.Sprint(d)
}
