package slicetest

import (
	"fmt"
	"iter"
	"slices"

	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// Statements returns all statements that ran, in the order of the run.
func (l *Log) Statements() []Statement { return l.stmts }

// Flow returns the program's control flow.
func (l *Log) Flow() *cfg.Program { return l.prog }

// Instance names statement n.
func (l *Log) Instance(n int) wet.Instance {
	s := &l.stmts[n]
	e := l.threads[s.Thread].execs[s.exec]
	return wet.Instance{Thread: s.Thread, Node: e.node, Stmt: s.stmt, K: e.k}
}

// Find returns the index of an instance.
func (l *Log) Find(i wet.Instance) (int, error) {
	if int64(i.Thread) >= int64(len(l.threads)) {
		return 0, fmt.Errorf("slicetest: no thread %d", i.Thread)
	}
	t := l.threads[i.Thread]
	list := t.byNode[i.Node]
	if i.K >= uint64(len(list)) || int(i.Stmt) >= len(l.nodes[i.Node].Stmts) {
		return 0, fmt.Errorf("slicetest: no instance %+v", i)
	}
	return t.execs[list[i.K]].first + int(i.Stmt), nil
}

// Threads implements slice.Graph, as the methods below do.
func (l *Log) Threads() []wet.Thread {
	out := make([]wet.Thread, len(l.threads))
	for n, t := range l.threads {
		out[n] = wet.Thread{ID: t.id, Times: uint64(len(t.execs)), Stmts: t.count}
	}
	return out
}

// NumNodes returns the number of nodes.
func (l *Log) NumNodes() int { return len(l.nodes) }

// Node returns a node.
func (l *Log) Node(n wet.NodeID) *wet.Node { return &l.nodes[n] }

// Sites returns the places where a statement of that pc stands.
func (l *Log) Sites(pc uint64) (sites []wet.Site) {
	for n := range l.nodes {
		for k, s := range l.nodes[n].Stmts {
			if s.PC == pc {
				sites = append(sites, wet.Site{Node: wet.NodeID(n), Stmt: uint32(k)})
			}
		}
	}
	return sites
}

// Executions returns how often the thread executed a node.
func (l *Log) Executions(th event.ThreadID, n wet.NodeID) uint64 {
	if int64(th) >= int64(len(l.threads)) {
		return 0
	}
	return uint64(len(l.threads[th].byNode[n]))
}

// Time returns the thread's timestamp of an execution.
func (l *Log) Time(th event.ThreadID, n wet.NodeID, k uint64) (uint64, error) {
	if k >= l.Executions(th, n) {
		return 0, fmt.Errorf("slicetest: no execution %d of node %d in thread %d", k, n, th)
	}
	return uint64(l.threads[th].byNode[n][k]), nil
}

// Order places an execution in the run.
func (l *Log) Order(th event.ThreadID, time uint64) uint64 {
	return uint64(l.threads[th].execs[time].first)
}

func (l *Log) execution(th event.ThreadID, time uint64) wet.Execution {
	e := l.threads[th].execs[time]
	return wet.Execution{Node: e.node, K: e.k, Time: time}
}

// Forward returns the thread's executions from time on.
func (l *Log) Forward(th event.ThreadID, time uint64) iter.Seq2[wet.Execution, error] {
	return func(yield func(wet.Execution, error) bool) {
		for ; time < uint64(len(l.threads[th].execs)) && yield(l.execution(th, time), nil); time++ {
		}
	}
}

// Backward returns the thread's executions from time back.
func (l *Log) Backward(th event.ThreadID, time uint64) iter.Seq2[wet.Execution, error] {
	return func(yield func(wet.Execution, error) bool) {
		if time >= uint64(len(l.threads[th].execs)) {
			return
		}
		for ; yield(l.execution(th, time), nil) && time > 0; time-- {
		}
	}
}

// Value returns what an instance produced.
func (l *Log) Value(i wet.Instance) (uint64, bool, error) {
	n, err := l.Find(i)
	if err != nil {
		return 0, false, err
	}
	s := &l.stmts[n]
	return s.Value, s.HasValue, nil
}

// Addr returns what an instance accessed.
func (l *Log) Addr(i wet.Instance) (uint64, uint8, bool, error) {
	n, err := l.Find(i)
	if err != nil {
		return 0, 0, false, err
	}
	s := &l.stmts[n]
	return s.Addr, s.Size, s.Size > 0, nil
}

// Deps returns the dependences of an instance.
func (l *Log) Deps(i wet.Instance) iter.Seq2[wet.Dep, error] {
	return func(yield func(wet.Dep, error) bool) {
		n, err := l.Find(i)
		if err != nil {
			yield(wet.Dep{}, err)
			return
		}
		for _, d := range l.stmts[n].Deps {
			if !yield(wet.Dep{Kind: d.Kind, Reg: d.Reg, From: l.Instance(d.From), To: i}, nil) {
				return
			}
		}
	}
}

// Users returns the dependences on an instance.
func (l *Log) Users(i wet.Instance) iter.Seq2[wet.Dep, error] {
	return func(yield func(wet.Dep, error) bool) {
		n, err := l.Find(i)
		if err != nil {
			yield(wet.Dep{}, err)
			return
		}
		if l.users == nil {
			l.users = make([][]int, len(l.stmts))
			for to := range l.stmts {
				for _, d := range l.stmts[to].Deps {
					if u := l.users[d.From]; len(u) == 0 || u[len(u)-1] != to {
						l.users[d.From] = append(u, to)
					}
				}
			}
		}
		for _, to := range l.users[n] {
			for _, d := range l.stmts[to].Deps {
				if d.From == n && !yield(wet.Dep{Kind: d.Kind, Reg: d.Reg, From: i, To: l.Instance(to)}, nil) {
					return
				}
			}
		}
	}
}

// Ordinals returns the statements of slices, of a thread each: for each thread the
// ordinals of its statements among the instances of set.
func (l *Log) Ordinals(set iter.Seq[wet.Instance]) (map[event.ThreadID][]uint64, error) {
	out := map[event.ThreadID][]uint64{}
	for i := range set {
		n, err := l.Find(i)
		if err != nil {
			return nil, err
		}
		out[i.Thread] = append(out[i.Thread], l.stmts[n].Ordinal)
	}
	return out, nil
}

// Slice returns the plain slice: the indexes of all statements that those of from depend
// on (or that depend on them), through dependences for which follow holds.
func (l *Log) Slice(from []int, forward bool, follow func(from, to int, d Dep) bool) map[int]bool {
	in := map[int]bool{}
	for _, n := range from {
		in[n] = true
	}
	if forward {
		// Every pass finds at least one more: dependences on a later statement
		// exist only where an environment call blocks, so few passes are made.
		for grew := true; grew; {
			grew = false
			for to := range l.stmts {
				for _, d := range l.stmts[to].Deps {
					if !in[to] && in[d.From] && follow(d.From, to, d) {
						in[to], grew = true, true
					}
				}
			}
		}
		return in
	}
	todo := slices.Clone(from)
	for len(todo) > 0 {
		to := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, d := range slices.Concat(l.stmts[to].Deps, l.Exits(to)) {
			if !in[d.From] && follow(d.From, to, d) {
				in[d.From] = true
				todo = append(todo, d.From)
			}
		}
	}
	return in
}
