package image

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// SymbolKind says what a symbol names.
type SymbolKind uint8

const (
	FuncSymbol   SymbolKind = iota // code
	ObjectSymbol                   // data
	TLSSymbol                      // thread-local data
)

// Symbol is a name for a place in the program.
type Symbol struct {
	Name   string // the linker's name
	Addr   uint64 // for a TLSSymbol: offset in the TLS block
	Size   uint64 // bytes; 0 for hand-written assembly without a size
	Kind   SymbolKind
	Global bool   // global or weak
	File   string // for a local symbol: its source or object file, from STT_FILE; otherwise ""
}

// Demangled returns the name as in the source: a C++ name is demangled, any other name is
// returned unchanged.
func (s Symbol) Demangled() string { return demangled(s.Name) }

// maxDemangle bounds the names that are demangled. Longer names are returned unchanged.
const maxDemangle = 4096

func demangled(name string) string {
	if len(name) > maxDemangle {
		return name
	}
	return demangle.Filter(name, demangle.MaxLength(14))
}

// maxSpelled bounds the number of cached names.
const maxSpelled = 1 << 14

// spelled returns demangled(linkage), computed once per name: demangling a C++ function
// with templates takes a hundred microseconds, and every frame needs it.
func (d *debugInfo) spelled(linkage string) string {
	name, ok := d.spellings[linkage]
	if ok {
		return name
	}
	name = demangled(linkage)
	if d.spellings == nil || len(d.spellings) >= maxSpelled {
		d.spellings = map[string]string{}
	}
	d.spellings[linkage] = name
	return name
}

// symbolTable holds the symbols, sorted so that they can be found by address.
type symbolTable struct {
	funcs   spans
	objects spans
	tls     spans
	names   map[string]*Symbol
	// pieces are the starts of the input files' contributions to executable memory, in
	// order of address: the mapping symbols ($x…) that the assembler puts there.
	pieces []piece
}

type piece struct {
	addr uint64
	file string
}

// spans are symbols in order of address. Among symbols of one address, the best name comes
// first.
type spans struct {
	syms []Symbol
	end  []uint64 // end[i]: the address after syms[i], estimated if it has no size
	max  []uint64 // max[i]: the maximum of end in syms[:i+1]
}

// find returns the innermost symbol that covers addr, with its best name.
func (t *spans) find(addr uint64) (Symbol, bool) {
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].Addr > addr }) - 1
	for ; i >= 0 && t.max[i] > addr; i-- {
		if t.end[i] <= addr {
			continue
		}
		start := t.syms[i].Addr
		for i > 0 && t.syms[i-1].Addr == start && t.end[i-1] > addr {
			i--
		}
		return t.syms[i], true
	}
	return Symbol{}, false
}

// underscores counts the leading underscores of a name.
func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }

// better compares two names of one address. It prefers a name with a size, then one that
// does not begin with two underscores (static glibc's malloc is a local alias of the global
// __libc_malloc), then global names, then fewer leading underscores, shorter names, and
// alphabetical order.
func better(a, b *Symbol) int {
	if (a.Size == 0) != (b.Size == 0) {
		if a.Size != 0 {
			return -1
		}
		return 1
	}
	if ra, rb := strings.HasPrefix(a.Name, "__"), strings.HasPrefix(b.Name, "__"); ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	if a.Global != b.Global {
		if a.Global {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(underscores(a.Name), underscores(b.Name)),
		cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name), cmp.Compare(b.Size, a.Size))
}

// makeSpans sorts symbols. A symbol without a size ends at the next symbol, or at
// limit(addr). Symbols without a size inside one with a size are dropped: they are
// labels.
func makeSpans(syms []Symbol, limit func(uint64) uint64) spans {
	slices.SortFunc(syms, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), better(&a, &b))
	})
	kept, reach := syms[:0], uint64(0)
	for _, s := range syms {
		if s.Size == 0 && s.Addr < reach {
			continue
		}
		reach = max(reach, s.Addr+s.Size)
		kept = append(kept, s)
	}
	t := spans{syms: kept, end: make([]uint64, len(kept)), max: make([]uint64, len(kept))}
	next := ^uint64(0) // the lowest start above the symbols of this address
	for i := len(kept) - 1; i >= 0; i-- {
		s := &kept[i]
		if i+1 < len(kept) && kept[i+1].Addr > s.Addr {
			next = kept[i+1].Addr
		}
		t.end[i] = s.Addr + s.Size
		if s.Size == 0 {
			t.end[i] = max(s.Addr, min(next, limit(s.Addr)))
		}
	}
	reach = 0
	for i := range t.end {
		reach = max(reach, t.end[i])
		t.max[i] = reach
	}
	return t
}

