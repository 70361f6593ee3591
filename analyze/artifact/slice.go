package artifact

import (
	"slices"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// slice has the racy reads that an access depends on, the nearest first.
type slice struct {
	by      By
	hits    []hit
	visits  []visit
	at      int    // visits whose dependences were followed
	seen    idSet  // nodes visited; empty at the end of the walk
	missing string // why it is incomplete
}

// hit is a racy read.
type hit struct {
	read  *exec
	visit int
	doubt bool
}

// visit is a node reached on the walk backward.
type visit struct {
	node int32
	from int // the visit that led here; -1 for the start
	kind edgeKind
	// doubt says that a step on the path to here may not exist.
	doubt bool
}

// doubtful reports whether a racy read was reached in doubt.
func (s *slice) doubtful() bool {
	return slices.ContainsFunc(s.hits, func(h hit) bool { return h.doubt })
}

type sliceKey struct {
	thread  event.ThreadID
	site    format.SiteID
	ordinal uint64
	event   bool
	by      By
}

// maxSlices limits the slices that are cached.
const maxSlices = 1 << 12

// slice begins the walk backward from the address of an access: by data alone, or by data
// and control. It goes breadth first, so that the nearest racy reads come first.
func (e *explainer) slice(x *exec, by By) (*slice, error) {
	key := sliceKey{x.thread(), x.site, x.ordinal, x.event, by}
	if s := e.slices[key]; s != nil {
		return s, nil
	}
	start, err := e.start(x)
	if err != nil {
		return nil, err
	}
	s := &slice{by: by, visits: []visit{{node: start, from: -1}}}
	s.seen.add(start)
	if len(e.slices) >= maxSlices {
		clear(e.slices)
	}
	e.slices[key] = s
	return s, nil
}

// grow walks to the next racy read. It returns false if there is none.
func (e *explainer) grow(s *slice) (bool, error) {
	before := len(s.hits)
	for s.at < len(s.visits) && len(s.hits) == before {
		id := s.visits[s.at].node
		var control []edge
		data, err := e.dataOf(id)
		if err == nil && s.by == ByBranch {
			control, err = e.controlOf(id)
		}
		if err != nil {
			return false, err
		}
		n := &e.nodes[id]
		if n.read != nil {
			s.hits = append(s.hits, hit{n.read, s.at, s.visits[s.at].doubt})
		}
		if n.missing != "" && s.missing == "" {
			s.missing = n.missing
		}
		for _, edges := range [2][]edge{data, control} {
			for _, to := range edges {
				if s.seen.add(to.to) {
					s.visits = append(s.visits, visit{to.to, s.at, to.kind, to.doubt || s.visits[s.at].doubt})
				}
			}
		}
		s.at++
	}
	if s.at == len(s.visits) {
		s.seen = idSet{}
	}
	return len(s.hits) > before, nil
}

// chain returns the steps from the racy write to the artifact.
func (e *explainer) chain(b *because) ([]Step, error) {
	x := e.index
	w := x.sites[b.write.site].site
	steps := []Step{{RacyWrite, b.write.thread(), w.PC, b.write.addr, uint64(w.Size)}}
	visits := b.slice.visits
	for at := b.slice.hits[b.hit].visit; at >= 0; at = visits[at].from {
		id := visits[at].node
		pc, i, err := e.instruction(id)
		if err != nil {
			return nil, err
		}
		n := &e.nodes[id]
		s := Step{Kind: Compute, Thread: n.thread, PC: pc, Address: n.addr, Size: n.size}
		access, _, plain := i.Mem()
		_, jumps := i.Target(pc)
		switch {
		case visits[at].from < 0:
			s.Kind = Access
		case at == b.slice.hits[b.hit].visit:
			s.Kind = RacyRead
		case plain && access == event.Read:
			s.Kind = Load
		case plain:
			s.Kind = Store
		case i.End() == event.EndCall:
			s.Kind = Call
		case jumps || i.End() == event.EndCallInd || i.End() == event.EndIndirect:
			s.Kind = Decide
		}
		steps = append(steps, s)
	}
	last := &steps[len(steps)-1]
	last.Address, last.Size = b.side.addr, b.side.size
	return steps, nil
}
