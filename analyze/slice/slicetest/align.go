package slicetest

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"hindsight/analyze/slice"
	"hindsight/wet"
)

// Aligned says which statement of a log each instance of a graph of the same run is: the
// nth statement of a thread in one is the nth in the other.
type Aligned struct {
	Graph slice.Graph
	Log   *Log
	Index map[wet.Instance]int // into Log.Statements
	Of    []wet.Instance       // the inverse
}

// Align walks over the control flow of a graph, for all threads from beginning to end,
// and compares it with the log: the statements and their order must be the same.
func Align(g slice.Graph, l *Log) (*Aligned, error) {
	a := &Aligned{Graph: g, Log: l, Index: map[wet.Instance]int{}, Of: make([]wet.Instance, len(l.stmts))}
	byThread := make([][]int, len(l.threads))
	for n := range l.stmts {
		t := l.stmts[n].Thread
		byThread[t] = append(byThread[t], n)
	}
	threads := g.Threads()
	if len(threads) != len(l.threads) {
		return nil, fmt.Errorf("slicetest: %d threads, want %d", len(threads), len(l.threads))
	}
	for n, t := range threads {
		if int(t.ID) != n || t.Stmts != uint64(len(byThread[n])) {
			return nil, fmt.Errorf("slicetest: thread %d is %+v, want %d statements", n, t, len(byThread[n]))
		}
		if err := a.thread(t, byThread[n]); err != nil {
			return nil, fmt.Errorf("slicetest: thread %d: %w", n, err)
		}
	}
	return a, nil
}

func (a *Aligned) thread(t wet.Thread, want []int) error {
	seen := map[wet.NodeID]uint64{}
	time, at := uint64(0), 0
	for e, err := range a.Graph.Forward(t.ID, 0) {
		if err != nil {
			return err
		}
		if e.Time != time || e.K != seen[e.Node] {
			return fmt.Errorf("execution %d is %+v, want number %d of the node", time, e, seen[e.Node])
		}
		node := a.Graph.Node(e.Node)
		for k, s := range node.Stmts {
			if at == len(want) {
				return fmt.Errorf("more than %d statements", at)
			}
			w := &a.Log.stmts[want[at]]
			if w.PC != s.PC || w.Kind != node.Kind || w.Inst != s.Inst {
				return fmt.Errorf("statement %d of execution %d is at %#x (%v, %+v), want %#x (%v, %+v)", k, time, s.PC, node.Kind, s.Inst, w.PC, w.Kind, w.Inst)
			}
			i := wet.Instance{Thread: t.ID, Node: e.Node, Stmt: uint32(k), K: e.K}
			a.Index[i] = want[at]
			a.Of[want[at]] = i
			at++
		}
		seen[e.Node]++
		time++
	}
	if at != len(want) || time != t.Times {
		return fmt.Errorf("%d statements in %d executions, want %d in %d", at, time, len(want), t.Times)
	}
	for n, times := range seen {
		if got := a.Graph.Executions(t.ID, n); got != times {
			return fmt.Errorf("node %d was executed %d times, want %d", n, got, times)
		}
	}
	return nil
}

// Check compares everything that a graph says about every instance with the log: values,
// addresses, timestamps, dependences in both directions.
func (a *Aligned) Check() error {
	users := make([][]wet.Dep, len(a.Of))
	for n := range a.Log.stmts {
		s := &a.Log.stmts[n]
		for _, d := range s.Deps {
			users[d.From] = append(users[d.From], wet.Dep{Kind: d.Kind, Reg: d.Reg, From: a.Of[d.From], To: a.Of[n]})
		}
	}
	for n := range a.Log.stmts {
		s := &a.Log.stmts[n]
		if err := a.one(n, users[n]); err != nil {
			return fmt.Errorf("slicetest: statement %d of thread %d, %v %v at %#x (%+v): %w", s.Ordinal, s.Thread, s.Kind, s.Inst.Op, s.PC, a.Of[n], err)
		}
	}
	return nil
}

func (a *Aligned) one(n int, users []wet.Dep) error {
	s, i := &a.Log.stmts[n], a.Of[n]
	if v, ok, err := a.Graph.Value(i); err != nil || ok != s.HasValue || ok && v != s.Value {
		return fmt.Errorf("value %#x %v %w, want %#x %v", v, ok, err, s.Value, s.HasValue)
	}
	if addr, size, ok, err := a.Graph.Addr(i); err != nil || ok != (s.Size > 0) || ok && (addr != s.Addr || size != s.Size) {
		return fmt.Errorf("address %#x, %d bytes, %v %w, want %#x, %d", addr, size, ok, err, s.Addr, s.Size)
	}
	var want []wet.Dep
	for _, d := range s.Deps {
		want = append(want, wet.Dep{Kind: d.Kind, Reg: d.Reg, From: a.Of[d.From], To: i})
	}
	if err := a.equal("dependences", a.Graph.Deps(i), want); err != nil {
		return err
	}
	return a.equal("users", a.Graph.Users(i), users)
}

func compareDeps(a, b wet.Dep) int {
	instance := func(a, b wet.Instance) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Stmt, b.Stmt), cmp.Compare(a.K, b.K))
	}
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reg, b.Reg), instance(a.From, b.From), instance(a.To, b.To))
}

// equal compares dependences as sets, in which none is twice.
func (a *Aligned) equal(what string, got iter.Seq2[wet.Dep, error], want []wet.Dep) error {
	var list []wet.Dep
	for d, err := range got {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		list = append(list, d)
	}
	slices.SortFunc(list, compareDeps)
	want = slices.SortedFunc(slices.Values(want), compareDeps)
	if !slices.Equal(list, want) {
		return fmt.Errorf("%s %s, want %s", what, a.text(list), a.text(want))
	}
	return nil
}

// text shows dependences by the statements that they lead to.
func (a *Aligned) text(list []wet.Dep) (out []string) {
	end := func(i wet.Instance) string {
		n, ok := a.Index[i]
		if !ok {
			return fmt.Sprintf("%+v?", i)
		}
		s := &a.Log.stmts[n]
		return fmt.Sprintf("T%d.%d@%#x", s.Thread, s.Ordinal, s.PC)
	}
	for _, d := range list {
		out = append(out, fmt.Sprintf("%v x%d %s→%s", d.Kind, d.Reg, end(d.From), end(d.To)))
	}
	return out
}

// Backward compares the walk backward over a thread's control flow with the walk forward,
// from a timestamp on.
func (a *Aligned) Backward(t wet.Thread, time uint64) error {
	var forward []wet.Execution
	for e, err := range a.Graph.Forward(t.ID, 0) {
		if err != nil {
			return err
		}
		forward = append(forward, e)
		if e.Time == time {
			break
		}
	}
	slices.Reverse(forward)
	n := 0
	for e, err := range a.Graph.Backward(t.ID, time) {
		if err != nil {
			return err
		}
		if n >= len(forward) || e != forward[n] {
			return fmt.Errorf("slicetest: thread %d, %d back from %d: %+v", t.ID, n, time, e)
		}
		n++
	}
	if n != len(forward) {
		return fmt.Errorf("slicetest: thread %d, back from %d: %d executions, want %d", t.ID, time, n, len(forward))
	}
	return nil
}
