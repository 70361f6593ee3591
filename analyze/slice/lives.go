package slice

import (
	"cmp"
	"slices"
	"sort"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// Origin is what is remarkable about where a load's value, or its address, came from.
type Origin uint8

const (
	Ordinary     Origin = iota
	Initial             // the program began with it
	NeverWritten        // nothing wrote it: zeros, or what was left on the stack or in the heap
	PreviousLife        // it was written before the block was allocated as it is now
	AfterFree           // the block was freed before it was read
	StaleAddress        // the address is of a block that was freed before; another block is there now, or none
)

// Origins finds them in a graph. It has the lives of heap blocks.
type Origins struct {
	g      Graph
	img    *image.Space
	blocks []block // by address, then by order of birth

	// See later.go.
	stores   []place // of the program's own code; nil: not found yet
	searches int
}

// block is a life of a heap block.
type block struct {
	addr, size  uint64
	born, died  uint64 // positions in the run; died is the maximum while the block lives
	alloc, free wet.Instance
	freed       bool
}

// Found says what an [Origin] is about.
type Found struct {
	Origin Origin
	Addr   uint64
	// Alloc and Free are the calls that allocated and freed the block, if there are any.
	Alloc, Free       wet.Instance
	HasAlloc, HasFree bool
	// Later is a write of another thread to what a load found as the program began with
	// it, if there is one after the load.
	Later    wet.Instance
	HasLater bool
}

// Functions of the heap, by what they do with their argument and result.
var (
	allocators = map[string]bool{
		"malloc": true, "__libc_malloc": true, "calloc": true, "__libc_calloc": true, "realloc": true, "__libc_realloc": true,
		"memalign": true, "aligned_alloc": true, "_Znwm": true, "_Znam": true,
	}
	releasers = map[string]bool{
		"free": true, "__libc_free": true, "cfree": true, "realloc": true, "__libc_realloc": true,
		"_ZdlPv": true, "_ZdaPv": true, "_ZdlPvm": true, "_ZdaPvm": true,
	}
)

const forever = ^uint64(0)

// NewOrigins reads the heap's calls of a run.
func NewOrigins(g Graph, img *image.Space) (*Origins, error) {
	o := &Origins{g: g, img: img}
	var places []place
	for n := range g.NumNodes() {
		node := g.Node(wet.NodeID(n))
		if node.Kind != wet.NodeCall {
			continue
		}
		if name := o.callee(node); allocators[name] || releasers[name] {
			places = append(places, placesAt(g, wet.Site{Node: wet.NodeID(n)}, AllThreads)...)
		}
	}
	slices.SortFunc(places, place.compare)
	open := map[uint64]int{}
	for a, err := range inOrder(g, places, nil) {
		if err != nil {
			return nil, err
		}
		if err := o.call(a, open); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(o.blocks, func(a, b block) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.born, b.born)) })
	return o, nil
}

func (o *Origins) callee(n *wet.Node) string {
	if f, ok := o.img.Func(n.Callee); ok && f.Addr == n.Callee {
		return f.Name
	}
	return ""
}

// call processes a call of the heap's functions. open has the live blocks by address, as
// indexes.
func (o *Origins) call(a at, open map[uint64]int) error {
	node := o.g.Node(a.Node)
	name := o.callee(node)
	arg := func(n uint8) (uint64, bool, error) { return register(o.g, a.Instance, regA0+n) }
	if releasers[name] {
		addr, ok, err := arg(0)
		if err != nil {
			return err
		}
		if at, lives := open[addr]; ok && lives {
			b := &o.blocks[at]
			b.died, b.free, b.freed = a.Order, a.Instance, true
			delete(open, addr)
		}
	}
	if !allocators[name] {
		return nil
	}
	addr, ok, err := o.g.Value(a.Instance)
	if err != nil || !ok || addr == 0 {
		return err
	}
	size := uint64(1)
	for n := range node.Args {
		if n == 0 && (name == "realloc" || name == "__libc_realloc" || name == "memalign" || name == "aligned_alloc") {
			continue
		}
		v, ok, err := arg(n)
		if err != nil {
			return err
		}
		if ok {
			size *= v
		}
	}
	open[addr] = len(o.blocks)
	o.blocks = append(o.blocks, block{addr: addr, size: max(size, 1), born: a.Order, died: forever, alloc: a.Instance})
	return nil
}

