package cdr

import (
	"math"

	"hindsight/tracefmt/event"
)

// BlockID and PathID name rows of the trace's tables, dense from 0.
type (
	BlockID = event.BlockID
	PathID  uint32
)

// maxPathBlocks cuts paths that never turn back, so that a path fits in a row.
const maxPathBlocks = 128

// paths interns the acyclic paths of a run.
//
// A path is cut, as in "Whole Program Paths" (PLDI 1999), behind calls and
// returns, at ordered events, and at back edges. A back edge is taken to be a
// transfer to the same or a lower address: every cycle has one, whatever the
// compiler made of the loop, so paths are acyclic without a static graph, and
// for code laid out in loop order the paths are those of Ball and Larus. Since
// the file lists the blocks of every path that ran, a path needs no number
// that a reader could decode: it is a node of a trie of blocks, and to follow
// one is one compare a block.
type paths struct {
	alphabet Alphabet
	blocks   []blockInfo
	nodes    []pathNode        // 0 is no path
	roots    []uint32          // node of the one-block path of each block, or 0
	more     map[uint64]uint32 // node<<32|block → edge, when not in the node
	seq      []uint32          // nodes of used paths, in order of their ids
	written  int               // rows of seq that are in the file
	defined  int               // rows of blocks that are in the file
	bases    PathID            // id of seq[0]
	total    int               // blocks of all paths that were used
}

// blockInfo is what the recorder needs of a block.
type blockInfo struct {
	pc, next uint64
	bytes    uint32
	insts    uint32
	sites    []SiteID
	end      event.End
	cut      bool // the path ends behind this block
}

// pathNode is a path: its parent followed by block.
type pathNode struct {
	edge   [2]struct{ block, to uint32 } // the edges that were taken last
	parent uint32
	block  uint32
	path   uint32 // PathID+1 once it was used
	depth  uint16
	cut    bool
	end    event.End
}

// cutBit marks an edge that ends the path: the rest of the edge is the node
// of the next path.
const cutBit = 1 << 31

const noBlock = math.MaxUint32

const pathNodeBytes = 40 + 24 // with its share of the maps

func newPaths(alphabet Alphabet) *paths {
	return &paths{alphabet: alphabet, nodes: make([]pathNode, 1), more: map[uint64]uint32{}}
}

func (p *paths) define(b *event.Block, sites []SiteID) {
	info := blockInfo{pc: b.PC, next: b.Next(), bytes: b.Bytes, insts: b.Insts, sites: sites, end: b.End}
	switch b.End {
	case event.EndCall, event.EndCallInd, event.EndReturn:
		info.cut = true
	}
	if p.alphabet == AlphabetBlock {
		info.cut = true
	}
	p.blocks = append(p.blocks, info)
	p.roots = append(p.roots, 0)
}

// root is the path that consists of block alone.
func (p *paths) root(block uint32) uint32 {
	if n := p.roots[block]; n != 0 {
		return n
	}
	n := p.add(0, block)
	p.roots[block] = n
	return n
}

func (p *paths) add(parent, block uint32) uint32 {
	info := &p.blocks[block]
	n := pathNode{parent: parent, block: block, depth: p.nodes[parent].depth + 1, cut: info.cut, end: info.end}
	n.edge[0].block, n.edge[1].block = noBlock, noBlock
	p.nodes = append(p.nodes, n)
	return uint32(len(p.nodes) - 1)
}

// follow is the edge from a path over block: the longer path, or, with cutBit,
// the first node of the next one. The caller has looked at the node's own
// edges already.
func (p *paths) follow(from, block uint32) uint32 {
	key := uint64(from)<<32 | uint64(block)
	to, ok := p.more[key]
	if !ok {
		n := &p.nodes[from]
		if n.depth >= maxPathBlocks || p.full() || p.blocks[block].pc <= p.blocks[n.block].pc {
			to = p.root(block) | cutBit
		} else {
			to = p.add(from, block)
		}
		p.more[key] = to
	}
	n := &p.nodes[from]
	n.edge[1] = n.edge[0]
	n.edge[0].block, n.edge[0].to = block, to
	return to
}

// full says that the tables hold as many paths as they may; from there on
// paths are cut to single blocks.
func (p *paths) full() bool {
	return int(p.bases)+len(p.seq) >= maxPaths || p.total >= maxPathsTotal
}

// id names the path of a node in the trace's tables.
func (p *paths) id(node uint32) PathID {
	n := &p.nodes[node]
	if n.path == 0 {
		p.seq = append(p.seq, node)
		p.total += int(n.depth)
		n.path = uint32(p.bases) + uint32(len(p.seq))
	}
	return PathID(n.path - 1)
}

// blocksOf appends the blocks of a path.
func (p *paths) blocksOf(dst []uint32, node uint32) []uint32 {
	from := len(dst)
	for ; node != 0; node = p.nodes[node].parent {
		dst = append(dst, p.nodes[node].block)
	}
	for i, j := from, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}

func (p *paths) size() uint64 { return uint64(len(p.nodes)) * pathNodeBytes }

// forget drops the trie, whose rows must all be in the file. A path that runs
// again gets a second row.
func (p *paths) forget() {
	p.bases += PathID(len(p.seq))
	p.seq, p.written = p.seq[:0], 0
	p.nodes = p.nodes[:1]
	clear(p.more)
	clear(p.roots)
}
