package recorder

import (
	"math"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// paths names the acyclic paths of a run.
//
// A path ends, as in "Whole Program Paths" (PLDI 1999), behind calls and
// returns, at ordered events, at retreating edges of the static control flow,
// and where control goes along no edge of it. While it is followed it is its
// first block and the sum of its edges' values ("Efficient Path Profiling",
// MICRO 1996); which edge leads from one block of the simulator to the next is
// found once and cached in the block. The file lists the blocks of every path
// that ran, so that a reader needs no control flow graph.
type paths struct {
	alphabet format.Alphabet
	program  format.Program // nil: every block is a path
	sims     []simBlock
	named    bool // blocks get names for flows
	chosen   func(pc uint64) bool
	edges    map[uint64]edge // from<<32|to: those not in the block

	codes   []codeBlock
	static  map[cfg.Ref]uint32 // their code blocks
	defined int                // rows of codes that are in the file

	ids     map[pathStart]uint32 // PathID+1 of the paths that have a row
	rows    []uint32             // blocks of the paths that are not in the file
	lengths []uint32             // and their numbers
	next    format.PathID
	total   int // blocks of all paths
	limit   int // of total; beyond it paths are written block by block
}

const noBlock = math.MaxUint32

const pathBytes = 64 // of a path's number, with its share of the map

func newPaths(alphabet format.Alphabet, program format.Program) *paths {
	return &paths{limit: format.MaxPathsTotal, alphabet: alphabet, program: program, edges: map[uint64]edge{},
		static: map[cfg.Ref]uint32{}, ids: map[pathStart]uint32{}}
}

// define takes the next block of the simulator. site numbers a site.
func (p *paths) define(b *event.Block, site func(format.Site) format.SiteID) {
	s := simBlock{pc: b.PC, next: b.Next(), end: b.End, insts: b.Insts}
	s.edges[0].to, s.edges[1].to = noBlock, noBlock
	var blocks []uint32
	if refs := cover(p.program, b); refs != nil {
		for _, ref := range refs {
			blocks = append(blocks, p.basicBlock(ref, site))
		}
	} else {
		blocks = append(blocks, uint32(len(p.codes)))
		p.codes = append(p.codes, codeBlock{CodeRow: format.CodeRow{PC: b.PC, Next: b.Next(), Bytes: b.Bytes, Insts: b.Insts, Sites: numbered(b.Sites, site), End: b.End}})
	}
	s.first, s.last, s.blocks = blocks[0], blocks[len(blocks)-1], uint32(len(blocks))
	number := &s.lead
	for i, id := range blocks {
		s.sites = append(s.sites, p.codes[id].Sites...)
		if i == 0 {
			continue
		}
		val, cut := p.flow(blocks[i-1], p.codes[id].PC)
		if cut {
			s.cuts = append(s.cuts, pathStart{block: id})
			number = &s.cuts[len(s.cuts)-1].number
		} else {
			*number += val
		}
	}
	s.ends = p.endsPath(b.End)
	s.outside = p.chosen != nil && !p.chosen(b.PC)
	if p.named {
		for _, id := range blocks {
			s.names = append(s.names, p.name(id))
		}
	}
	p.sims = append(p.sims, s)
}

// endsPath reports whether paths end after a block that is left so.
func (p *paths) endsPath(end event.End) bool {
	return p.alphabet == format.AlphabetBlock || end == event.EndCall || end == event.EndCallInd || end == event.EndReturn
}

// basicBlock returns the code block of a block of the program.
func (p *paths) basicBlock(ref cfg.Ref, site func(format.Site) format.SiteID) uint32 {
	id, ok := p.static[ref]
	if !ok {
		id = uint32(len(p.codes))
		b := p.program.Block(ref)
		p.codes = append(p.codes, codeBlock{CodeRow: format.CodeRow{PC: b.PC, Next: b.Next(), Bytes: b.Bytes, Insts: b.Insts,
			Sites: numbered(p.program.Sites(ref), site), End: b.End}, static: b, ref: ref})
		p.static[ref] = id
	}
	return id
}

func numbered(sites []event.Site, site func(format.Site) format.SiteID) []format.SiteID {
	if len(sites) == 0 {
		return nil
	}
	ids := make([]format.SiteID, len(sites))
	for i, s := range sites {
		ids[i] = site(format.Site(s))
	}
	return ids
}

// flow says what the number of a path gains that goes on at pc after a code
// block, or that it is cut there.
func (p *paths) flow(from uint32, pc uint64) (val uint64, cut bool) {
	b := p.codes[from].static
	if b == nil || p.alphabet == format.AlphabetBlock {
		return 0, true
	}
	val, cut, ok := b.Succ(pc)
	return val, cut || !ok
}

// edge returns the transition between two blocks of the simulator. The caller
// has looked at the block's own edges already.
func (p *paths) edge(from, to uint32) *edge {
	key := uint64(from)<<32 | uint64(to)
	e, ok := p.edges[key]
	s := &p.sims[from]
	if !ok {
		next := &p.sims[to]
		e.to = to
		e.add, e.cut = p.flow(s.last, next.pc)
		if e.cut || p.codes[next.first].static == nil {
			e.add, e.cut = 0, true
		}
		e.add += next.lead
		p.edges[key] = e
	}
	s.edges[1] = s.edges[0]
	s.edges[0] = e
	return &s.edges[0]
}

// id names a path in the trace's tables. ok is false when there is no room for
// it: then its blocks are paths of their own.
func (p *paths) id(path pathStart) (id format.PathID, added uint64, ok bool) {
	recent := &p.codes[path.block].recent
	if recent[0].number == path.number && recent[0].id != 0 {
		return format.PathID(recent[0].id - 1), 0, true
	}
	if recent[1].number == path.number && recent[1].id != 0 {
		recent[0], recent[1] = recent[1], recent[0]
		return format.PathID(recent[0].id - 1), 0, true
	}
	x, known := p.ids[path]
	if !known {
		x, added = p.add(path)
	}
	if x == 0 {
		return 0, added, false
	}
	recent[1] = recent[0]
	recent[0] = pathID{path.number, x}
	return format.PathID(x - 1), added, true
}

// add makes the row of a path, and says how much memory that took.
func (p *paths) add(path pathStart) (x uint32, added uint64) {
	from := len(p.rows)
	p.rows = p.blocksOf(p.rows, path)
	n := len(p.rows) - from
	if n > 1 && (n > format.MaxPathBlocks || p.full()) {
		p.rows = p.rows[:from]
		return 0, 0
	}
	p.lengths = append(p.lengths, uint32(n))
	p.total += n
	p.next++
	p.ids[path] = uint32(p.next)
	return uint32(p.next), pathBytes + 4*uint64(n)
}

// full says that the tables hold as many paths as they may, but for those of
// one block.
func (p *paths) full() bool { return p.next >= format.MaxPaths || p.total >= p.limit }

// blocksOf appends the blocks of a path.
func (p *paths) blocksOf(dst []uint32, path pathStart) []uint32 {
	if path.number != 0 {
		refs, err := p.program.Decode(p.codes[path.block].ref, path.number)
		if err == nil {
			for _, r := range refs {
				dst = append(dst, p.static[r])
			}
			return dst
		}
	}
	return append(dst, path.block)
}

func (p *paths) size() uint64 { return uint64(len(p.ids)) * pathBytes }

// forget drops the names of paths, whose rows must all be in the file. A path
// that runs again gets a second row. When the tables are full no names come to
// those that there are.
func (p *paths) forget() {
	if p.full() {
		return
	}
	clear(p.ids)
	for i := range p.codes {
		p.codes[i].recent = [2]pathID{}
	}
}

// newRows takes the rows that the file does not have yet. They are valid until
// the next path is named.
func (p *paths) newRows() *format.Rows {
	n := &format.Rows{FirstBlock: uint64(p.defined), FirstPath: uint64(p.next) - uint64(len(p.lengths)), Lengths: p.lengths, Paths: p.rows}
	for i := range p.codes[p.defined:] {
		n.Blocks = append(n.Blocks, p.codes[p.defined+i].CodeRow)
	}
	p.defined, p.rows, p.lengths = len(p.codes), p.rows[:0], p.lengths[:0]
	return n
}
