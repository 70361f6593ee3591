package wet

import (
	"fmt"
	"iter"
	"sort"

	"hindsight/tracefmt/event"
)

// Walk is a position between two executions in a thread's control flow. A step
// costs the same in either direction.
type Walk struct {
	g    *Graph
	t    *threadView
	at   uint64 // the timestamp after the position
	te   *threadEpoch
	flow *flow
}

// Walk returns a walk along a thread's control flow, positioned before timestamp
// t, which may be the number of timestamps at most.
func (g *Graph) Walk(th event.ThreadID, t uint64) (*Walk, error) {
	if uint64(th) >= uint64(len(g.threads)) || t > g.threads[th].Times {
		return nil, fmt.Errorf("%w: time %d of thread %d", ErrNoSuch, t, th)
	}
	return &Walk{g: g, t: g.threads[th], at: t}, nil
}

// Next returns the execution after the position and steps over it. ok is false at the
// end.
func (w *Walk) Next() (e Execution, ok bool, err error) {
	if w.at >= w.t.Times {
		return e, false, nil
	}
	if e, err = w.get(w.at); err != nil {
		return e, false, err
	}
	w.at++
	return e, true, nil
}

// Prev returns the execution before the position and steps back over it. ok is false at
// the beginning.
func (w *Walk) Prev() (e Execution, ok bool, err error) {
	if w.at == 0 {
		return e, false, nil
	}
	if e, err = w.get(w.at - 1); err != nil {
		return e, false, err
	}
	w.at--
	return e, true, nil
}

func (w *Walk) get(t uint64) (Execution, error) {
	if w.te == nil || t-w.te.began >= w.te.n {
		list := w.t.epochs
		i := sort.Search(len(list), func(i int) bool { return list[i].began+list[i].n > t })
		w.te, w.flow = list[i], nil
	}
	x := t - w.te.began
	if w.flow == nil {
		steps, err := w.g.steps(w.te)
		if err != nil {
			return Execution{}, err
		}
		if steps != nil {
			node, k := steps.at(x)
			s := w.te.spans[node]
			return Execution{Node: s.node, K: s.began + uint64(k), Time: t}, nil
		}
		if w.flow, err = w.g.flow(w.te); err != nil {
			return Execution{}, err
		}
	}
	at := w.flow.steps[x]
	s := w.te.spans[at.span]
	return Execution{Node: s.node, K: s.began + uint64(at.k), Time: t}, nil
}

// Forward returns a thread's executions from timestamp t on. The sequence ends
// after the first error.
func (g *Graph) Forward(th event.ThreadID, t uint64) iter.Seq2[Execution, error] {
	return func(yield func(Execution, error) bool) {
		w, err := g.Walk(th, t)
		for err == nil {
			var e Execution
			var ok bool
			if e, ok, err = w.Next(); err == nil && (!ok || !yield(e, nil)) {
				return
			}
		}
		yield(Execution{}, err)
	}
}

// Backward returns a thread's executions from timestamp t backward. The sequence ends
// after the first error.
func (g *Graph) Backward(th event.ThreadID, t uint64) iter.Seq2[Execution, error] {
	return func(yield func(Execution, error) bool) {
		if uint64(th) < uint64(len(g.threads)) && t < g.threads[th].Times {
			t++
		}
		w, err := g.Walk(th, t)
		for err == nil {
			var e Execution
			var ok bool
			if e, ok, err = w.Prev(); err == nil && (!ok || !yield(e, nil)) {
				return
			}
		}
		yield(Execution{}, err)
	}
}
