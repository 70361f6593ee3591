package image

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

// ErrDebug says that the debug information is damaged or of an unknown kind. The image
// can be used without it.
var ErrDebug = errors.New("unusable debug information")

// maxDebugName bounds a name in the debug information, in bytes.
const maxDebugName = 1 << 16

// debugInfo is the DWARF of an image, decoded on demand. Addresses in it are those of the
// file: callers subtract the bias.
//
// debug/dwarf does not protect itself against hostile input. Whatever could exhaust memory
// or the stack (allocations of a claimed size, recursion over nested entries, tables shared
// by many units) is checked before debug/dwarf is called, or is implemented in this package
// instead. Panics of debug/dwarf are caught.
type debugInfo struct {
	mu     sync.Mutex // guards everything below
	opened bool
	err    error // the first error

	data     *dwarf.Data
	line     []byte // .debug_line
	lineStr  []byte
	str      []byte
	units    []*unit
	ranges   []unitRange // in order of address
	reach    []uint64    // reach[i]: the maximum of high in ranges[:i+1]
	rowsLeft int         // number of line rows that may still be decoded
	spanLeft int         // number of address ranges that may still be decoded
	types    map[dwarf.Offset]*typeInfo
	globals  *variables
	tlsNames map[string][]Symbol // thread-local symbols, by name without a numeric suffix

	locLists, loc []byte       // .debug_loclists, and .debug_loc of DWARF 4
	addr          []byte       // .debug_addr
	frameEntries  []frameEntry // in order of address
	framesRead    bool
	atomics       map[dwarf.Offset][]atomicScope // of the functions examined so far
	spellings     map[string]string              // by linkage name, the source form
	typeNames     map[string]dwarf.Offset        // nil: not read yet
}

// unitRange is a range of code that a unit covers.
type unitRange struct {
	low, high uint64
	unit      *unit
}

// unit is a compilation unit.
type unit struct {
	first  dwarf.Offset // of its root entry
	end    dwarf.Offset
	root   *dwarf.Entry
	walked bool
	scopes []scope
	spans  []scopeSpan
	reach  []uint64 // as in debugInfo
	vars   []variable
	// prefixes are the scopes that precede the names of entries without a linkage name, for
	// the entries looked up so far.
	prefixes map[dwarf.Offset]string
	lines    *lineTable
	lined    bool
}

// note keeps the first error.
func (d *debugInfo) note(err error) {
	if err != nil && d.err == nil {
		if !errors.Is(err, ErrDebug) {
			err = fmt.Errorf("%w: %w", ErrDebug, err)
		}
		d.err = err
	}
}

// guard calls f and turns its panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDebug, p)
		}
	}()
	return f()
}

// lockDebug takes the lock and, on the first call, opens the debug information. The caller
// unlocks m.debug.mu.
func (m *Image) lockDebug() *debugInfo {
	d := &m.debug
	d.mu.Lock()
	if !d.opened {
		d.opened = true
		if err := guard(func() error { return d.open(m) }); err != nil {
			d.note(err)
			d.units, d.ranges, d.reach = nil, nil, nil
		}
	}
	return d
}

// DebugErr returns the first error in the debug information read so far. It returns nil if
// there was none, or if the program has no debug information.
func (m *Image) DebugErr() error {
	d := m.lockDebug()
	defer d.mu.Unlock()
	return d.err
}

// HasDebug reports whether the program has usable debug information.
func (m *Image) HasDebug() bool {
	d := m.lockDebug()
	defer d.mu.Unlock()
	return len(d.units) > 0
}

// open reads the sections and indexes the units by the code that they cover.
func (d *debugInfo) open(m *Image) error {
	sections := map[string][]byte{}
	for i := range m.sections {
		s := &m.sections[i]
		if len(s.name) < 7 || s.name[:7] != ".debug_" || elf.SectionType(s.Type) == elf.SHT_NOBITS {
			continue
		}
		if _, ok := sections[s.name]; ok {
			continue
		}
		data, err := s.contents(m.Data)
		if err != nil {
			return err
		}
		sections[s.name] = data
	}
	info := sections[".debug_info"]
	if len(info) == 0 {
		return nil
	}
	for _, name := range []string{".debug_str", ".debug_line_str"} {
		if err := checkStrings(name, sections[name]); err != nil {
			return err
		}
	}
	headers, err := unitHeaders(info, sections[".debug_abbrev"])
	if err != nil {
		return err
	}
	d.data, err = dwarf.New(sections[".debug_abbrev"], nil, nil, info, sections[".debug_line"], nil,
		sections[".debug_ranges"], sections[".debug_str"])
	if err != nil {
		return err
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if err := d.data.AddSection(name, sections[name]); err != nil {
			return err
		}
	}
	d.line, d.lineStr, d.str = sections[".debug_line"], sections[".debug_line_str"], sections[".debug_str"]
	d.locLists, d.loc, d.addr = sections[".debug_loclists"], sections[".debug_loc"], sections[".debug_addr"]
	d.rowsLeft = 2*len(d.line) + 1024
	d.spanLeft = len(info) + 4*(len(sections[".debug_ranges"])+len(sections[".debug_rnglists"])) + 1024
	d.types = map[dwarf.Offset]*typeInfo{}
	d.tlsNames = map[string][]Symbol{}
	for _, sym := range m.symbols.tls.syms {
		name, _, _ := strings.Cut(sym.Name, ".")
		d.tlsNames[name] = append(d.tlsNames[name], sym)
	}
	return d.indexUnits(m, headers)
}

