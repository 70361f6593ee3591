package image

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// lineTable is the result of a unit's line number program (DWARF 5 section 6.2).
type lineTable struct {
	compDir string
	dirs    []string
	files   []lineFile // files[i] is file number i of the table
	rows    []lineRow
	seqs    []lineSeq // in order of start
	reach   []uint64  // reach[i]: the maximum of end in seqs[:i+1]
}

type lineFile struct {
	dir  uint64
	name string
}

type lineRow struct {
	addr   uint64
	file   uint32
	line   uint32
	column uint32
}

// lineSeq is a sequence of rows of contiguous code.
type lineSeq struct {
	start, end  uint64
	first, last int // rows[first:last]
}

// file returns the path of file number i as the table has it, preceded by its directory
// unless it is absolute.
func (t *lineTable) file(i uint64) string {
	if t == nil || i >= uint64(len(t.files)) {
		return ""
	}
	f := t.files[i]
	if f.name == "" || strings.HasPrefix(f.name, "/") {
		return f.name
	}
	dir := t.compDir
	if f.dir < uint64(len(t.dirs)) {
		dir = joinDir(t.compDir, t.dirs[f.dir])
	}
	return joinDir(dir, f.name)
}

// joinDir puts dir before a relative name. It leaves ".." alone, like other tools that
// print line tables.
func joinDir(dir, name string) string {
	if dir == "" || strings.HasPrefix(name, "/") {
		return name
	}
	if name == "" {
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// find returns the row that covers pc.
func (t *lineTable) find(pc uint64) (lineRow, bool) {
	if t == nil {
		return lineRow{}, false
	}
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].start > pc }) - 1
	for ; i >= 0 && t.reach[i] > pc; i-- {
		s := t.seqs[i]
		if s.end <= pc {
			continue
		}
		rows := t.rows[s.first:s.last]
		j := sort.Search(len(rows), func(j int) bool { return rows[j].addr > pc }) - 1
		if j >= 0 {
			return rows[j], true
		}
	}
	return lineRow{}, false
}

// LineCode returns the addresses at which the code of a source line starts. If the line has
// no code, it uses the next line of the file that has. at is the line used. A file is named
// by its path or the end of it.
func (m *Image) LineCode(file string, line int) (pcs []uint64, at int) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	for _, u := range d.units {
		d.readUnitLines(m, u)
		if u.lines == nil {
			continue
		}
		for i := range u.lines.seqs {
			s := &u.lines.seqs[i]
			last := -1
			for _, row := range u.lines.rows[s.first:s.last] {
				n := int(row.line)
				begins := n != last
				last = n
				if !begins || n < line || at != 0 && n > at || !sameFile(u.lines.file(uint64(row.file)), file) {
					continue
				}
				if n != at {
					pcs, at = nil, n
				}
				pcs = append(pcs, m.Base+row.addr)
			}
		}
	}
	slices.Sort(pcs)
	last, ok := Symbol{}, false
	return slices.DeleteFunc(pcs, func(pc uint64) bool { // one per function
		f, known := m.Func(pc)
		again := known && ok && f == last
		last, ok = f, known
		return again
	}), at
}

// sameFile reports whether a path of the line table denotes the file name.
func sameFile(path, name string) bool {
	path = filepath.Clean(path)
	return path == name || strings.HasSuffix(path, "/"+name) || strings.HasSuffix(name, "/"+path)
}

// lineHeader holds the header fields that are needed to run a program.
type lineHeader struct {
	version    uint16
	minInst    uint64
	lineBase   int64
	lineRange  int64
	opcodeBase uint8
	lengths    []uint8
}

// readLines runs the line number program at off. isCode reports whether a sequence that
// starts at an address is part of the program. At most *budget rows are created, and their
// number is subtracted from it.
func (d *debugInfo) readLines(off uint64, compDir string, isCode func(uint64) bool, budget *int) (*lineTable, error) {
	t, h, c, err := d.readLineFiles(off, compDir)
	if err != nil {
		return nil, err
	}
	if err := t.run(c, h, isCode, budget); err != nil {
		return nil, fmt.Errorf("line table at %#x: %w", off, err)
	}
	slices.SortStableFunc(t.seqs, func(a, b lineSeq) int { return cmp.Compare(a.start, b.start) })
	reach := uint64(0)
	for _, s := range t.seqs {
		reach = max(reach, s.end)
		t.reach = append(t.reach, reach)
	}
	return t, nil
}

