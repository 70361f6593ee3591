package mem

import (
	"errors"
	"iter"
)

// Errors of the mapping methods.
var (
	// ErrInvalid: the range is empty, not aligned or outside the space.
	ErrInvalid = errors.New("mem: bad range")
	// ErrNoMemory: the limit, the number of mappings or the free addresses are exhausted,
	// or a range that must be mapped is not.
	ErrNoMemory = errors.New("mem: out of memory")
	// ErrExists: the range is mapped and must not be replaced.
	ErrExists = errors.New("mem: range is mapped already")
)

const (
	// DefaultMaxBytes is the limit of a Space whose Config sets none.
	DefaultMaxBytes = 4 << 30
	// MaxMappings is the maximum number of mappings, as in Linux.
	MaxMappings = 65530
	// LowestAddress is the lowest address that may be mapped.
	LowestAddress = 0x10000
)

// Config sets up a Space. The zero value is useful.
type Config struct {
	// MaxBytes bounds the memory of the guest in bytes: the pages that exist, with their
	// tables and what is held besides. Independently, the writable mapped bytes are bounded
	// by seven eighths of it. 0 means DefaultMaxBytes.
	MaxBytes uint64
	// MapTop is the address below which free ranges are searched. 0 means Top.
	MapTop uint64
}

// Space is an address space. The zero value is not usable; call [New].
type Space struct {
	table      table
	vmas       vmas
	last       *VMA // the mapping that was last found, in vmas; nil: unknown
	max        uint64
	mapTop     uint64
	charged    uint64
	refused    uint64
	held       uint64 // held by a kernel for the guest; see Hold
	gen        uint64
	codeGen    uint64
	brkStart   uint64
	brk        uint64
	watch      func(addr, n uint64, acc Access)
	watchMoves func(from, n, to uint64)

	// See change.go.
	record  func(Change)
	foreign map[*Page]*Page  // what stands for the pages of a recorded space
	sharing map[*Page]uint64 // pages that several mappings may have, numbered from 1
	owned   map[uint64]bool  // pages that no snapshot shares, by number; nil: there are no snapshots
	copied  uint64
}

// Watch makes the space call f for what Read, Write, ReadCString and Move access, even if
// they fail half-way. Pages that Drop makes zero count as written. When bytes are unmapped,
// acc is 0. Accesses through pages of [Space.Page] are not reported.
// Move calls moved, if it is not nil, for bytes that it takes to another place, and else f
// for a read and a write.
func (s *Space) Watch(f func(addr, n uint64, acc Access), moved func(from, n, to uint64)) {
	s.watch, s.watchMoves = f, moved
}

// Watched reports whether there is a watcher.
func (s *Space) Watched() bool { return s.watch != nil }

// Tell reports an access to the watcher: one to data outside the space, which a kernel
// holds for the guest at addresses from [Top] up, or one that was a [Space.Peek].
func (s *Space) Tell(addr, n uint64, acc Access) {
	if s.watch != nil {
		s.watch(addr, n, acc)
	}
}

// New returns an empty space.
func New(cfg Config) *Space {
	s := &Space{max: cfg.MaxBytes, mapTop: cfg.MapTop &^ pageMask, gen: 1, codeGen: 1}
	if s.max == 0 {
		s.max = DefaultMaxBytes
	}
	if s.mapTop == 0 || s.mapTop > Top {
		s.mapTop = Top
	}
	return s
}

// Generation returns a number that changes whenever a translation returned by [Space.Page]
// may have become stale: after unmapping, replacing, dropping or protecting pages.
func (s *Space) Generation() uint64 { return s.gen }

// CodeGeneration returns a number that changes whenever instructions read earlier may have
// become stale, because executable pages were unmapped, replaced or protected, or because
// [Space.InvalidateCode] was called. Plain stores into executable pages do not change it,
// as on hardware.
func (s *Space) CodeGeneration() uint64 { return s.codeGen }

// InvalidateCode says that instructions may have been written.
func (s *Space) InvalidateCode() {
	s.codeGen++
	s.changed(Change{Kind: Recoded})
}

// SetMapTop sets the address below which free ranges are searched.
func (s *Space) SetMapTop(addr uint64) { s.mapTop = min(addr&^pageMask, Top) }

// Resident returns the size of the pages that exist, with their tables, and of what is held
// besides.
func (s *Space) Resident() uint64 { return s.table.bytes + s.held }

// Hold counts n bytes that a kernel keeps for the guest outside the space: the content of
// files, the buffers of pipes. It reports false if there is no room for them.
func (s *Space) Hold(n uint64) bool {
	if limit := s.max - s.max/8; n > limit || s.table.bytes+s.held > limit-n {
		s.refused++
		return false
	}
	s.held += n
	return true
}

