package image

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Space is a program as placed in memory: its executable and the shared objects that were
// loaded with it. A caller that asks about an instruction or a variable asks the Space,
// which knows the image of each address.
//
// Images are added while a program runs and never removed: an address keeps its meaning
// after dlclose, since nothing else is placed there in the same run. Images are numbered,
// and returned by [Space.Images], in the order in which they were added. All methods may be
// called from several goroutines at once.
type Space struct {
	// Main is the executable.
	Main *Image
	// Notes is about the source files of Main; nil means that nothing is known. It must not
	// be changed once others use the Space.
	Notes *Notes

	mu     sync.Mutex // held while adding
	loaded atomic.Pointer[layout]
	parsed *parsed
}

// layout is the set of images at some time.
type layout struct {
	images []*Image // in the order in which they were added, starting with the executable
	sorted []*Image // in order of address
	early  int      // number of images present when the program began
}

// parsed caches the shared objects that were read, for many runs of a program.
type parsed struct {
	mu     sync.Mutex
	images map[parsedKey]*Image
	debug  []string // directories of debug files
}

type parsedKey struct {
	digest [sha256.Size]byte
	path   string
	base   uint64
}

// NewSpace returns the space of an executable with which nothing has been loaded yet.
func NewSpace(main *Image) *Space {
	main.bound()
	s := &Space{Main: main, parsed: &parsed{images: map[parsedKey]*Image{}}}
	one := []*Image{main}
	s.loaded.Store(&layout{one, one, 1})
	return s
}

// Anew returns the space of the same executable for another run. It shares the cache of
// shared objects.
func (s *Space) Anew() *Space {
	other := NewSpace(s.Main)
	other.parsed = s.parsed
	return other
}

// Shared is like [ParseShared] for data whose digest is known. It caches the result for
// this space and all spaces made with [Space.Anew].
func (s *Space) Shared(data []byte, digest [sha256.Size]byte, path string, base uint64) (*Image, error) {
	s.parsed.mu.Lock()
	defer s.parsed.mu.Unlock()
	key := parsedKey{digest, path, base}
	if m := s.parsed.images[key]; m != nil {
		return m, nil
	}
	file := digest
	if whole := unstrip(data, path, s.parsed.debug); whole != nil {
		data, digest = whole, sha256.Sum256(whole)
	}
	m, err := ParseShared(data, path, base)
	if err == nil {
		m.Digest, m.file = digest, file
		s.parsed.images[key] = m
	}
	return m, err
}

// Add adds an image. late says that the program itself loaded it while running (dlopen).
// Add returns false if the place is taken.
func (s *Space) Add(m *Image, late bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.loaded.Load()
	i := sort.Search(len(old.sorted), func(i int) bool { return old.sorted[i].low > m.low })
	if i > 0 && old.sorted[i-1].high > m.low || i < len(old.sorted) && old.sorted[i].low < m.high {
		return false
	}
	next := &layout{append(slices.Clip(old.images), m), slices.Insert(slices.Clone(old.sorted), i, m), old.early}
	if !late && old.early == len(old.images) {
		next.early++
	}
	s.loaded.Store(next)
	return true
}

// Images returns all images, starting with the executable, in the order in which they were
// added. The slice must not be changed.
func (s *Space) Images() []*Image { return s.loaded.Load().images }

// At returns the image that contains addr, or nil.
func (s *Space) At(addr uint64) *Image {
	list := s.loaded.Load().sorted
	i := len(list) - 1
	if i > 0 {
		i = sort.Search(len(list), func(i int) bool { return list[i].low > addr }) - 1
	}
	if i < 0 || addr-list[i].low >= list[i].high-list[i].low {
		return nil
	}
	return list[i]
}

// Module returns the name of the shared object that contains addr ("" for the executable),
// and what was added to the addresses of the file.
func (s *Space) Module(addr uint64) (name string, bias uint64) {
	m := s.At(addr)
	if m == nil {
		return "", 0
	}
	if m.Path != "" {
		name = m.Name()
	}
	return name, m.Base
}

// HasDebug reports whether an image other than the system's libraries has usable debug
// information.
func (s *Space) HasDebug() bool {
	return slices.ContainsFunc(s.Images(), func(m *Image) bool { return !m.System() && m.HasDebug() })
}