// readLineFiles reads what precedes the line number program at off: the names of files. It
// leaves the cursor at the program.
func (d *debugInfo) readLineFiles(off uint64, compDir string) (*lineTable, *lineHeader, *cursor, error) {
	if off >= uint64(len(d.line)) {
		return nil, nil, nil, fmt.Errorf("%w: line table at %#x of %#x", ErrDebug, off, len(d.line))
	}
	c := &cursor{data: d.line, off: int(off)}
	length, wide := c.length()
	if c.bad || length > uint64(len(d.line)-c.off) {
		return nil, nil, nil, fmt.Errorf("%w: line table at %#x is cut short", ErrDebug, off)
	}
	c.data = c.data[:c.off+int(length)]
	t := &lineTable{compDir: compDir}
	h, err := d.readLineHeader(c, t, wide)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("line table at %#x: %w", off, err)
	}
	return t, h, c, nil
}

// readLineHeader reads the header and leaves the cursor at the program.
func (d *debugInfo) readLineHeader(c *cursor, t *lineTable, wide bool) (*lineHeader, error) {
	h := &lineHeader{version: c.u16()}
	if h.version < 2 || h.version > 5 {
		return nil, fmt.Errorf("%w: version %d", ErrDebug, h.version)
	}
	if h.version >= 5 {
		c.skip(2) // address and segment selector size
	}
	length := c.offset(wide)
	if c.bad || length > uint64(len(c.data)-c.off) {
		return nil, fmt.Errorf("%w: header is cut short", ErrDebug)
	}
	program := c.off + int(length)
	h.minInst = uint64(c.u8())
	if h.version >= 4 {
		c.u8() // operations per instruction: for VLIW machines
	}
	c.u8() // is_stmt: not used
	h.lineBase, h.lineRange = int64(int8(c.u8())), int64(c.u8())
	h.opcodeBase = c.u8()
	if h.lineRange == 0 || h.opcodeBase == 0 {
		return nil, fmt.Errorf("%w: line range %d, opcode base %d", ErrDebug, h.lineRange, h.opcodeBase)
	}
	h.lengths = c.take(int(h.opcodeBase) - 1)
	if h.version >= 5 {
		d.readFiles5(c, t, wide)
	} else {
		readFiles4(c, t)
	}
	if c.bad || c.off > program {
		return nil, fmt.Errorf("%w: file names are cut short", ErrDebug)
	}
	c.off = program
	return h, nil
}

// readFiles4 reads the directory and file tables of versions 2 to 4, where
// directory 0 is the compilation directory and files count from 1.
func readFiles4(c *cursor, t *lineTable) {
	t.dirs = []string{t.compDir}
	for !c.bad {
		s := c.str()
		if s == "" {
			break
		}
		t.dirs = append(t.dirs, s)
	}
	t.files = []lineFile{{}}
	for !c.bad {
		name := c.str()
		if name == "" {
			break
		}
		t.files = append(t.files, lineFile{dir: c.uleb(), name: name})
		c.uleb() // time
		c.uleb() // length
	}
}

// readFiles5 reads the directory and file tables of version 5.
func (d *debugInfo) readFiles5(c *cursor, t *lineTable, wide bool) {
	for i := range 2 {
		format := make([][2]uint64, c.u8())
		for j := range format {
			format[j] = [2]uint64{c.uleb(), c.uleb()}
		}
		count := c.uleb()
		if count > 0 && len(format) == 0 || count > uint64(len(c.data)-c.off) {
			c.bad = true
			return
		}
		for ; count > 0 && !c.bad; count-- {
			f := d.readFile5(c, format, wide)
			if i == 0 {
				t.dirs = append(t.dirs, f.name)
			} else {
				t.files = append(t.files, f)
			}
		}
	}
}

