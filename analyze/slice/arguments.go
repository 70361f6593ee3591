package slice

import (
	"slices"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// A call instruction uses none of the registers of its arguments, so a slice that begins
// at a call would not include them. Arguments finds the instances that computed them.

// argumentReach limits the executions of nodes that are searched backward.
const argumentReach = 64

// Arguments returns the instances that computed the arguments of the calls among some
// instances. For each argument register, from the first one on and as many as the
// function takes according to the debug information, that is the last instance that wrote
// it. If the function is not known, registers count as long as they were written since
// the previous call, which leaves nothing in them but its result.
func Arguments(g Graph, img *image.Space, of []wet.Instance) (args []wet.Instance, err error) {
	for _, i := range of {
		n := g.Node(i.Node)
		if n.Kind != wet.NodePath {
			continue
		}
		switch end := n.Stmts[i.Stmt].Inst.End(); end {
		case event.EndCall, event.EndCallInd:
		default:
			continue
		}
		defined, err := definedFor(g, i)
		if err != nil {
			return nil, err
		}
		most := calleeParams(g, img, i)
		for _, first := range [...]uint8{regA0, rv.RegF + regA0} {
			for r := first; r < first+8; r++ {
				who, ok := defined[r]
				if !ok || most >= 0 && r == first+uint8(most) {
					break
				}
				if !slices.Contains(args, who) && !slices.Contains(of, who) {
					args = append(args, who)
				}
			}
		}
	}
	return args, nil
}

// definedFor returns what wrote the argument registers before a call, since the previous
// call in the same frame.
func definedFor(g Graph, call wet.Instance) (map[uint8]wet.Instance, error) {
	defined := map[uint8]wet.Instance{}
	time, err := g.Time(call.Thread, call.Node, call.K)
	if err != nil {
		return nil, err
	}
	result := false // what is looked at is the callee of the call before: only its result counts
	for e, err := range g.Backward(call.Thread, time) {
		if err != nil {
			return nil, err
		}
		if time-e.Time > argumentReach {
			break
		}
		n := g.Node(e.Node)
		last := len(n.Stmts)
		if e.Time == time {
			last = int(call.Stmt)
		} else {
			switch {
			case n.Kind == wet.NodeCall:
				note(defined, regA0, wet.Instance{Thread: call.Thread, Node: e.Node, K: e.K})
				return defined, nil
			case n.Kind != wet.NodePath:
				return defined, nil
			}
			switch n.Stmts[last-1].Inst.End() {
			case event.EndReturn:
				result = true
			case event.EndCall, event.EndCallInd:
				return defined, nil // the frame began
			case event.EndSyscall:
				return defined, nil
			}
		}
		for s := last - 1; s >= 0; s-- {
			rd, ok := n.Stmts[s].Inst.Dest()
			if !ok || result && rd != regA0 && rd != rv.RegF+regA0 {
				continue
			}
			note(defined, rd, wet.Instance{Thread: call.Thread, Node: e.Node, K: e.K, Stmt: uint32(s)})
		}
		if result {
			return defined, nil
		}
	}
	return defined, nil
}

func note(defined map[uint8]wet.Instance, reg uint8, by wet.Instance) {
	if _, ok := defined[reg]; !ok {
		defined[reg] = by
	}
}

// calleeParams returns the number of arguments of the function that a call went to, or -1
// if that is unknown or variable.
func calleeParams(g Graph, img *image.Space, call wet.Instance) int {
	time, err := g.Time(call.Thread, call.Node, call.K)
	if err != nil {
		return -1
	}
	for e, err := range g.Forward(call.Thread, time+1) {
		if err != nil {
			return -1
		}
		n := g.Node(e.Node)
		if n.Kind != wet.NodePath {
			return -1
		}
		return img.Params(n.Blocks[0].PC)
	}
	return -1
}
