package place

import (
	"slices"

	"hindsight/tracefmt/event"
)

// Block is a heap block, or a mapping made by the program itself.
type Block struct {
	Addr, Size uint64
	Kind       event.Kind // Alloc or Map
	Thread     event.ThreadID
	Event      uint64     // the allocating event's index among its thread's events
	PC         uint64     // of the allocating call
	Mode       event.Mode // event.Given or Kept
	// Freed says that the block has been freed and that its memory is not part of another
	// block yet.
	Freed   bool
	FreedBy event.ThreadID
	FreedAt uint64 // index of the freeing event among its thread's events
	// The thread-local variables in it, and the address at which their shared object
	// begins.
	variables, variablesSize, image uint64
}

// local reports whether a thread-local variable is at addr.
func (b *Block) local(addr uint64) bool { return addr-b.variables < b.variablesSize }

// user reports whether the block belongs to the program.
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

// contains reports whether addr is in the block. A block without bytes contains its own
// address.
func (b *Block) contains(addr uint64) bool { return addr-b.Addr < max(b.Size, 1) }

// chunkBits is the logarithm of the size of the chunks of the address space in which
// blocks are kept sorted.
const chunkBits = 16

// maxSpan limits the chunks in which one block is entered (16 GiB).
const maxSpan = 1 << 18

// blocks finds the block around an address. It has a sorted list for each chunk of the
// address space, with the blocks that touch the chunk.
type blocks map[uint64][]*Block

// end returns the address after the block.
func (b *Block) end() uint64 { return b.Addr + max(b.Size, 1) }

// chunks returns the first and last chunk in which the block is entered.
func (b *Block) chunks() (first, last uint64) {
	first, last = b.Addr>>chunkBits, (b.end()-1)>>chunkBits
	if last < first || last-first > maxSpan {
		last = first
	}
	return first, last
}

// insert adds b and removes blocks whose memory it takes over.
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

// granule is the size of memory that begins a life together.
const granule = 8

// extend adds memory that begins a new life to the block that ends directly before it. It
// is memory that the allocator left there, and that the program asked for.
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

// search returns the index in the list of chunk c of the first block that ends above
// addr.
func (m blocks) search(c, addr uint64) int {
	i, _ := slices.BinarySearchFunc(m[c], addr, func(x *Block, addr uint64) int {
		if x.end() <= addr {
			return -1
		}
		return 1
	})
	return i
}

// touching returns the blocks in chunk c that have a byte in common with b.
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
