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
	Event      uint64     // the allocating event's index among its thread's events
	PC         uint64     // of the call that allocated it
	Mode       event.Mode // event.Given or Kept
	// Freed says that the block has been given up; its memory has not become
	// part of another block since.
	Freed   bool
	FreedBy event.ThreadID
	FreedAt uint64 // index of the freeing event among its thread's events
	// What of it are thread-local variables, and of which shared object: where that
	// begins.
	variables, variablesSize, image uint64
}

// local reports whether a thread-local variable is at addr.
func (b *Block) local(addr uint64) bool { return addr-b.variables < b.variablesSize }

// user reports whether the block is the program's.
func (b *Block) user(p Program) bool {
	switch {
	case b.image != 0:
		return true
	case b.Mode&event.Given != 0:
		return true
	case b.Mode&event.Kept != 0:
		return false
	}
	return p.User(b.PC)
}

// contains reports whether addr is in the block; a block of no bytes contains its
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

// end is the address after the block.
func (b *Block) end() uint64 { return b.Addr + max(b.Size, 1) }

// chunks are the first and last chunk that the block is entered in.
func (b *Block) chunks() (first, last uint64) {
	first, last = b.Addr>>chunkBits, (b.end()-1)>>chunkBits
	if last < first || last-first > maxSpan {
		last = first
	}
	return first, last
}

// insert adds b and forgets blocks whose memory it takes over.
func (m blocks) insert(b *Block) {
	first, last := b.chunks()
	for c := first; c <= last; c++ {
		for _, old := range m.touching(c, b) {
			m.remove(old)
		}
		i := m.search(c, b.Addr)
		m[c] = slices.Insert(m[c], i, b)
	}
}

// granule is how much memory begins a life together.
const granule = 8

// extend makes memory that begins a new life a part of the block that ends directly
// before it: what the allocator has left there, for which the program has asked.
func (m blocks) extend(low, high uint64) {
	b := m.find(low - 1)
	for below := uint64(2); b == nil && below <= granule; below++ {
		b = m.find(low - below)
	}
	if b == nil || b.Freed || b.Kind != event.Alloc || (b.end()+granule-1)&^(granule-1) != low {
		return
	}
	larger := *b
	larger.Size = high - b.Addr
	m.insert(&larger)
}

// search is where in the list of chunk c the blocks begin that end above addr.
func (m blocks) search(c, addr uint64) int {
	i, _ := slices.BinarySearchFunc(m[c], addr, func(x *Block, addr uint64) int {
		if x.end() <= addr {
			return -1
		}
		return 1
	})
	return i
}

// touching are the blocks in chunk c that have a byte in common with b.
func (m blocks) touching(c uint64, b *Block) (found []*Block) {
	for i := m.search(c, b.Addr); i < len(m[c]) && m[c][i].Addr < b.end(); i++ {
		found = append(found, m[c][i])
	}
	return found
}

func (m blocks) remove(b *Block) {
	first, last := b.chunks()
	for c := first; c <= last; c++ {
		if i := m.search(c, b.Addr); i < len(m[c]) && m[c][i] == b {
			m[c] = slices.Delete(m[c], i, i+1)
		}
	}
}

func (m blocks) find(addr uint64) *Block {
	c := addr >> chunkBits
	if i := m.search(c, addr); i < len(m[c]) && m[c][i].contains(addr) {
		return m[c][i]
	}
	return nil
}
