package format

import (
	"encoding/binary"
	"fmt"
	"math"

	"hindsight/tracefmt/event"
)

// A tables block holds the blocks and paths that first occurred in its epoch.
//
//	payload = blocks paths
//	blocks  = uvarint id of the first, uvarint n, columns of n numbers:
//	          varint pc - end of the previous block, uvarint bytes, uvarint instructions,
//	          end (one byte each), uvarint sites; then for each site of each block
//	          uvarint pc - pc of the previous site (first: of the block), byte size<<1 | write
//	paths   = uvarint id of the first, uvarint n, column of n uvarint lengths,
//	          then for each block of each path varint id - id of the previous block (0 at first)
//
// Sites are numbered by first appearance of (pc, size, access).

// CodeRow is a row of the table of blocks.
type CodeRow struct {
	PC, Next uint64
	Bytes    uint32
	Insts    uint32
	Sites    []SiteID
	End      event.End
}

// Rows are the rows of a tables block, none of which is in an earlier block.
type Rows struct {
	FirstBlock uint64
	Blocks     []CodeRow
	FirstPath  uint64
	Lengths    []uint32 // of the paths, in blocks
	Paths      []uint32 // their blocks, one path after another
}

// Encode encodes a tables block. sites contains the sites of the whole trace.
func (n *Rows) Encode(sites []Site) []byte {
	var b []byte
	blocks := n.Blocks
	b = binary.AppendUvarint(b, n.FirstBlock)
	b = binary.AppendUvarint(b, uint64(len(blocks)))
	at := uint64(0)
	for i := range blocks {
		b = binary.AppendVarint(b, int64(blocks[i].PC-at))
		at = blocks[i].Next
	}
	for i := range blocks {
		b = binary.AppendUvarint(b, uint64(blocks[i].Bytes))
	}
	for i := range blocks {
		b = binary.AppendUvarint(b, uint64(blocks[i].Insts))
	}
	for i := range blocks {
		b = append(b, byte(blocks[i].End))
	}
	for i := range blocks {
		b = binary.AppendUvarint(b, uint64(len(blocks[i].Sites)))
	}
	for i := range blocks {
		at := blocks[i].PC
		for _, id := range blocks[i].Sites {
			s := sites[id]
			b = binary.AppendUvarint(b, s.PC-at)
			b = append(b, s.Size<<1|byte(s.Access))
			at = s.PC
		}
	}
	b = binary.AppendUvarint(b, n.FirstPath)
	b = binary.AppendUvarint(b, uint64(len(n.Lengths)))
	for _, length := range n.Lengths {
		b = binary.AppendUvarint(b, uint64(length))
	}
	row := n.Paths
	for _, length := range n.Lengths {
		before := uint32(0)
		for _, id := range row[:length] {
			b = binary.AppendVarint(b, int64(id)-int64(before))
			before = id
		}
		row = row[length:]
	}
	return b
}

// Tables are the blocks, sites and paths of a trace.
type Tables struct {
	bySite    *siteBlocks // computed when first needed
	Blocks    []TableBlock
	SiteLists []SiteID // of all blocks, one after another
	Sites     []Site
	siteIDs   map[Site]SiteID
	PathOff   []uint32 // the blocks of path i are PathBlocks[PathOff[i]:PathOff[i+1]]
	Path      []uint32
}

type TableBlock struct {
	PC        uint64
	Bytes     uint32
	Insts     uint32
	SiteFrom  uint32
	SiteCount uint32
	End       event.End
}

func (b *TableBlock) Next() uint64 { return b.PC + uint64(b.Bytes) }

// Limits on the tables of a trace.
const (
	MaxTableRows  = 1 << 20 // blocks; also the sites of all blocks
	MaxPaths      = 1 << 22
	MaxPathsTotal = 1 << 24 // blocks of all paths
)

// MaxBlockSites limits the sites of a block.
const MaxBlockSites = 1 << 10

// MaxSiteSize is the size in bytes of the largest access that the format can hold.
const MaxSiteSize = 127

func NewTables() *Tables { return &Tables{siteIDs: map[Site]SiteID{}, PathOff: []uint32{0}} }

