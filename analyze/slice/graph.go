package slice

import (
	"iter"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Graph is a whole execution trace as this package reads it. See package wet for what the
// methods return.
type Graph interface {
	Threads() []wet.Thread
	NumNodes() int
	Node(n wet.NodeID) *wet.Node
	// Sites returns the places of the instruction at pc, or of an outside statement with
	// that pc.
	Sites(pc uint64) []wet.Site
	// Executions returns how often a thread executed a node.
	Executions(th event.ThreadID, n wet.NodeID) uint64
	// Time is the thread's timestamp of execution k of a node.
	Time(th event.ThreadID, n wet.NodeID, k uint64) (uint64, error)
	// Order returns the position in the run of a thread's timestamp: of two executions,
	// the one with the smaller number began first.
	Order(th event.ThreadID, time uint64) uint64
	// Forward and Backward return a thread's executions from the one at a timestamp on,
	// including that one.
	Forward(th event.ThreadID, time uint64) iter.Seq2[wet.Execution, error]
	Backward(th event.ThreadID, time uint64) iter.Seq2[wet.Execution, error]
	// Value returns what the instance left in its destination register. ok is false if it
	// has none.
	Value(i wet.Instance) (v uint64, ok bool, err error)
	// Addr returns what the instance accessed. ok is false if it is not an access.
	Addr(i wet.Instance) (addr uint64, size uint8, ok bool, err error)
	// Deps returns the dependences of an instance, and Users those on it.
	Deps(i wet.Instance) iter.Seq2[wet.Dep, error]
	Users(i wet.Instance) iter.Seq2[wet.Dep, error]
}

// framed is a graph that knows where calls return to. What a call did can then be skipped
// to continue in the caller's frame.
type framed interface {
	// Executed is the execution at a timestamp.
	Executed(th event.ThreadID, time uint64) (wet.Execution, error)
	// Returned returns when a thread continued in the frame in which it made a call at a
	// timestamp.
	Returned(th event.ThreadID, time uint64) (at uint64, ok bool, err error)
}

// place is a statement as one thread executes it.
type place struct {
	thread event.ThreadID
	node   wet.NodeID
	stmt   uint32
}

func placeOf(i wet.Instance) place { return place{i.Thread, i.Node, i.Stmt} }

func (p place) instance(k uint64) wet.Instance {
	return wet.Instance{Thread: p.thread, Node: p.node, Stmt: p.stmt, K: k}
}

func (p place) compare(q place) int {
	switch {
	case p == q:
		return 0
	case p.thread != q.thread:
		return order(p.thread < q.thread)
	case p.node != q.node:
		return order(p.node < q.node)
	}
	return order(p.stmt < q.stmt)
}

func order(less bool) int {
	if less {
		return -1
	}
	return 1
}

// slotted is a Graph that says where the dependences of a node's statements come from
// without a query for each statement: from statements of the same execution, or through
// slots that several statements share. A slice then reads the label of a slot once per
// execution, whichever statements share it.
type slotted interface {
	Graph
	// Inputs are what a statement depends on.
	Inputs(n wet.NodeID, stmt uint32) []wet.Input
	// Slots is how many slots a node has.
	Slots(n wet.NodeID) int
	// Labels calls tell with what execution k of a node depends on through each of the
	// slots, by index.
	Labels(th event.ThreadID, n wet.NodeID, k uint64, slots []int32, tell func(i int, from wet.Instance) error) error
	// HasReaders reports whether Readers yields something for any instance of a
	// statement.
	HasReaders(th event.ThreadID, n wet.NodeID, stmt uint32) (bool, error)
	// Readers appends the slots through which others depend on an instance.
	Readers(i wet.Instance, dst []wet.Reader) ([]wet.Reader, error)
}