// covering returns the lives of blocks that contained an address, by birth.
func (o *Origins) covering(addr uint64) (list []block) {
	end := sort.Search(len(o.blocks), func(i int) bool { return o.blocks[i].addr > addr })
	const most = 1 << 10
	for i := end - 1; i >= max(0, end-most); i-- {
		if b := o.blocks[i]; addr-b.addr < b.size {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b block) int { return cmp.Compare(a.born, b.born) })
	return list
}

func (o *Origins) order(i wet.Instance) (uint64, error) { return orderOf(o.g, i) }

// Of returns what is remarkable about a load.
func (o *Origins) Of(load wet.Instance) (f Found, err error) {
	s := &o.g.Node(load.Node).Stmts[load.Stmt]
	access, _, mem := s.Inst.Mem()
	if o.g.Node(load.Node).Kind != wet.NodePath || !mem || access != event.Read {
		return f, nil
	}
	addr, _, ok, err := o.g.Addr(load)
	if err != nil || !ok {
		return f, err
	}
	f.Addr = addr
	read, err := o.order(load)
	if err != nil {
		return f, err
	}
	var base wet.Instance
	wrote, hasBase, written := uint64(0), false, false
	for d, err := range o.g.Deps(load) {
		if err != nil {
			return f, err
		}
		switch d.Kind {
		case wet.DepMemory:
			at, err := o.order(d.From)
			if err != nil {
				return f, err
			}
			wrote, written = max(wrote, at), true
		case wet.DepRegister:
			base, hasBase = d.From, true
		}
	}
	if hasBase {
		if b, ok, err := o.pointee(base, addr, read); err != nil || ok {
			f.Origin, f.Alloc, f.Free, f.HasAlloc, f.HasFree = StaleAddress, b.alloc, b.free, true, true
			return f, err
		}
	}
	lives := o.covering(addr)
	var now *block // the block that contains the address when it is read
	for n := range lives {
		if lives[n].born <= read {
			now = &lives[n]
		}
	}
	switch {
	case written && now != nil && now.died < read:
		f.Origin, f.Alloc, f.Free, f.HasAlloc, f.HasFree = AfterFree, now.alloc, now.free, true, true
	case written && now != nil && wrote < now.born:
		f.Origin, f.Alloc, f.HasAlloc = PreviousLife, now.alloc, true
		for _, b := range lives {
			if b.freed && b.died <= now.born {
				f.Free, f.HasFree = b.free, true
			}
		}
	case written:
	case o.img.Bytes(addr, 1) != nil || o.inImage(addr):
		f.Origin = Initial
		if f.Later, f.HasLater, err = o.later(load.Thread, addr, read); err != nil {
			return f, err
		}
	default:
		f.Origin = NeverWritten
		if now != nil {
			f.Alloc, f.HasAlloc = now.alloc, true
		}
	}
	return f, nil
}

// inImage reports whether an address is a global variable's.
func (o *Origins) inImage(addr uint64) bool {
	_, _, ok := o.img.Object(addr)
	return ok
}

// pointerSteps limits how far a pointer is followed to the call that returned it.
const pointerSteps = 256

// pointee follows a pointer backward, through copies and sums, to the call that allocated
// its block. It reports a block that was freed before position read of the run.
func (o *Origins) pointee(from wet.Instance, addr, read uint64) (b block, ok bool, err error) {
	todo := []wet.Instance{from}
	seen := map[wet.Instance]bool{from: true}
	for steps := 0; len(todo) > 0 && steps < pointerSteps; steps++ {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := o.g.Node(i.Node)
		if n.Kind == wet.NodeCall {
			for _, b := range o.covering(addr) {
				if b.alloc == i && b.freed && b.died < read {
					return b, true, nil
				}
			}
			continue
		}
		if n.Kind != wet.NodePath {
			continue
		}
		inst := n.Stmts[i.Stmt].Inst
		for d, err := range o.g.Deps(i) {
			if err != nil {
				return b, false, err
			}
			// What a pointer was loaded from is no part of it.
			if d.Kind > wet.DepMemory || Relate(inst, d.Kind, d.Reg) != ByValue || seen[d.From] {
				continue
			}
			seen[d.From] = true
			todo = append(todo, d.From)
		}
	}
	return b, false, nil
}
