package cfg

import (
	"cmp"
	"slices"
	"sort"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// Kind says how control takes an edge.
type Kind uint8

const (
	Fall     Kind = iota // to the next instruction, also as the untaken side of a branch
	Taken                // the taken side of a branch
	Jump                 // a direct jump
	Indirect             // through a jump table
	Return               // after a call, when the callee has returned
)

var kindNames = [...]string{"fall", "taken", "jump", "indirect", "return"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// Block is a basic block.
type Block struct {
	PC     uint64
	Bytes  uint32
	Insts  uint32
	End    event.End // EndFall also if only the beginning of another block ends it
	Leaves bool      // control may leave along no edge: by a return, to another function, or to an unknown target
	Target uint64    // of EndBranch, EndJump and EndCall; otherwise 0
	Succs  []Succ    // in order of PC
}

// Succ is an edge to a block of the same function.
type Succ struct {
	PC   uint64 // where that block begins
	To   uint32 // its index
	Kind Kind
	Back bool   // the edge closes a cycle of a depth-first search
	Cut  bool   // a path that takes the edge ends here, and another one begins after it
	Val  uint64 // what an edge that is not cut adds to the path's number
}

// Next returns the address after the block.
func (b *Block) Next() uint64 { return b.PC + uint64(b.Bytes) }

// Succ finds the edge to the block at pc. It returns what the edge adds to the path's
// number, or that the edge is cut. ok is false if there is no such edge; a path that
// continues at pc must then be cut.
func (b *Block) Succ(pc uint64) (val uint64, cut, ok bool) {
	s := b.Succs
	i := 0
	if len(s) > 4 {
		i = sort.Search(len(s), func(i int) bool { return s[i].PC >= pc })
	}
	for ; i < len(s); i++ {
		if s[i].PC == pc {
			return s[i].Val, s[i].Cut, true
		}
	}
	return 0, false, false
}

// inst is an instruction of a function while it is analysed.
type inst struct {
	rv.Inst
	pc   uint64
	end  event.End
	stop bool // ends a block
}

// sweep is a function's code decoded from its start to its end.
type sweep struct {
	insts  []inst
	leader []bool
	tables map[int][]uint64 // by instruction index, the targets of an indirect jump
}

// at returns the index of the instruction at pc, or -1 if pc is outside the function or
// inside an instruction.
func (s *sweep) at(pc uint64) int {
	i := sort.Search(len(s.insts), func(i int) bool { return s.insts[i].pc >= pc })
	if i < len(s.insts) && s.insts[i].pc == pc {
		return i
	}
	return -1
}

// decode sweeps over the function's code.
func (p *Program) decode(f *Function) *sweep {
	s := &sweep{insts: make([]inst, 0, (f.End-f.Start)/3)}
	code := p.img.Reader()
	for pc := f.Start; pc < f.End; {
		b := rv.Scan(pc, code, 0)
		if len(b.Insts) == 0 {
			break
		}
		for n, i := range b.Insts {
			if pc >= f.End {
				break
			}
			in := inst{Inst: i, pc: pc, end: event.EndFall, stop: i.Op == rv.OpFENCEI}
			if n == len(b.Insts)-1 && (b.End != event.EndFall || b.Fence != 0) {
				in.end, in.stop = b.End, true
			}
			s.insts = append(s.insts, in)
			pc += uint64(i.Len)
		}
	}
	s.leader = make([]bool, len(s.insts))
	return s
}

// mark makes the instruction at pc begin a block, if it is in the function.
func (s *sweep) mark(pc uint64) {
	if i := s.at(pc); i >= 0 {
		s.leader[i] = true
	}
}

// markLeaders finds the beginnings of blocks.
func (s *sweep) markLeaders() {
	for i := range s.insts {
		in := &s.insts[i]
		if i == 0 || s.insts[i-1].stop {
			s.leader[i] = true
		}
		if in.end == event.EndBranch || in.end == event.EndJump || in.end == event.EndCall {
			if t, ok := in.Target(in.pc); ok {
				s.mark(t)
			}
		}
		for _, t := range s.tables[i] {
			s.mark(t)
		}
	}
	// The simulator cuts a block that is too long, counted from each beginning. A cut
	// only affects later instructions, so one pass also finds the cuts that follow from
	// cuts.
	for i := range s.insts {
		if !s.leader[i] {
			continue
		}
		j := i
		for j < len(s.insts) && j-i < rv.MaxBlock {
			j++
			if s.insts[j-1].stop {
				break
			}
		}
		if j < len(s.insts) {
			s.leader[j] = true
		}
	}
}

// analyse finds a function's blocks, edges and path numbers.
func (p *Program) analyse(f *Function) *body {
	s := p.decode(f)
	s.tables = p.jumpTables(s)
	s.markLeaders()
	body := &body{}
	var first []int // of each block, its first instruction
	for i := range s.insts {
		if s.leader[i] {
			first = append(first, i)
		}
	}
	index := func(pc uint64) (uint32, bool) {
		i := s.at(pc)
		if i < 0 || !s.leader[i] {
			return 0, false
		}
		return uint32(sort.SearchInts(first, i)), true
	}
	for n, i := range first {
		stop := len(s.insts)
		if n+1 < len(first) {
			stop = first[n+1]
		}
		last := &s.insts[stop-1]
		b := Block{PC: s.insts[i].pc, Insts: uint32(stop - i), End: last.end}
		b.Bytes = uint32(last.pc + uint64(last.Len) - b.PC)
		b.addEdges(last, s.tables[stop-1], f.part.dead, index)
		body.blocks = append(body.blocks, b)
	}
	body.graph = make(Graph, len(body.blocks))
	for v := range body.blocks {
		for _, e := range body.blocks[v].Succs {
			body.graph[v] = append(body.graph[v], int(e.To))
		}
	}
	body.number()
	return body
}

// addEdges adds the edges of the block's last instruction. index returns the block of the
// function that begins at an address.
func (b *Block) addEdges(last *inst, table []uint64, dead map[uint64]bool, index func(uint64) (uint32, bool)) {
	add := func(pc uint64, kind Kind) {
		for _, e := range b.Succs {
			if e.PC == pc {
				return // both sides of a branch lead to the same place
			}
		}
		if to, ok := index(pc); ok {
			b.Succs = append(b.Succs, Succ{PC: pc, To: to, Kind: kind})
		} else {
			b.Leaves = true
		}
	}
	next := b.Next()
	switch b.End {
	case event.EndFall, event.EndAtomic, event.EndSyscall:
		add(next, Fall)
	case event.EndBranch:
		b.Target, _ = last.Target(last.pc)
		add(next, Fall)
		add(b.Target, Taken)
	case event.EndJump:
		b.Target, _ = last.Target(last.pc)
		add(b.Target, Jump)
	case event.EndCall, event.EndCallInd:
		b.Target, _ = last.Target(last.pc)
		if b.Target != 0 && dead[b.Target] {
			b.Leaves = true
		} else {
			add(next, Return)
		}
	case event.EndIndirect:
		for _, t := range table { // each once
			if to, ok := index(t); ok {
				b.Succs = append(b.Succs, Succ{PC: t, To: to, Kind: Indirect})
			} else {
				b.Leaves = true
			}
		}
		b.Leaves = b.Leaves || len(table) == 0
	default: // EndReturn, EndTrap
		b.Leaves = true
	}
	slices.SortFunc(b.Succs, func(x, y Succ) int { return cmp.Compare(x.PC, y.PC) })
}

// cuts reports whether paths end at every edge of the block, because control leaves the
// function. An atomic access or a system call ends a path only when it is an ordered
// event, which the code alone does not show.
func (b *Block) cuts() bool {
	switch b.End {
	case event.EndCall, event.EndCallInd, event.EndReturn, event.EndTrap:
		return true
	}
	return false
}

// number numbers the paths and copies the values into the edges.
func (f *body) number() {
	f.paths = Number(f.graph, func(v, _ int) bool { return f.blocks[v].cuts() }, MaxPaths)
	back := f.graph.Retreating()
	for v := range f.blocks {
		for i := range f.blocks[v].Succs {
			e := &f.blocks[v].Succs[i]
			e.Back, e.Cut, e.Val = back[v][i], f.paths.cut[v][i], f.paths.val[v][i]
		}
	}
}