// readFile5 reads an entry of a directory or file table in the given format of (content
// type, form) pairs.
func (d *debugInfo) readFile5(c *cursor, format [][2]uint64, wide bool) lineFile {
	var f lineFile
	for _, p := range format {
		var s string
		var v uint64
		switch p[1] {
		case 0x08: // string
			s = c.str()
		case 0x0e: // strp
			s = stringAt(d.str, c.offset(wide))
		case 0x1f: // line_strp
			s = stringAt(d.lineStr, c.offset(wide))
		case 0x0b: // data1
			v = uint64(c.u8())
		case 0x05: // data2
			v = uint64(c.u16())
		case 0x06: // data4
			v = uint64(c.u32())
		case 0x07: // data8
			v = c.u64()
		case 0x0f: // udata
			v = c.uleb()
		case 0x1e: // data16
			c.skip(16)
		case 0x09: // block
			c.skip(c.uleb())
		default:
			c.bad = true
		}
		switch p[0] {
		case 1: // path
			f.name = s
		case 2: // directory index
			f.dir = v
		}
	}
	return f
}

// stringAt returns the string at off of a string section.
func stringAt(data []byte, off uint64) string {
	if off >= uint64(len(data)) {
		return ""
	}
	c := cursor{data: data, off: int(off)}
	return c.str()
}

// lineState holds the registers of the line number machine.
type lineState struct {
	addr, file uint64
	line       int64
	column     uint64
}

// run runs the program until the data ends.
func (t *lineTable) run(c *cursor, h *lineHeader, isCode func(uint64) bool, budget *int) error {
	s, first := lineState{file: 1, line: 1}, 0
	for c.off < len(c.data) && !c.bad {
		emit, end := false, false
		op := c.u8()
		if op >= h.opcodeBase {
			adj := int64(op - h.opcodeBase)
			s.addr += uint64(adj/h.lineRange) * h.minInst
			s.line += h.lineBase + adj%h.lineRange
			emit = true
		} else if op == 0 {
			end = t.extended(c, &s)
		} else {
			emit = s.standard(c, h, op)
		}
		if emit {
			*budget--
			if *budget < 0 {
				return fmt.Errorf("%w: too many lines", ErrDebug)
			}
			t.rows = append(t.rows, lineRow{s.addr, uint32(s.file), uint32(max(s.line, 0)), uint32(s.column)})
		}
		if end {
			t.endSequence(first, s.addr, isCode)
			first, s = len(t.rows), lineState{file: 1, line: 1}
		}
	}
	if c.bad {
		return fmt.Errorf("%w: program is cut short", ErrDebug)
	}
	return nil
}

// extended executes an extended opcode and reports whether it ends the sequence.
func (t *lineTable) extended(c *cursor, s *lineState) bool {
	n := c.uleb()
	if c.bad || n == 0 || n > uint64(len(c.data)-c.off) {
		c.bad = true
		return false
	}
	next := c.off + int(n)
	switch c.u8() {
	case 1: // end_sequence
		c.off = next
		return true
	case 2: // set_address
		if n != 9 {
			c.bad = true
			return false
		}
		s.addr = c.u64()
	case 3: // define_file
		name := c.str()
		t.files = append(t.files, lineFile{dir: c.uleb(), name: name})
	}
	c.off = next
	return false
}

// standard executes a standard opcode and reports whether it creates a row.
func (s *lineState) standard(c *cursor, h *lineHeader, op uint8) bool {
	switch op {
	case 1: // copy
		return true
	case 2: // advance_pc
		s.addr += c.uleb() * h.minInst
	case 3: // advance_line
		s.line += c.sleb()
	case 4: // set_file
		s.file = c.uleb()
	case 5: // set_column
		s.column = c.uleb()
	case 8: // const_add_pc
		s.addr += uint64(int64(255-h.opcodeBase)/h.lineRange) * h.minInst
	case 9: // fixed_advance_pc
		s.addr += uint64(c.u16())
	default: // opcodes without meaning here: skip the operands
		for range h.lengths[op-1] {
			c.uleb()
		}
	}
	return false
}

// endSequence closes the sequence of the rows starting at first. If they are not code of
// the program, it drops them.
func (t *lineTable) endSequence(first int, end uint64, isCode func(uint64) bool) {
	rows := t.rows[first:]
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b lineRow) int { return cmp.Compare(a.addr, b.addr) })
	if start := rows[0].addr; start < end && isCode(start) {
		t.seqs = append(t.seqs, lineSeq{start, end, first, len(t.rows)})
	} else {
		t.rows = t.rows[:first]
	}
}