// LetGo undoes a [Space.Hold].
func (s *Space) LetGo(n uint64) { s.held -= min(n, s.held) }

// Charged returns the mapped bytes that count against the limit.
func (s *Space) Charged() uint64 { return s.charged }

// Refused returns the number of requests that would have exceeded the limit.
func (s *Space) Refused() uint64 { return s.refused }

// MaxBytes returns the limit.
func (s *Space) MaxBytes() uint64 { return s.max }

// VMAs yields the mappings in order of address.
func (s *Space) VMAs() iter.Seq[VMA] {
	return func(yield func(VMA) bool) {
		for _, v := range s.vmas {
			if !yield(v) {
				return
			}
		}
	}
}

// Find returns the mapping that covers addr.
func (s *Space) Find(addr uint64) (VMA, bool) {
	if v := s.find(addr); v != nil {
		return *v, true
	}
	return VMA{}, false
}

// find returns the mapping that covers addr, or nil. It is valid until mappings change.
func (s *Space) find(addr uint64) *VMA {
	if v := s.last; v != nil && addr-v.Start < v.End-v.Start {
		return v
	}
	i := s.vmas.search(addr)
	if i == len(s.vmas) || s.vmas[i].Start > addr {
		return nil
	}
	s.last = &s.vmas[i]
	return s.last
}

// Page returns the page with number vpn (address >> PageShift) for the access. It allocates
// the page if it has not been touched before. The page is valid for this access until
// [Space.Generation] changes. The address in the fault is that of the page.
func (s *Space) Page(vpn uint64, acc Access) (*Page, *Fault) {
	addr := vpn << PageShift
	if vpn >= Top>>PageShift {
		return nil, &Fault{addr, acc, Unmapped}
	}
	v := s.find(addr)
	switch {
	case v == nil:
		return nil, &Fault{addr, acc, Unmapped}
	case v.Prot&acc != acc:
		return nil, &Fault{addr, acc, Denied}
	case v.Hole:
		return nil, &Fault{addr, acc, BeyondFile}
	}
	return s.touch(vpn, acc)
}

// Lowest returns the address of the first page in [from, to) that was touched, if there is
// one.
func (s *Space) Lowest(from, to uint64) (addr uint64, ok bool) {
	vpn, ok := s.table.first(from>>PageShift, min(Pages(to), Top)>>PageShift)
	return vpn << PageShift, ok
}

// touch returns page vpn of a mapping, allocating it if necessary.
func (s *Space) touch(vpn uint64, acc Access) (*Page, *Fault) {
	if p := s.table.get(vpn); p != nil {
		if s.owned != nil && acc&Write != 0 {
			p = s.own(vpn, p)
		}
		return p, nil
	}
	if s.table.bytes+s.held+s.table.costOf(vpn) > s.max {
		return nil, &Fault{vpn << PageShift, acc, OverLimit}
	}
	p := new(Page)
	s.table.put(vpn, p)
	if s.owned != nil {
		s.owned[vpn] = true
		s.copied += PageSize
	}
	return p, nil
}

// Share puts pages into the mapping at addr, which must be new. What is stored in one of
// the mappings that have the same pages is stored in all of them. It returns ErrNoMemory if
// the limit would be exceeded.
func (s *Space) Share(addr uint64, pages []*Page) error {
	for i, p := range pages {
		vpn := addr>>PageShift + uint64(i)
		if s.table.bytes+s.held+s.table.costOf(vpn) > s.max {
			return ErrNoMemory
		}
		s.table.put(vpn, p)
		if s.sharing == nil {
			s.sharing = map[*Page]uint64{}
		}
		if s.sharing[p] == 0 {
			s.sharing[p] = uint64(len(s.sharing)) + 1
		}
	}
	s.changed(Change{Kind: Shared, Addr: addr, Pages: pages})
	return nil
}

// sharedBase is the lowest address that [Space.Object] returns for memory that several
// mappings may have. No mapping is there.
const sharedBase = 1 << 59

// Object returns the one address of an object whose memory several mappings may have, such
// as a named semaphore that two threads open. For all other memory, it returns addr itself.
// Objects in one page that was mapped, unmapped and mapped elsewhere are the same.
func (s *Space) Object(addr uint64) uint64 {
	if len(s.sharing) == 0 {
		return addr
	}
	if n := s.sharing[s.table.get(addr>>PageShift)]; n != 0 {
		return sharedBase | n<<PageShift | addr&pageMask
	}
	return addr
}

// Pages returns bytes rounded up to whole pages, or 0 if that overflows.
func Pages(bytes uint64) uint64 { return (bytes + pageMask) &^ pageMask }

// valid reports whether [addr, addr+length) is a range that may be mapped.
func valid(addr, length uint64) bool {
	return addr&pageMask == 0 && length&pageMask == 0 && length != 0 && length <= Top && addr <= Top-length
}