// Add decodes the next tables block and adds its rows.
func (t *Tables) Add(payload []byte) error {
	d := decode(payload)
	t.addBlocks(&d)
	t.addPaths(&d)
	d.End()
	if d.Err != nil {
		return fmt.Errorf("tables: %w", d.Err)
	}
	return nil
}

func (t *Tables) addBlocks(d *decoder) {
	if d.Uvarint() != uint64(len(t.Blocks)) {
		d.Fail("number of the first block")
	}
	n := d.Count(5, "count")
	if len(t.Blocks)+n > MaxTableRows {
		d.Fail("number of blocks")
		return
	}
	from := len(t.Blocks)
	t.Blocks = append(t.Blocks, make([]TableBlock, n)...)
	blocks := t.Blocks[from:]
	// The pc is relative to the end of the previous block, whose length is in the next
	// column.
	deltas := make([]int64, n)
	for i := range deltas {
		deltas[i] = d.Varint()
	}
	at := uint64(0)
	for i := range blocks {
		blocks[i].Bytes = uint32(d.Max(math.MaxUint32, "number out of range"))
		blocks[i].PC = at + uint64(deltas[i])
		at = blocks[i].Next()
	}
	for i := range blocks {
		blocks[i].Insts = uint32(d.Max(math.MaxUint32, "number out of range"))
	}
	for i := range blocks {
		blocks[i].End = event.End(d.Byte())
		if blocks[i].End > event.EndTrap {
			d.Fail("end of a block")
		}
	}
	at = uint64(len(t.SiteLists))
	for i := range blocks {
		blocks[i].SiteFrom = uint32(at)
		blocks[i].SiteCount = uint32(d.Max(MaxBlockSites, "number out of range"))
		at += uint64(blocks[i].SiteCount)
		if at > MaxTableRows {
			d.Fail("number of sites")
			return
		}
	}
	for i := range blocks {
		at := blocks[i].PC
		for range blocks[i].SiteCount {
			at += d.Uvarint()
			x := d.Byte()
			if d.Err != nil {
				return
			}
			t.SiteLists = append(t.SiteLists, t.Site(Site{PC: at, Size: x >> 1, Access: event.Access(x & 1)}))
		}
	}
}

func (t *Tables) Site(s Site) SiteID {
	id, ok := t.siteIDs[s]
	if !ok {
		id = SiteID(len(t.Sites))
		t.Sites = append(t.Sites, s)
		t.siteIDs[s] = id
	}
	return id
}

func (t *Tables) addPaths(d *decoder) {
	if d.Uvarint() != uint64(len(t.PathOff)-1) {
		d.Fail("number of the first path")
	}
	n := d.Count(2, "count")
	if len(t.PathOff)+n > MaxPaths+MaxTableRows {
		d.Fail("number of paths")
		return
	}
	from := len(t.PathOff) - 1
	at := uint64(len(t.Path))
	for range n {
		length := d.Max(MaxPathBlocks, "number out of range")
		if length == 0 {
			d.Fail("length of a path")
			return
		}
		at += length
		if at > MaxPathsTotal+MaxTableRows {
			d.Fail("number of blocks in paths")
			return
		}
		t.PathOff = append(t.PathOff, uint32(at))
	}
	for i := from; i < from+n; i++ {
		id := int64(0)
		for range t.PathOff[i+1] - t.PathOff[i] {
			id += d.Varint()
			if id < 0 || id >= int64(len(t.Blocks)) {
				d.Fail("block of a path")
				return
			}
			t.Path = append(t.Path, uint32(id))
		}
	}
}

func (t *Tables) Paths() int { return len(t.PathOff) - 1 }

func (t *Tables) PathBlocks(id PathID) []uint32 { return t.Path[t.PathOff[id]:t.PathOff[id+1]] }

func (t *Tables) BlockSites(b *TableBlock) []SiteID {
	return t.SiteLists[b.SiteFrom : b.SiteFrom+b.SiteCount]
}

// MaxPathBlocks limits the blocks of a path in the tables. A longer path is written as
// paths of one block each.
const MaxPathBlocks = 1 << 10