// readSymbols reads .symtab, or .dynsym of a stripped file.
func (m *Image) readSymbols() error {
	m.symbols.names = map[string]*Symbol{}
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for i := range m.sections {
			s := &m.sections[i]
			if elf.SectionType(s.Type) != kind {
				continue
			}
			raw := s.raw(m.Data)
			if raw == nil && s.Size != 0 {
				return fmt.Errorf("%w: symbol table is not within the file", ErrFormat)
			}
			if int(s.Link) >= len(m.sections) {
				return fmt.Errorf("%w: symbol table without names", ErrFormat)
			}
			m.stripped = kind == elf.SHT_DYNSYM
			return m.addSymbols(raw, string(m.sections[s.Link].raw(m.Data)))
		}
	}
	m.stripped = true
	return nil
}

// symbolNames returns names from a string table, and bounds their total size: many long
// names that share one string would otherwise cost far more than the size of the file.
type symbolNames struct {
	strings string
	budget  int
}

func (n *symbolNames) at(off uint32) (string, error) {
	if uint64(off) >= uint64(len(n.strings)) {
		return "", nil
	}
	s := n.strings[off:]
	i := strings.IndexByte(s[:min(len(s), n.budget)], 0)
	if i < 0 {
		return "", fmt.Errorf("%w: symbol names are not terminated or too long", ErrFormat)
	}
	n.budget -= i
	return s[:i], nil
}

func (m *Image) addSymbols(raw []byte, strtab string) error {
	names := &symbolNames{strings: strtab, budget: 8*len(strtab) + 4*len(raw) + 1<<16}
	var funcs, objects, tls []Symbol
	file := ""
	for ; len(raw) >= symbolSize; raw = raw[symbolSize:] {
		name, err := names.at(binary.LittleEndian.Uint32(raw))
		if err != nil {
			return err
		}
		kind, bind := elf.ST_TYPE(raw[4]), elf.ST_BIND(raw[4])
		index := elf.SectionIndex(binary.LittleEndian.Uint16(raw[6:]))
		value, size := binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])
		if kind == elf.STT_FILE {
			file = name
			continue
		}
		if name == "__global_pointer$" && index != elf.SHN_UNDEF {
			m.GP = value + m.Base
			continue
		}
		if name == "" || index == elf.SHN_UNDEF || index == elf.SHN_ABS || index == elf.SHN_COMMON {
			continue
		}
		s := Symbol{Name: name, Addr: value + m.Base, Size: size, Global: bind != elf.STB_LOCAL}
		if !s.Global {
			s.File = file
		}
		if kind == elf.STT_TLS {
			s.Addr = value
			if value < m.TLS.MemSize && size <= m.TLS.MemSize-value {
				s.Kind = TLSSymbol
				tls = append(tls, s)
			}
			continue
		}
		seg := m.segment(s.Addr)
		if seg == nil || size > seg.End()-s.Addr {
			continue
		}
		switch code := seg.Exec && m.inCode(int(index)); {
		case kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC, kind == elf.STT_NOTYPE && code:
			if strings.HasPrefix(name, "$") {
				m.symbols.pieces = append(m.symbols.pieces, piece{s.Addr, file})
			} else if code && !strings.HasPrefix(name, ".L") {
				funcs = append(funcs, s)
			}
		case kind == elf.STT_OBJECT:
			s.Kind = ObjectSymbol
			objects = append(objects, s)
		}
	}
	slices.SortStableFunc(m.symbols.pieces, func(a, b piece) int { return cmp.Compare(a.addr, b.addr) })
	m.symbols.funcs = makeSpans(append(funcs, m.stubSymbols()...), m.codeEnd)
	m.symbols.objects = makeSpans(objects, func(a uint64) uint64 { return a })
	m.symbols.tls = makeSpans(tls, func(a uint64) uint64 { return a })
	m.indexNames()
	return nil
}

// inCode reports whether section i contains instructions.
func (m *Image) inCode(i int) bool {
	return i < len(m.sections) && elf.SectionFlag(m.sections[i].Flags)&elf.SHF_EXECINSTR != 0
}

// Range is a range of addresses that includes Low and excludes High.
type Range struct{ Low, High uint64 }

