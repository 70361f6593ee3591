package recorder

import (
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// paths names the acyclic paths of a run.
//
// Besides where a [cfg.Follower] ends them, paths end after calls and returns,
// and at ordered events. The file lists the blocks of every path that ran, so
// that a reader needs no control flow graph.
type paths struct {
	alphabet format.Alphabet
	program  format.Program // nil: every block is a path
	sims     []simBlock
	steps    cfg.Steps
	named    bool // blocks also get the names that flows use
	chosen   func(pc uint64) bool

	codes   []codeBlock
	static  map[cfg.Ref]uint32 // their code blocks
	defined int                // rows of codes that are in the file

	ids     cfg.Names[uint64] // PathIDs of the paths that have a row
	rows    []uint32          // blocks of the paths that are not in the file yet
	lengths []uint32          // the lengths of these paths
	next    format.PathID
	total   int // blocks of all paths
	limit   int // of total; beyond it paths are written block by block
}

const pathBytes = 64 // memory of a path's number, with its share of the map

func newPaths(alphabet format.Alphabet, program format.Program) *paths {
	return &paths{limit: format.MaxPathsTotal, alphabet: alphabet, program: program, static: map[cfg.Ref]uint32{}}
}

// define adds the next block of the simulator to the tables. site returns the number of a
// site.
func (p *paths) define(b *event.Block, site func(format.Site) format.SiteID) {
	s := simBlock{pc: b.PC, next: b.Next(), end: b.End, insts: b.Insts}
	var blocks []cfg.StepBlock
	if refs := cover(p.program, b); refs != nil {
		for _, ref := range refs {
			blocks = append(blocks, p.stepBlock(p.basicBlock(ref, site)))
		}
	} else {
		id := uint32(len(p.codes))
		p.codes = append(p.codes, codeBlock{CodeRow: format.CodeRow{PC: b.PC, Next: b.Next(), Bytes: b.Bytes, Insts: b.Insts, Sites: numbered(b.Sites, site), End: b.End}})
		blocks = append(blocks, p.stepBlock(id))
	}
	s.step, s.blocks = p.steps.Add(blocks...), uint32(len(blocks))
	for _, x := range blocks {
		s.sites = append(s.sites, p.codes[x.ID].Sites...)
		if p.named {
			s.names = append(s.names, p.name(x.ID))
		}
	}
	s.ends = p.endsPath(b.End)
	s.outside = p.chosen != nil && !p.chosen(b.PC)
	p.sims = append(p.sims, s)
}

// stepBlock returns a code block as a follower sees it. In the alphabet of blocks, each
// path is one block.
func (p *paths) stepBlock(id uint32) cfg.StepBlock {
	c := &p.codes[id]
	s := cfg.StepBlock{ID: id, PC: c.PC, Block: c.static}
	if p.alphabet == format.AlphabetBlock {
		s.Block = nil
	}
	return s
}

// endsPath reports whether paths end after a block that ends in this way.
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

// id names a path in the trace's tables. ok is false when there is no room; the caller
// then records each block as a path of its own.
func (p *paths) id(path cfg.Path) (id format.PathID, added uint64, ok bool) {
	if id, ok := p.ids.Find(path.Block, path.Number); ok {
		return format.PathID(id), 0, true
	}
	return p.add(path)
}

// add adds the row of a path and returns the memory it takes.
func (p *paths) add(path cfg.Path) (id format.PathID, added uint64, ok bool) {
	from := len(p.rows)
	p.rows = p.blocksOf(p.rows, path)
	n := len(p.rows) - from
	if n > 1 && (n > format.MaxPathBlocks || p.full()) {
		p.rows = p.rows[:from]
		return 0, 0, false
	}
	p.lengths = append(p.lengths, uint32(n))
	p.total += n
	id = p.next
	p.next++
	p.ids.Set(path.Block, path.Number, uint32(id))
	return id, pathBytes + 4*uint64(n), true
}

// full reports whether the tables have no room for more paths, apart from those
// of one block.
func (p *paths) full() bool { return p.next >= format.MaxPaths || p.total >= p.limit }

// blocksOf appends the blocks of a path.
func (p *paths) blocksOf(dst []uint32, path cfg.Path) []uint32 {
	if path.Number != 0 {
		refs, err := p.program.Decode(p.codes[path.Block].ref, path.Number)
		if err == nil {
			for _, r := range refs {
				dst = append(dst, p.static[r])
			}
			return dst
		}
	}
	return append(dst, path.Block)
}

func (p *paths) size() uint64 { return uint64(p.ids.Len()) * pathBytes }

// forget drops the names of paths. All their rows must be in the file. A path that runs
// again gets a second row, so the names are kept when the tables are full.
func (p *paths) forget() {
	if p.full() {
		return
	}
	p.ids.Forget()
}

// newRows returns the rows that are not in the file yet. They are valid until another
// path gets a name.
func (p *paths) newRows() *format.Rows {
	n := &format.Rows{FirstBlock: uint64(p.defined), FirstPath: uint64(p.next) - uint64(len(p.lengths)), Lengths: p.lengths, Paths: p.rows}
	for i := range p.codes[p.defined:] {
		n.Blocks = append(n.Blocks, p.codes[p.defined+i].CodeRow)
	}
	p.defined, p.rows, p.lengths = len(p.codes), p.rows[:0], p.lengths[:0]
	return n
}