// checkStrings rejects a string section that contains an absurdly long string.
func checkStrings(name string, data []byte) error {
	run := 0
	for _, c := range data {
		if c == 0 {
			run = 0
		} else if run++; run > maxDebugName {
			return fmt.Errorf("%w: %s: a name of more than %d bytes", ErrDebug, name, maxDebugName)
		}
	}
	return nil
}

// unitHeaders reads the unit headers of .debug_info. It checks that decoding their
// abbreviation tables costs no more than the section's size suggests.
func unitHeaders(info, abbrev []byte) ([]*unit, error) {
	var units []*unit
	tables := map[uint64]bool{}
	left := 2*len(abbrev) + 1024
	c := cursor{data: info}
	for c.off < len(info) {
		length, wide := c.length()
		start := c.off
		if c.bad || length > uint64(len(info)-start) {
			return nil, fmt.Errorf("%w: .debug_info: unit at %#x is cut short", ErrDebug, start)
		}
		if length == 0 {
			continue
		}
		end := start + int(length)
		version, kind := c.u16(), uint8(1)
		if version >= 5 {
			kind = c.u8()
			c.u8() // address size
		}
		table := c.offset(wide)
		if version < 5 {
			c.u8() // address size
		}
		switch kind {
		case 4, 5: // skeleton and split units: an identifier
			c.skip(8)
		case 2, 6: // type units: a signature and an offset
			c.skip(8)
			c.offset(wide)
		}
		if c.bad || c.off > end {
			return nil, fmt.Errorf("%w: .debug_info: unit header at %#x is cut short", ErrDebug, start)
		}
		if !tables[table] {
			tables[table] = true
			left -= abbrevSize(abbrev, table)
			if left < 0 {
				return nil, fmt.Errorf("%w: .debug_abbrev: tables overlap", ErrDebug)
			}
		}
		units = append(units, &unit{first: dwarf.Offset(c.off), end: dwarf.Offset(end)})
		c.off = end
	}
	return units, nil
}

// abbrevSize returns the length of the abbreviation table at off.
func abbrevSize(abbrev []byte, off uint64) int {
	if off >= uint64(len(abbrev)) {
		return 0
	}
	c := cursor{data: abbrev, off: int(off)}
	for !c.bad && c.uleb() != 0 {
		c.uleb()
		c.u8()
		for !c.bad {
			attr, form := c.uleb(), c.uleb()
			if form == 0x21 { // DW_FORM_implicit_const
				c.sleb()
			}
			if attr == 0 && form == 0 {
				break
			}
		}
	}
	return c.off - int(off)
}

// indexUnits reads the root entry of each unit and the code that it covers.
func (d *debugInfo) indexUnits(m *Image, units []*unit) error {
	r := d.data.Reader()
	for _, u := range units {
		r.Seek(u.first)
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil || e.Tag != dwarf.TagCompileUnit {
			continue
		}
		u.root = e
		d.units = append(d.units, u)
		ranges, err := d.rangesOf(e)
		if err != nil {
			return err
		}
		for _, rg := range ranges {
			// Code that the linker discarded keeps its entry, at an address near 0.
			if rg[0] < rg[1] && m.Exec(rg[0]+m.Base) {
				d.ranges = append(d.ranges, unitRange{rg[0], rg[1], u})
			}
		}
	}
	slices.SortStableFunc(d.ranges, func(a, b unitRange) int { return cmp.Compare(a.low, b.low) })
	reach := uint64(0)
	for i := range d.ranges {
		reach = max(reach, d.ranges[i].high)
		d.reach = append(d.reach, reach)
	}
	return nil
}

// rangesOf returns the code that an entry covers, within the budget.
func (d *debugInfo) rangesOf(e *dwarf.Entry) ([][2]uint64, error) {
	if d.spanLeft <= 0 {
		return nil, fmt.Errorf("%w: too many address ranges", ErrDebug)
	}
	ranges, err := d.data.Ranges(e)
	d.spanLeft -= len(ranges)
	return ranges, err
}

// unitAt returns the unit that covers pc (an address of the file), or nil.
func (d *debugInfo) unitAt(pc uint64) *unit {
	i := sort.Search(len(d.ranges), func(i int) bool { return d.ranges[i].low > pc }) - 1
	for ; i >= 0 && d.reach[i] > pc; i-- {
		if d.ranges[i].high > pc {
			return d.ranges[i].unit
		}
	}
	return nil
}

// cursor decodes DWARF data from a section. When the data run out, it sets bad and returns
// zeros.
type cursor struct {
	data []byte
	off  int
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || n < 0 || n > len(c.data)-c.off {
		c.bad = true
		return nil
	}
	b := c.data[c.off : c.off+n]
	c.off += n
	return b
}

func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.data)) {
		c.bad = true
		return
	}
	c.take(int(n))
}

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// length reads a unit length and reports whether the unit is in the 64-bit format.
func (c *cursor) length() (uint64, bool) {
	n := c.u32()
	if n == 0xffffffff {
		return c.u64(), true
	}
	return uint64(n), false
}

// offset reads a reference into a section.
func (c *cursor) offset(wide bool) uint64 {
	if wide {
		return c.u64()
	}
	return uint64(c.u32())
}

func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 || c.bad {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := 0; ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b&0x80 == 0 || c.bad {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// str reads a string that ends with a zero byte.
func (c *cursor) str() string {
	start := c.off
	for c.u8() != 0 {
	}
	if c.bad {
		return ""
	}
	return string(c.data[start : c.off-1])
}