// CodeRanges returns the memory ranges that contain instructions, in order of address: the
// sections marked so, or whole executable segments if the file has no sections. Linkers
// often put constants into executable segments, too.
func (m *Image) CodeRanges() []Range {
	var ranges []Range
	for i := range m.sections {
		s := &m.sections[i]
		low := s.Addr + m.Base
		if seg := m.segment(low); m.inCode(i) && s.Size > 0 && seg != nil && seg.Exec && s.Size <= seg.End()-low {
			ranges = append(ranges, Range{low, low + s.Size})
		}
	}
	if len(ranges) == 0 {
		for i := range m.Segments {
			if s := &m.Segments[i]; s.Exec {
				ranges = append(ranges, Range{s.Addr, s.Addr + uint64(len(s.Data))})
			}
		}
	}
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Low, b.Low) })
	kept := ranges[:0]
	for _, r := range ranges {
		if n := len(kept); n > 0 && r.Low < kept[n-1].High { // sections that overlap
			kept[n-1].High = max(kept[n-1].High, r.High)
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// codeEnd returns the end of the section with instructions that contains addr.
func (m *Image) codeEnd(addr uint64) uint64 {
	for i := range m.sections {
		s := &m.sections[i]
		if at := s.Addr + m.Base; m.inCode(i) && addr-at < s.Size {
			if end := at + s.Size; end > addr {
				return end
			}
		}
	}
	return addr
}

// indexNames indexes symbols by name. Of several symbols with one name, the global one
// is preferred, then the first.
func (m *Image) indexNames() {
	for _, t := range []*spans{&m.symbols.funcs, &m.symbols.objects, &m.symbols.tls} {
		for i := range t.syms {
			s := &t.syms[i]
			if old, ok := m.symbols.names[s.Name]; !ok || s.Global && !old.Global {
				m.symbols.names[s.Name] = s
			}
		}
	}
}

// Func returns the function that covers pc, with the best of its names: one without two
// leading underscores, then a global one, then the one with the fewest leading underscores,
// then the shortest. Hand-written code without a size extends to the next symbol.
func (m *Image) Func(pc uint64) (Symbol, bool) { return m.symbols.funcs.find(pc) }

// FuncAfter returns the first function that begins after pc.
func (m *Image) FuncAfter(pc uint64) (Symbol, bool) {
	t := &m.symbols.funcs
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].Addr > pc })
	if i == len(t.syms) {
		return Symbol{}, false
	}
	return t.syms[i], true
}

// ownCode is the number of bytes before a function in which code without a symbol is
// assumed to be in the function's file.
const ownCode = 1024

// FileOf returns the start of the code that is assumed to be in the same file as the
// function at addr. Static functions precede the one that uses them, and a shared object
// without local symbols has no names for them.
func (m *Image) FileOf(addr uint64) uint64 {
	t := &m.symbols.funcs
	n := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].Addr >= addr })
	from := addr - min(addr, ownCode)
	if n > 0 {
		from = max(from, t.syms[n-1].Addr+t.syms[n-1].Size)
	}
	return min(from, addr)
}

// FuncEnd returns the address after the function that covers pc, or 0 if there is none. For
// symbols without a size it differs from Addr+Size.
func (m *Image) FuncEnd(pc uint64) uint64 {
	t := &m.symbols.funcs
	i := sort.Search(len(t.syms), func(i int) bool { return t.syms[i].Addr > pc }) - 1
	for ; i >= 0 && t.max[i] > pc; i-- {
		if t.end[i] > pc {
			return t.end[i]
		}
	}
	return 0
}

// Symbols returns all function symbols, including aliases, in order of address. The slice
// is shared and must not be changed.
func (m *Image) Symbols() []Symbol { return m.symbols.funcs.syms }

// Objects returns all data symbols in order of address. The slice is shared and must not be
// changed.
func (m *Image) Objects() []Symbol { return m.symbols.objects.syms }

// Lookup returns a symbol of any kind by its linker name.
func (m *Image) Lookup(name string) (Symbol, bool) {
	if s, ok := m.symbols.names[name]; ok {
		return *s, true
	}
	return Symbol{}, false
}

// Object returns the data symbol that covers addr, and the offset of addr in it.
func (m *Image) Object(addr uint64) (Symbol, uint64, bool) {
	s, ok := m.symbols.objects.find(addr)
	return s, addr - s.Addr, ok
}

// TLSObject returns the thread-local symbol that covers offset off of the TLS block, and
// the offset in it.
func (m *Image) TLSObject(off uint64) (Symbol, uint64, bool) {
	s, ok := m.symbols.tls.find(off)
	return s, off - s.Addr, ok
}

// pieceFile returns the file whose code covers pc, according to the mapping symbols, or ""
// if it is not known.
func (m *Image) pieceFile(pc uint64) string {
	p := m.symbols.pieces
	i := sort.Search(len(p), func(i int) bool { return p[i].addr > pc }) - 1
	if i < 0 {
		return ""
	}
	return p[i].file
}
