package slice

import (
	"errors"
	"fmt"
	"iter"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Produced is a value that an instance left in its destination register.
type Produced struct {
	wet.Instance
	PC    uint64
	Time  uint64 // of the thread
	Order uint64 // in the run
	Value uint64
}

// ValuesAt returns the values that the instructions at pcs produced in a thread
// (AllThreads: in all of them), in the order of the run.
func ValuesAt(g Graph, pcs []uint64, thread int) iter.Seq2[Produced, error] {
	return func(yield func(Produced, error) bool) {
		defer stepping(g)()
		for a, err := range inOrder(g, placesOf(g, pcs, thread), nil) {
			if err != nil {
				yield(Produced{}, err)
				return
			}
			v, ok, err := g.Value(a.Instance)
			if err != nil {
				yield(Produced{}, err)
				return
			}
			if ok && !yield(Produced{a.Instance, pcOf(g, a.Instance), a.Time, a.Order, v}, nil) {
				return
			}
		}
	}
}

// stepping announces to a graph that the next queries go through executions in order,
// until the returned function is called.
func stepping(g Graph) (done func()) {
	s, ok := g.(interface{ Stepping(on bool) })
	if !ok {
		return func() {}
	}
	s.Stepping(true)
	return func() { s.Stepping(false) }
}

func pcOf(g Graph, i wet.Instance) uint64 { return g.Node(i.Node).Stmts[i.Stmt].PC }

// Touched is memory that an instance accessed.
type Touched struct {
	wet.Instance
	PC    uint64
	Time  uint64
	Order uint64
	Addr  uint64
	Size  uint8
}

// AddrsAt returns what the instructions at pcs accessed, in the manner of ValuesAt.
func AddrsAt(g Graph, pcs []uint64, thread int) iter.Seq2[Touched, error] {
	return func(yield func(Touched, error) bool) {
		defer stepping(g)()
		for a, err := range inOrder(g, placesOf(g, pcs, thread), nil) {
			if err != nil {
				yield(Touched{}, err)
				return
			}
			addr, size, ok, err := g.Addr(a.Instance)
			if err != nil {
				yield(Touched{}, err)
				return
			}
			if ok && !yield(Touched{a.Instance, pcOf(g, a.Instance), a.Time, a.Order, addr, size}, nil) {
				return
			}
		}
	}
}

// Write is an instance that wrote memory.
type Write struct {
	wet.Instance
	PC       uint64
	Time     uint64
	Order    uint64
	Addr     uint64
	Size     uint8
	Value    uint64 // the low Size bytes of the stored value
	HasValue bool   // false if it is not in the trace: for most AMOs, and for registers that were set outside
}

// WritesTo returns the instructions' writes to any of size bytes from addr on, by
// all threads, in the order of the run. Writes by the kernel and by hidden calls
// have no address in a graph and are not among them. It reads the address of
// every store of the run, and again those of the statements that wrote there.
func WritesTo(g Graph, addr, size uint64) iter.Seq2[Write, error] {
	return func(yield func(Write, error) bool) {
		hits := func(i wet.Instance) (bool, error) {
			a, n, ok, err := g.Addr(i)
			return ok && a < addr+size && addr < a+uint64(n), err
		}
		places, err := writers(g, hits)
		if err != nil {
			yield(Write{}, err)
			return
		}
		for a, err := range inOrder(g, places, hits) {
			if err != nil {
				yield(Write{}, err)
				return
			}
			w, ok, err := written(g, a)
			if err != nil || ok {
				if !yield(w, err) || err != nil {
					return
				}
			}
		}
	}
}

// writers returns the places that write and for which hits holds at least once.
func writers(g Graph, hits func(wet.Instance) (bool, error)) (places []place, err error) {
	for n := range g.NumNodes() {
		node := g.Node(wet.NodeID(n))
		for k := range node.Stmts {
			if !stores(node.Stmts[k].Inst) {
				continue
			}
			for _, p := range placesAt(g, wet.Site{Node: wet.NodeID(n), Stmt: uint32(k)}, AllThreads) {
				for e := range g.Executions(p.thread, p.node) {
					hit, err := hits(p.instance(e))
					if err != nil {
						return nil, err
					}
					if hit {
						places = append(places, p)
						break
					}
				}
			}
		}
	}
	return places, nil
}

// stores reports whether an instruction may write memory.
func stores(i rv.Inst) bool {
	if i.Atomic() {
		return i.Op != rv.OpLRW && i.Op != rv.OpLRD
	}
	access, _, ok := i.Mem()
	return ok && access == event.Write
}

// written returns the Write of an instance. ok is false for a store-conditional that
// failed.
func written(g Graph, a at) (Write, bool, error) {
	inst := g.Node(a.Node).Stmts[a.Stmt].Inst
	w := Write{Instance: a.Instance, PC: pcOf(g, a.Instance), Time: a.Time, Order: a.Order}
	var err error
	if w.Addr, w.Size, _, err = g.Addr(a.Instance); err != nil {
		return w, false, err
	}
	switch inst.Op {
	case rv.OpSCW, rv.OpSCD:
		v, ok, err := g.Value(a.Instance)
		if err != nil || ok && v != 0 {
			return w, false, err
		}
	default:
		if inst.Atomic() && inst.Op != rv.OpAMOSWAPW && inst.Op != rv.OpAMOSWAPD {
			return w, true, nil
		}
	}
	w.Value, w.HasValue, err = register(g, a.Instance, source(inst))
	if w.Size < 8 {
		w.Value &= 1<<(8*w.Size) - 1
	}
	return w, true, err
}

// Stored returns what a store stored in the bytes that it wrote, as a signed number of
// that size. ok is false if it is not in the trace.
func Stored(g Graph, i wet.Instance) (v uint64, ok bool, err error) {
	w, wrote, err := written(g, at{Instance: i})
	if err != nil || !wrote || !w.HasValue || w.Size == 0 {
		return 0, false, err
	}
	shift := 64 - 8*uint(w.Size)
	return uint64(int64(w.Value<<shift) >> shift), true, nil
}

// source returns the register that a store stores, numbered as in rv.RegSet.
func source(i rv.Inst) uint8 {
	if i.StoresFloat() {
		return rv.RegF + i.Rs2
	}
	return i.Rs2
}

// register returns the value of a register for an instance that uses it, which is what
// its producer left there. ok is false if the graph does not have it.
func register(g Graph, i wet.Instance, reg uint8) (v uint64, ok bool, err error) {
	if reg == 0 {
		return 0, true, nil
	}
	for d, err := range g.Deps(i) {
		if err != nil {
			return 0, false, err
		}
		if d.Kind != wet.DepRegister || d.Reg != reg {
			continue
		}
		n := g.Node(d.From.Node)
		outside := n.Kind != wet.NodePath || n.Stmts[d.From.Stmt].Inst.Op == rv.OpECALL
		if outside && reg != regA0 {
			return 0, false, nil // only the result of a call is in the graph
		}
		return g.Value(d.From)
	}
	return 0, true, nil // nothing wrote it: a thread begins with zeros except for the registers set at its start
}

// Registers of the calling convention and of environment calls.
const (
	regA0 = 10
	regA1 = 11
	regA2 = 12
	regA7 = 17
)

// ControlFlow returns a thread's executions of nodes from a timestamp on, forward or
// backward.
func ControlFlow(g Graph, thread event.ThreadID, time uint64, backward bool) iter.Seq2[wet.Execution, error] {
	list := g.Forward
	if backward {
		list = g.Backward
	}
	return func(yield func(wet.Execution, error) bool) {
		defer stepping(g)()
		for e, err := range list(thread, time) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Which selects among the executions of a target: an ordinal from 0, First, Last or All.
type Which int64

const (
	Last Which = -1 - iota
	All
	First = Which(0)
)

// ErrNoInstance says that a target does not have the requested instance.
var ErrNoInstance = errors.New("no such instance")

// Instances returns the statement instances of a target. All instructions of the target
// in one execution of a node count as one execution of the target. Executions are
// numbered in the order of the run, for one thread or for AllThreads. A target that is a
// variable stands for the writes to it.
func Instances(g Graph, t *Target, thread int, which Which) ([]wet.Instance, error) {
	if len(t.PCs) == 0 && t.Size > 0 {
		return lastWrites(g, t, thread, which)
	}
	places := placesOf(g, t.PCs, thread)
	groups := byNode(places)
	if which == All {
		var out []wet.Instance
		for _, p := range places {
			for k := range g.Executions(p.thread, p.node) {
				out = append(out, p.instance(k))
			}
		}
		return out, nil
	}
	heads := make([]place, 0, len(groups))
	for _, group := range groups {
		heads = append(heads, group[0])
	}
	one, err := choose(g, heads, which)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Text, err)
	}
	for _, group := range groups {
		if group[0] == placeOf(one) {
			var out []wet.Instance
			for _, p := range group {
				out = append(out, p.instance(one.K))
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", t.Text, ErrNoInstance)
}

// byNode groups sorted places by thread and node.
func byNode(places []place) (groups [][]place) {
	for n, p := range places {
		if n > 0 && p.thread == places[n-1].thread && p.node == places[n-1].node {
			groups[len(groups)-1] = append(groups[len(groups)-1], p)
			continue
		}
		groups = append(groups, []place{p})
	}
	return groups
}

// choose returns one instance of the places by its ordinal.
func choose(g Graph, places []place, which Which) (wet.Instance, error) {
	if which == Last {
		var last at
		for n, p := range places {
			c := cursor{at: at{Instance: p.instance(g.Executions(p.thread, p.node) - 1)}, end: g.Executions(p.thread, p.node)}
			if _, err := c.settle(g, nil); err != nil {
				return wet.Instance{}, err
			}
			if n == 0 || last.before(&c.at) {
				last = c.at
			}
		}
		if len(places) == 0 {
			return wet.Instance{}, ErrNoInstance
		}
		return last.Instance, nil
	}
	return nth(g, places, uint64(which))
}

// nth returns the instance with n others of the places before it in the run. It bisects
// positions in the run; the number of instances up to a position is found by bisection
// too, place by place.
func nth(g Graph, places []place, n uint64) (wet.Instance, error) {
	total, end := uint64(0), uint64(0)
	for _, p := range places {
		count := g.Executions(p.thread, p.node)
		total += count
		o, err := orderOf(g, p.instance(count-1))
		if err != nil {
			return wet.Instance{}, err
		}
		end = max(end, o)
	}
	if n >= total {
		return wet.Instance{}, fmt.Errorf("%w: there are %d", ErrNoInstance, total)
	}
	low, high := uint64(0), end // the position of the instance in the run is between low and high
	for low < high {
		mid := low + (high-low)/2
		upTo := uint64(0)
		for _, p := range places {
			k, err := executionsTo(g, p, mid)
			if err != nil {
				return wet.Instance{}, err
			}
			upTo += k
		}
		if upTo > n {
			high = mid
		} else {
			low = mid + 1
		}
	}
	for _, p := range places {
		k, err := executionsTo(g, p, low)
		if err != nil {
			return wet.Instance{}, err
		}
		if k == 0 {
			continue
		}
		if o, err := orderOf(g, p.instance(k-1)); err != nil || o == low {
			return p.instance(k - 1), err
		}
	}
	return wet.Instance{}, ErrNoInstance
}

// executionsTo counts a place's executions up to a position in the run (inclusive).
func executionsTo(g Graph, p place, order uint64) (uint64, error) {
	low, high := uint64(0), g.Executions(p.thread, p.node)
	for low < high {
		mid := low + (high-low)/2
		o, err := orderOf(g, p.instance(mid))
		if err != nil {
			return 0, err
		}
		if o <= order {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

func orderOf(g Graph, i wet.Instance) (uint64, error) {
	t, err := g.Time(i.Thread, i.Node, i.K)
	if err != nil {
		return 0, err
	}
	return g.Order(i.Thread, t), nil
}

func lastWrites(g Graph, t *Target, thread int, which Which) ([]wet.Instance, error) {
	var out []wet.Instance
	n := Which(0)
	for w, err := range WritesTo(g, t.Addr, t.Size) {
		if err != nil {
			return nil, err
		}
		if thread != AllThreads && w.Thread != event.ThreadID(thread) {
			continue
		}
		switch which {
		case All:
			out = append(out, w.Instance)
		case Last:
			out = append(out[:0], w.Instance)
		case n:
			return []wet.Instance{w.Instance}, nil
		}
		n++
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w: it was written %d times", t.Text, ErrNoInstance, n)
	}
	return out, nil
}

// Nth returns the nth instance, from 0, of the instruction at pc in a thread.
func Nth(g Graph, thread event.ThreadID, pc, n uint64) (wet.Instance, error) {
	i, err := choose(g, placesOf(g, []uint64{pc}, int(thread)), Which(n))
	if err != nil {
		return i, fmt.Errorf("slice: execution %d of %#x in thread %d: %w", n, pc, thread, err)
	}
	return i, nil
}