// User reports whether pc is in the user's code rather than in a library. See the
// package comment.
func (s *Space) User(pc uint64) bool {
	m := s.At(pc)
	if m != nil && s.bare(m) {
		return m.Exec(pc) && !m.Stub(pc)
	}
	return m != nil && s.ownNames(m) && m.User(pc)
}

// bare reports whether an image is entirely the user's: it is not a system library, and no
// image of the program, which uses shared libraries, has debug information.
func (s *Space) bare(m *Image) bool {
	return s.Main.Interp != "" && !m.System() && !s.HasDebug()
}

// copied reports whether a variable of the executable is a copy of a system library's
// variable (a copy relocation, as for stdout).
func (s *Space) copied(m *Image, addr uint64) bool {
	sym, _, ok := m.Object(addr)
	return ok && slices.ContainsFunc(s.Images(), func(other *Image) bool {
		of, found := other.Lookup(sym.Name)
		return found && other.System() && of.Kind == ObjectSymbol
	})
}

// ownNames reports whether the user's part of an image can be determined: by its debug
// information, or by its symbols if no image has debug information.
func (s *Space) ownNames(m *Image) bool {
	return !m.System() && (m == s.Main || m.HasDebug() || !s.HasDebug())
}

// Library reports whether pc is in the code of a system library. In a program with debug
// information, code without it counts as library code, unless the symbol table names a
// source file for it. Then it belongs to another library that was compiled without debug
// information.
func (s *Space) Library(pc uint64) bool {
	m := s.At(pc)
	if m == nil || m.System() {
		return true
	}
	if s.bare(m) {
		return m.Stub(pc)
	}
	if s.ownNames(m) {
		return m.Library(pc)
	}
	return len(m.symbols.pieces) == 0 || !userFile(m.pieceFile(pc))
}

// UserObject reports whether addr is in a global variable of the user's code: declared by a
// compilation unit or, without any debug information, by the rule at userName.
func (s *Space) UserObject(addr uint64) bool {
	m := s.At(addr)
	if m != nil && s.bare(m) {
		return m.Static(addr) && !s.copied(m, addr)
	}
	return m != nil && s.ownNames(m) && m.UserObject(addr)
}

// UserTLS reports whether offset off from the thread pointer is in a variable of the
// user's code.
func (s *Space) UserTLS(off uint64) bool {
	m, off := s.tlsAt(off)
	return m != nil && s.ownNames(m) && m.UserTLS(off)
}

// Borrowed calls [Image.Borrowed] for the image that contains pc, if some image has the C++
// library's facets.
func (s *Space) Borrowed(pc uint64) bool {
	if _, ok := s.Lookup(facets); !ok {
		return false
	}
	m := s.At(pc)
	return m != nil && m.Borrowed(pc)
}

// CallTarget returns the target of the direct call that returns to ret.
func (s *Space) CallTarget(ret uint64) (uint64, bool) {
	m := s.At(ret - 1)
	if m == nil {
		return 0, false
	}
	b := m.Code(ret-8, 8)
	if len(b) < 8 {
		return 0, false
	}
	first, second := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	const jalRA, jalrRA, auipc = 0x0ef, 0x0e7, 0x17 // of the opcode and rd, or the opcode
	switch reg := second >> 15 & 31; {
	case second&0xfff == jalRA:
		return ret - 4 + jumpOffset(second), true
	case second&0x7fff == jalrRA && first&0x7f == auipc && first>>7&31 == reg:
		return ret - 8 + uint64(int64(int32(first&^0xfff))) + uint64(int64(int32(second)>>20)), true
	}
	return 0, false
}

// Runtime reports whether pc is in the code of the OpenMP runtime, libgomp, whose code need
// not be examined because hooks report what its calls order; in a function of the C library
// that guards what it accesses; or in the dynamic linker, which orders nothing.
func (s *Space) Runtime(pc uint64) bool {
	m := s.At(pc)
	return m != nil && (m.Linker() || m.Runtime(pc) || m.SelfGuarded(pc))
}

// PlaceName returns text for a place in code, such as "transfer bank.c:42", or "" if
// nothing is known about it.
func (s *Space) PlaceName(pc uint64) string {
	if pc == 0 {
		return ""
	}
	for _, f := range s.Frames(pc) {
		switch {
		case f.File != "":
			return fmt.Sprintf("%s %s:%d", f.Function, f.Base(), f.Line)
		case f.Function != "":
			return f.Function
		}
	}
	return ""
}

