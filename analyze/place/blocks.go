package place

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Block is a heap block or a mapping of the program's own.
type Block struct {
	Addr, Size uint64
	Kind       event.Kind // Alloc or Map
	Thread     event.ThreadID
	Event      uint64 // the allocating event's index among its thread's events
	PC         uint64 // of the call that allocated it
	// Freed says that the block has been given up; its memory has not become
	// part of another block since.
	Freed   bool
	FreedBy event.ThreadID
	FreedAt uint64 // index of the freeing event among its thread's events
}

// contains says whether addr is in the block; a block of no bytes contains its
// own address.
func (b *Block) contains(addr uint64) bool { return addr-b.Addr < max(b.Size, 1) }

// chunkBits is the size of the pieces of the address space in which blocks are
// kept sorted.
const chunkBits = 16

// maxSpan bounds the chunks that one block is entered in (16 GiB).
const maxSpan = 1 << 18

// blocks finds the block around an address: a sorted list for each chunk of
// the address space, of the blocks that touch it.
type blocks map[uint64][]*Block

// insert adds b and forgets freed blocks whose memory it takes over.
func (m blocks) insert(b *Block) {
	first, last := b.Addr>>chunkBits, (b.Addr+max(b.Size, 1)-1)>>chunkBits
	if last < first || last-first > maxSpan {
		last = first
	}
	for c := first; c <= last; c++ {
		list := m[c]
		i, _ := slices.BinarySearchFunc(list, b.Addr, func(x *Block, addr uint64) int {
			if x.Addr+max(x.Size, 1) <= addr {
				return -1
			}
			return 1
		})
		j := i
		for j < len(list) && list[j].Addr < b.Addr+max(b.Size, 1) {
			j++
		}
		m[c] = slices.Replace(list, i, j, b)
	}
}

func (m blocks) find(addr uint64) *Block {
	list := m[addr>>chunkBits]
	i, _ := slices.BinarySearchFunc(list, addr, func(x *Block, addr uint64) int {
		if x.Addr+max(x.Size, 1) <= addr {
			return -1
		}
		return 1
	})
	if i < len(list) && list[i].contains(addr) {
		return list[i]
	}
	return nil
}
