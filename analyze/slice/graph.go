package slice

import (
	"iter"

	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Graph is a whole execution trace as this package reads it. See package wet
// for what the methods return.
type Graph interface {
	Threads() []wet.Thread
	NumNodes() int
	Node(n wet.NodeID) *wet.Node
	// Sites are the places where the instruction at pc, or an outside statement
	// of that pc, is.
	Sites(pc uint64) []wet.Site
	// Executions is how often a thread executed a node.
	Executions(th event.ThreadID, n wet.NodeID) uint64
	// Time is the thread's timestamp of execution k of a node.
	Time(th event.ThreadID, n wet.NodeID, k uint64) (uint64, error)
	// Order places a thread's timestamp in the run: of two executions the one
	// with the smaller number began first.
	Order(th event.ThreadID, time uint64) uint64
	// Forward and Backward return a thread's executions from the one at a timestamp
	// on, that one included.
	Forward(th event.ThreadID, time uint64) iter.Seq2[wet.Execution, error]
	Backward(th event.ThreadID, time uint64) iter.Seq2[wet.Execution, error]
	// Value is what the instance left in its destination register; ok is false
	// when it has none.
	Value(i wet.Instance) (v uint64, ok bool, err error)
	// Addr is what the instance accessed; ok is false when it is no access.
	Addr(i wet.Instance) (addr uint64, size uint8, ok bool, err error)
	// Deps are the dependences of an instance, Users those on it.
	Deps(i wet.Instance) iter.Seq2[wet.Dep, error]
	Users(i wet.Instance) iter.Seq2[wet.Dep, error]
}

// framed is a graph that knows where calls return to: then what a call did need
// not be passed over to go on in its frame.
type framed interface {
	// Executed is the execution at a timestamp.
	Executed(th event.ThreadID, time uint64) (wet.Execution, error)
	// Returned is when a thread went on in the frame in which it called at a
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

// slotted is a Graph that tells where the dependences of a node's statements
// come from without asking for each statement: from statements of the same
// execution, or through slots that several statements share. A slice then asks
// for the label of a slot once per execution, whichever statements share it.
type slotted interface {
	Graph
	// Inputs are what a statement depends on.
	Inputs(n wet.NodeID, stmt uint32) []wet.Input
	// Slots is how many slots a node has.
	Slots(n wet.NodeID) int
	// Labels tells what execution k of a node depends on through each of the
	// slots, by their index.
	Labels(th event.ThreadID, n wet.NodeID, k uint64, slots []int32, tell func(i int, from wet.Instance) error) error
	// HasReaders reports whether Readers yields something for any instance of a
	// statement.
	HasReaders(th event.ThreadID, n wet.NodeID, stmt uint32) (bool, error)
	// Readers appends the slots through which others depend on an instance.
	Readers(i wet.Instance, dst []wet.Reader) ([]wet.Reader, error)
}