// Frames calls [Image.Frames] for the image that contains pc. Code of a shared object that
// no symbol covers is named by its place in the file.
func (s *Space) Frames(pc uint64) []Frame {
	m := s.At(pc)
	if m == nil {
		return nil
	}
	frames := m.Frames(pc)
	if len(frames) == 0 && m.Path != "" && m.Exec(pc) {
		return []Frame{{Function: fmt.Sprintf("%s+0x%x", m.Name(), pc-m.Base)}}
	}
	return frames
}

// Lookup returns a symbol of any kind by its linker name, from the first image that has it.
func (s *Space) Lookup(name string) (Symbol, bool) {
	for _, m := range s.Images() {
		if sym, ok := m.Lookup(name); ok {
			return sym, true
		}
	}
	return Symbol{}, false
}

// TLSSize returns the number of bytes of thread-local variables that a thread has at its
// thread pointer: those of the executable and of what was loaded with it.
func (s *Space) TLSSize() uint64 {
	end := uint64(0)
	for _, b := range s.tlsBlocks() {
		end = max(end, b.low+b.image.TLS.MemSize)
	}
	return end
}

// tlsBlock is the place of an image's thread-local variables.
type tlsBlock struct {
	low   uint64 // offset from the thread pointer
	image *Image
}

// tlsBlocks returns the blocks of the images that are loaded at the start, placed as the
// dynamic linker of glibc does it (_dl_determine_tlsoffset in elf/dl-tls.c, the variant
// with the blocks after the thread pointer).
func (s *Space) tlsBlocks() (blocks []tlsBlock) {
	var bottom, top, end uint64 // a gap between blocks, and where the last block ends
	now := s.loaded.Load()
	for _, m := range now.images[:now.early] {
		if m.TLS.MemSize == 0 {
			continue
		}
		at := m.TLS.after(bottom)
		if at <= top && m.TLS.MemSize <= top-at {
			bottom = at + m.TLS.MemSize
		} else {
			at = m.TLS.after(end)
			if at-end > top-bottom {
				bottom, top = end, at
			}
			end = at + m.TLS.MemSize
		}
		blocks = append(blocks, tlsBlock{at, m})
	}
	return blocks
}

// TLSModule returns where an image's thread-local variables are. For an image that was
// loaded at the start, early is true and low is the offset of its block from the thread
// pointer. For one that the program loaded later, module is its number in the dynamic
// linker's table of blocks, provided that no such image has been unloaded. ok is false for
// an image without thread-local variables.
func (s *Space) TLSModule(m *Image) (low uint64, module int, early, ok bool) {
	for _, b := range s.tlsBlocks() {
		if b.image == m {
			return b.low, 0, true, true
		}
	}
	for _, other := range s.Images() {
		if other.TLS.MemSize > 0 {
			module++
		}
		if other == m {
			return 0, module, false, m.TLS.MemSize > 0
		}
	}
	return 0, 0, false, false
}

// after returns the lowest place at or above low where the block is aligned as in its file.
func (t *TLS) after(low uint64) uint64 {
	align := max(t.Align, 1)
	lead := -t.Addr & (align - 1)
	at := (low + align - 1) &^ (align - 1)
	if at-low < lead {
		at += align
	}
	return at - lead
}

// tlsAt returns the image that has a thread-local variable at offset off from the thread
// pointer, and the offset in the image's block.
func (s *Space) tlsAt(off uint64) (*Image, uint64) {
	for _, b := range s.tlsBlocks() {
		if off-b.low < b.image.TLS.MemSize {
			return b.image, off - b.low
		}
	}
	return nil, 0
}

// TLSObject returns the thread-local symbol that covers offset off, and the offset in it.
// block is the address of the image that has the variables, and off counts from that
// image's block. If block is 0, off counts from the thread pointer.
func (s *Space) TLSObject(block, off uint64) (Symbol, uint64, bool) {
	if m, off := s.tlsIn(block, off); m != nil {
		return m.TLSObject(off)
	}
	return Symbol{}, 0, false
}

// TLSPath names the part of a thread-local variable at offset off, which counts as in
// TLSObject, by the rules of ObjectPath.
func (s *Space) TLSPath(block, off uint64) string {
	if m, off := s.tlsIn(block, off); m != nil {
		return m.TLSPath(off)
	}
	return ""
}

func (s *Space) tlsIn(block, off uint64) (*Image, uint64) {
	if block == 0 {
		return s.tlsAt(off)
	}
	return s.At(block), off
}
