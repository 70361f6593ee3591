package cdr

import (
	"encoding/binary"
	"fmt"
	"math"

	"hindsight/tracefmt/event"
)

// A tables block holds the blocks and paths that were first met in its epoch.
//
//	payload = blocks paths
//	blocks  = uvarint id of the first, uvarint n, columns of n numbers:
//	          varint pc - end of the block before, uvarint bytes, uvarint instructions,
//	          end (one byte each), uvarint sites; then for each site of each block
//	          uvarint pc - pc of the site before (first: of the block), byte size<<1 | write
//	paths   = uvarint id of the first, uvarint n, column of n uvarint lengths,
//	          then for each block of each path varint id - id of the block before (0 at first)
//
// Sites are numbered by first appearance of (pc, size, access).

// encode returns the rows that no earlier tables block holds.
func (p *paths) encode(sites []Site) []byte {
	var b []byte
	blocks := p.codes[p.defined:]
	b = binary.AppendUvarint(b, uint64(p.defined))
	b = binary.AppendUvarint(b, uint64(len(blocks)))
	at := uint64(0)
	for i := range blocks {
		b = binary.AppendVarint(b, int64(blocks[i].pc-at))
		at = blocks[i].next
	}
	for i := range blocks {
		b = binary.AppendUvarint(b, uint64(blocks[i].bytes))
	}
	for i := range blocks {
		b = binary.AppendUvarint(b, uint64(blocks[i].insts))
	}
	for i := range blocks {
		b = append(b, byte(blocks[i].end))
	}
	for i := range blocks {
		b = binary.AppendUvarint(b, uint64(len(blocks[i].sites)))
	}
	for i := range blocks {
		at := blocks[i].pc
		for _, id := range blocks[i].sites {
			s := sites[id]
			b = binary.AppendUvarint(b, s.PC-at)
			b = append(b, s.Size<<1|byte(s.Access))
			at = s.PC
		}
	}
	b = binary.AppendUvarint(b, uint64(p.next)-uint64(len(p.lengths)))
	b = binary.AppendUvarint(b, uint64(len(p.lengths)))
	for _, n := range p.lengths {
		b = binary.AppendUvarint(b, uint64(n))
	}
	row := p.rows
	for _, n := range p.lengths {
		before := uint32(0)
		for _, id := range row[:n] {
			b = binary.AppendVarint(b, int64(id)-int64(before))
			before = id
		}
		row = row[n:]
	}
	p.defined, p.rows, p.lengths = len(p.codes), p.rows[:0], p.lengths[:0]
	return b
}

// tables are the blocks, sites and paths of a trace.
type tables struct {
	bySite    *siteBlocks // made when first needed
	blocks    []tableBlock
	siteLists []SiteID // of all blocks, one after another
	sites     []Site
	siteIDs   map[Site]SiteID
	pathOff   []uint32 // blocks of path i: pathBlocks[pathOff[i]:pathOff[i+1]]
	path      []uint32
}

type tableBlock struct {
	pc        uint64
	bytes     uint32
	insts     uint32
	siteFrom  uint32
	siteCount uint32
	end       event.End
}

func (b *tableBlock) next() uint64 { return b.pc + uint64(b.bytes) }

// What the tables of a trace may hold.
const (
	maxTableRows  = 1 << 20 // blocks; sites of all blocks
	maxPaths      = 1 << 22
	maxPathsTotal = 1 << 24 // blocks of all paths
)

// maxBlockSites bounds the sites of a block.
const maxBlockSites = 1 << 10

// maxSiteSize is the largest access in bytes that the format can hold.
const maxSiteSize = 127

func newTables() *tables { return &tables{siteIDs: map[Site]SiteID{}, pathOff: []uint32{0}} }

// add reads a tables block after those that were read before.
func (t *tables) add(payload []byte) error {
	d := decode(payload)
	t.addBlocks(&d)
	t.addPaths(&d)
	d.End()
	if d.Err != nil {
		return fmt.Errorf("tables: %w", d.Err)
	}
	return nil
}

func (t *tables) addBlocks(d *decoder) {
	if d.Uvarint() != uint64(len(t.blocks)) {
		d.Fail("number of the first block")
	}
	n := d.Count(5, "count")
	if len(t.blocks)+n > maxTableRows {
		d.Fail("number of blocks")
		return
	}
	from := len(t.blocks)
	t.blocks = append(t.blocks, make([]tableBlock, n)...)
	blocks := t.blocks[from:]
	// The pc is relative to the end of the block before, whose length is
	// in the next column.
	deltas := make([]int64, n)
	for i := range deltas {
		deltas[i] = d.Varint()
	}
	at := uint64(0)
	for i := range blocks {
		blocks[i].bytes = uint32(d.Max(math.MaxUint32, "number out of range"))
		blocks[i].pc = at + uint64(deltas[i])
		at = blocks[i].next()
	}
	for i := range blocks {
		blocks[i].insts = uint32(d.Max(math.MaxUint32, "number out of range"))
	}
	for i := range blocks {
		blocks[i].end = event.End(d.Byte())
		if blocks[i].end > event.EndTrap {
			d.Fail("end of a block")
		}
	}
	at = uint64(len(t.siteLists))
	for i := range blocks {
		blocks[i].siteFrom = uint32(at)
		blocks[i].siteCount = uint32(d.Max(maxBlockSites, "number out of range"))
		at += uint64(blocks[i].siteCount)
		if at > maxTableRows {
			d.Fail("number of sites")
			return
		}
	}
	for i := range blocks {
		at := blocks[i].pc
		for range blocks[i].siteCount {
			at += d.Uvarint()
			x := d.Byte()
			if d.Err != nil {
				return
			}
			t.siteLists = append(t.siteLists, t.site(Site{PC: at, Size: x >> 1, Access: event.Access(x & 1)}))
		}
	}
}

func (t *tables) site(s Site) SiteID {
	id, ok := t.siteIDs[s]
	if !ok {
		id = SiteID(len(t.sites))
		t.sites = append(t.sites, s)
		t.siteIDs[s] = id
	}
	return id
}

func (t *tables) addPaths(d *decoder) {
	if d.Uvarint() != uint64(len(t.pathOff)-1) {
		d.Fail("number of the first path")
	}
	n := d.Count(2, "count")
	if len(t.pathOff)+n > maxPaths+maxTableRows {
		d.Fail("number of paths")
		return
	}
	from := len(t.pathOff) - 1
	at := uint64(len(t.path))
	for range n {
		length := d.Max(maxPathBlocks, "number out of range")
		if length == 0 {
			d.Fail("length of a path")
			return
		}
		at += length
		if at > maxPathsTotal+maxTableRows {
			d.Fail("number of blocks in paths")
			return
		}
		t.pathOff = append(t.pathOff, uint32(at))
	}
	for i := from; i < from+n; i++ {
		id := int64(0)
		for range t.pathOff[i+1] - t.pathOff[i] {
			id += d.Varint()
			if id < 0 || id >= int64(len(t.blocks)) {
				d.Fail("block of a path")
				return
			}
			t.path = append(t.path, uint32(id))
		}
	}
}

func (t *tables) paths() int { return len(t.pathOff) - 1 }

func (t *tables) pathBlocks(id PathID) []uint32 { return t.path[t.pathOff[id]:t.pathOff[id+1]] }

func (t *tables) blockSites(b *tableBlock) []SiteID {
	return t.siteLists[b.siteFrom : b.siteFrom+b.siteCount]
}
