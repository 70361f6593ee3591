package cfg

// Path is an acyclic path that a run took: its first block, by the client's numbering,
// and its number, by [Number].
type Path struct {
	Block  uint32
	Number uint64
}

// Steps is the code of a run, cut into steps. All threads of the run share it.
type Steps struct {
	slab  []Step // allocated, not in use yet
	edges map[[2]*Step]edge
}

// Step is code that runs to its end once it is entered: one or more blocks, each of which
// is entered by falling through from the previous one.
type Step struct {
	edges [2]edge // the edges taken last
	first uint32  // number of the first block
	whole bool    // the first block is a block of the program
	lead  uint64  // what a path gains from entering up to the first cut inside, or to the end
	cuts  []Path  // paths that begin inside, each with its gain up to the next cut, or to the end
	pc    uint64
	last  *Block
	in    *Steps
}

// edge is a transition to another step.
type edge struct {
	to  *Step
	add uint64 // what it adds to the path's number, including what the step itself adds
	cut bool   // the path ends before the step
}

// StepBlock is a block of a step.
type StepBlock struct {
	ID    uint32 // by the client's numbering
	PC    uint64
	Block *Block // of the program; if nil, paths end before and after the block
}

// stepsAtOnce is the number of steps allocated together.
const stepsAtOnce = 128

// Add adds a step. There must be at least one block.
func (s *Steps) Add(blocks ...StepBlock) *Step {
	if len(s.slab) == 0 {
		s.slab = make([]Step, stepsAtOnce)
	}
	x := &s.slab[0]
	s.slab = s.slab[1:]
	first, last := &blocks[0], &blocks[len(blocks)-1]
	*x = Step{in: s, first: first.ID, whole: first.Block != nil, pc: first.PC, last: last.Block}
	number := &x.lead
	for i := range blocks[1:] {
		next := &blocks[i+1]
		val, cut := follow(blocks[i].Block, next.PC)
		if cut {
			x.cuts = append(x.cuts, Path{Block: next.ID})
			number = &x.cuts[len(x.cuts)-1].Number
		} else {
			*number += val
		}
	}
	return x
}

// follow returns what a path's number gains if the path continues at pc after a block, or
// that the path is cut there.
func follow(b *Block, pc uint64) (val uint64, cut bool) {
	if b == nil {
		return 0, true
	}
	val, cut, ok := b.Succ(pc)
	return val, cut || !ok
}

// Cuts returns the number of places inside the step where one path ends and another
// begins.
func (x *Step) Cuts() int { return len(x.cuts) }

// edge returns the transition to a step other than the last one taken.
func (x *Step) edge(to *Step) *edge {
	if x.edges[1].to == to {
		return &x.edges[1]
	}
	key := [2]*Step{x, to}
	e, ok := x.in.edges[key]
	if !ok {
		e.to = to
		e.add, e.cut = follow(x.last, to.pc)
		if e.cut || !to.whole {
			e.add, e.cut = 0, true
		}
		e.add += to.lead
		if x.in.edges == nil {
			x.in.edges = map[[2]*Step]edge{}
		}
		x.in.edges[key] = e
	}
	x.edges[1] = x.edges[0]
	x.edges[0] = e
	return &x.edges[0]
}

// Follower follows one thread along acyclic paths. A path ends, as in "Whole Program
// Paths" (PLDI 1999), at retreating edges of the static control flow, where control does
// not follow an edge, and where the client calls [Follower.End]: after calls and returns,
// and at events. A path is represented by its first block and the sum of its edges'
// values ("Efficient Path Profiling", MICRO 1996). The edge from one step to the next is
// found once and then cached.
//
// The zero value is on no path. A Follower belongs to one goroutine.
type Follower struct {
	path Path
	at   *Step // nil: on no path
}

// Enter moves on to a step. If the path cannot continue there, it ended before the step:
// Enter then returns it, and cut is true. Afterwards the client calls [Follower.Cut] for
// each cut inside the step.
func (f *Follower) Enter(to *Step) (ended Path, cut bool) {
	from := f.at
	f.at = to
	if from == nil {
		f.path = Path{to.first, to.lead}
		return Path{}, false
	}
	e := &from.edges[0]
	if e.to != to {
		e = from.edge(to)
	}
	if !e.cut {
		f.path.Number += e.add
		return Path{}, false
	}
	ended = f.path
	f.path = Path{to.first, e.add}
	return ended, true
}

// Cut passes cut i inside the current step, and returns the path that ends there.
func (f *Follower) Cut(i int) (ended Path) {
	ended = f.path
	f.path = f.at.cuts[i]
	return ended
}

// End ends the current path and returns it. ok is false if there is none.
func (f *Follower) End() (ended Path, ok bool) {
	if f.at == nil {
		return Path{}, false
	}
	f.at = nil
	return f.path, true
}

// Names numbers paths for a client, by first block and by a key that distinguishes paths
// with the same first block. It caches the last two paths found for each block. The zero
// value has no names.
type Names[K comparable] struct {
	ids    map[named[K]]uint32
	recent [][2]name[K]
}

type named[K comparable] struct {
	block uint32
	key   K
}

type name[K comparable] struct {
	key   K
	id    uint32
	known bool
}

// Find returns a path's number. ok is false if it has none.
func (n *Names[K]) Find(block uint32, key K) (id uint32, ok bool) {
	if int(block) < len(n.recent) {
		r := &n.recent[block]
		if r[0].known && r[0].key == key {
			return r[0].id, true
		}
		if r[1].known && r[1].key == key {
			r[0], r[1] = r[1], r[0]
			return r[0].id, true
		}
	}
	id, ok = n.ids[named[K]{block, key}]
	if ok {
		n.remember(block, key, id)
	}
	return id, ok
}

// Set sets the number of a path.
func (n *Names[K]) Set(block uint32, key K, id uint32) {
	if n.ids == nil {
		n.ids = map[named[K]]uint32{}
	}
	n.ids[named[K]{block, key}] = id
	n.remember(block, key, id)
}

func (n *Names[K]) remember(block uint32, key K, id uint32) {
	for int(block) >= len(n.recent) {
		n.recent = append(n.recent, make([][2]name[K], max(64, int(block)+1-len(n.recent)))...)
	}
	r := &n.recent[block]
	r[0], r[1] = name[K]{key, id, true}, r[0]
}

// Len returns how many paths have a number.
func (n *Names[K]) Len() int { return len(n.ids) }

// Forget removes all numbers.
func (n *Names[K]) Forget() {
	clear(n.ids)
	clear(n.recent)
}
