package image

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
)

// cfa says where the canonical frame address is: the value of a register plus an offset.
type cfa struct {
	reg    uint8
	offset int64
}

// frameEntry is a frame description entry. It says how to find the frame address in a range
// of code (DWARF 5 section 6.4).
type frameEntry struct {
	low, high uint64 // addresses of the file
	align     uint64 // alignment factor of code offsets
	data      int64  // factor of data offsets
	initial   []byte // instructions of the common entry
	program   []byte // instructions of this entry
}

// maxFrameEntries bounds the number of entries that are read.
const maxFrameEntries = 1 << 20

// FrameAddress returns how to compute the canonical frame address immediately before the
// instruction at pc, i.e. the caller's stack pointer at the call (DWARF 5 section 6.4): the
// value of an integer register, plus an offset.
func (m *Image) FrameAddress(pc uint64) (reg uint8, offset int64, ok bool) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	at, ok := d.frameAddress(m, pc-m.Base)
	return at.reg, at.offset, ok
}

// frameAddress returns the canonical frame address before the instruction at pc, which is
// an address of the file.
func (d *debugInfo) frameAddress(m *Image, pc uint64) (cfa, bool) {
	r, ok := d.frameRun(m, pc, false)
	return r.now, ok && r.known
}

// frameRun runs the entry for the instruction at pc, which is an address of the file. With
// keeping, it also finds where registers are saved.
func (d *debugInfo) frameRun(m *Image, pc uint64, keeping bool) (r frameRun, ok bool) {
	if !d.framesRead {
		d.framesRead = true
		d.note(guard(func() error { d.readFrameEntries(m); return nil }))
	}
	i := sort.Search(len(d.frameEntries), func(i int) bool { return d.frameEntries[i].low > pc }) - 1
	if i < 0 || d.frameEntries[i].high <= pc {
		return r, false
	}
	f := &d.frameEntries[i]
	r = frameRun{entry: f, pc: f.low, want: pc, keeping: keeping}
	if r.run(f.initial) {
		r.run(f.program)
	}
	return r, true
}

// readFrameEntries reads .debug_frame and .eh_frame.
func (d *debugInfo) readFrameEntries(m *Image) {
	for i := range m.sections {
		s := &m.sections[i]
		if s.name != ".debug_frame" && s.name != ".eh_frame" {
			continue
		}
		data, err := s.contents(m.Data)
		if err != nil {
			d.note(err)
			continue
		}
		f := frameReader{data: data, addr: s.Addr, eh: s.name == ".eh_frame", common: map[int]*commonEntry{}}
		d.frameEntries = append(d.frameEntries, f.read()...)
	}
	slices.SortStableFunc(d.frameEntries, func(a, b frameEntry) int { return cmp.Compare(a.low, b.low) })
}

// frameReader reads one of the two sections.
type frameReader struct {
	data   []byte
	addr   uint64 // of the section in memory
	eh     bool
	common map[int]*commonEntry // by offset
}

// commonEntry holds what several frame entries share.
type commonEntry struct {
	ok       bool
	augments bool  // entries have augmentation data
	encoding uint8 // of addresses in .eh_frame
	align    uint64
	factor   int64
	program  []byte
}

func (f *frameReader) read() []frameEntry {
	var out []frameEntry
	c := cursor{data: f.data}
	for c.off+4 <= len(f.data) && len(out) < maxFrameEntries {
		n, wide := c.length()
		if n == 0 && f.eh {
			break
		}
		start := c.off
		if c.bad || n > uint64(len(f.data)-start) {
			break
		}
		end := start + int(n)
		id := c.offset(wide)
		isCommon := id == 0
		at := start - int(min(id, uint64(start))) // .eh_frame counts backwards from here
		if !f.eh {
			isCommon = id == 0xffffffff || wide && id == ^uint64(0)
			at = int(min(id, uint64(len(f.data))))
		}
		if !isCommon {
			if e, ok := f.entry(cursor{data: f.data[:end], off: c.off}, f.commonAt(at)); ok {
				out = append(out, e)
			}
		}
		c.off = end
	}
	return out
}

// commonAt returns the common entry at an offset. It reads each entry once.
func (f *frameReader) commonAt(off int) *commonEntry {
	if e := f.common[off]; e != nil {
		return e
	}
	e := new(commonEntry)
	f.common[off] = e
	if off < 0 || off > len(f.data) {
		return e
	}
	c := cursor{data: f.data, off: off}
	n, wide := c.length()
	if c.bad || n > uint64(len(f.data)-c.off) {
		return e
	}
	c.data = f.data[:c.off+int(n)]
	c.offset(wide)
	version := c.u8()
	augmentation := c.str()
	if version >= 4 {
		c.u8() // size of an address
		c.u8() // size of a segment selector
	}
	e.align, e.factor = c.uleb(), c.sleb()
	if version == 1 {
		c.u8()
	} else {
		c.uleb()
	}
	if strings.HasPrefix(augmentation, "z") {
		e.augments = true
		n := c.uleb()
		rest := c
		c.skip(n)
		for _, letter := range augmentation[1:] {
			switch letter {
			case 'R':
				e.encoding = rest.u8()
			case 'L':
				rest.u8()
			case 'P':
				rest.skip(encodedSize(rest.u8()))
			}
		}
	} else if augmentation != "" {
		return e
	}
	e.program, e.ok = c.data[min(c.off, len(c.data)):], !c.bad
	return e
}

// Encodings of addresses in .eh_frame (Linux Standard Base, "DWARF Extensions").
const encodingPCRel = 0x10

// encodedSize returns the number of bytes of an address in an encoding.
func encodedSize(encoding uint8) uint64 {
	switch encoding & 7 {
	case 2:
		return 2
	case 3:
		return 4
	}
	return 8
}

// entry reads the rest of a frame entry, after its reference to the common entry.
func (f *frameReader) entry(c cursor, common *commonEntry) (frameEntry, bool) {
	if !common.ok {
		return frameEntry{}, false
	}
	e := frameEntry{align: common.align, data: common.factor, initial: common.program}
	if f.eh {
		from := f.addr + uint64(c.off)
		e.low = f.encoded(&c, common.encoding)
		if common.encoding&0x70 == encodingPCRel {
			e.low += from
		}
		e.high = e.low + f.encoded(&c, common.encoding&7)
	} else {
		e.low = c.u64()
		e.high = e.low + c.u64()
	}
	if common.augments {
		c.skip(c.uleb())
	}
	e.program = c.data[min(c.off, len(c.data)):]
	return e, !c.bad && e.low < e.high
}

// encoded reads an address or, for an encoding without sign, a length.
func (f *frameReader) encoded(c *cursor, encoding uint8) uint64 {
	signed := encoding&8 != 0
	switch encodedSize(encoding) {
	case 2:
		if v := c.u16(); !signed {
			return uint64(v)
		} else {
			return uint64(int64(int16(v)))
		}
	case 4:
		if v := c.u32(); !signed {
			return uint64(v)
		} else {
			return uint64(int64(int32(v)))
		}
	}
	return c.u64()
}

// frameRun runs the instructions of an entry up to an address.
type frameRun struct {
	entry    *frameEntry
	pc, want uint64
	now      cfa
	known    bool
	keeping  bool // kept is computed
	kept     registerPlaces
	saved    []frameState
}

// frameState is a state that a frame program has saved.
type frameState struct {
	now  cfa
	kept registerPlaces
}

// registerPlaces maps integer registers of the caller to the places where they are saved,
// as offsets from the frame address.
type registerPlaces map[uint8]int64

// keep records where a register is saved.
func (r *frameRun) keep(reg uint64, offset int64) {
	if r.keeping && reg < 32 {
		if r.kept == nil {
			r.kept = registerPlaces{}
		}
		r.kept[uint8(reg)] = offset
	}
}

// Kept returns where the caller's integer registers are saved immediately before the
// instruction at pc, as offsets from the canonical frame address. Registers that are not in
// the map still have their values.
func (m *Image) Kept(pc uint64) map[uint8]int64 {
	d := m.lockDebug()
	defer d.mu.Unlock()
	if r, ok := d.frameRun(m, pc-m.Base, true); ok {
		return r.kept
	}
	return nil
}

// Instructions of call frame programs (DWARF 5 section 7.24).
const (
	cfaAdvance = 0x40 // the upper two bits
	cfaOffset  = 0x80
	cfaRestore = 0xc0

	cfaSetLoc          = 0x01
	cfaAdvance1        = 0x02
	cfaAdvance2        = 0x03
	cfaAdvance4        = 0x04
	cfaOffsetExtended  = 0x05
	cfaRestoreExtended = 0x06
	cfaUndefined       = 0x07
	cfaSameValue       = 0x08
	cfaRegister        = 0x09
	cfaRememberState   = 0x0a
	cfaRestoreState    = 0x0b
	cfaDef             = 0x0c
	cfaDefRegister     = 0x0d
	cfaDefOffset       = 0x0e
	cfaDefExpression   = 0x0f
	cfaExpression      = 0x10
	cfaOffsetSF        = 0x11
	cfaDefSF           = 0x12
	cfaDefOffsetSF     = 0x13
	cfaValOffset       = 0x14
	cfaValOffsetSF     = 0x15
	cfaValExpression   = 0x16
)

// maxSavedStates bounds the number of states that a program can save.
const maxSavedStates = 1 << 10

// run executes a program. It reports false when it has passed the wanted address, or cannot
// continue.
func (r *frameRun) run(program []byte) bool {
	c := cursor{data: program}
	for c.off < len(program) && !c.bad {
		op := c.u8()
		switch op & 0xc0 {
		case cfaAdvance:
			if !r.advance(uint64(op & 0x3f)) {
				return false
			}
			continue
		case cfaOffset:
			r.keep(uint64(op&0x3f), int64(c.uleb())*r.entry.data)
			continue
		case cfaRestore:
			delete(r.kept, op&0x3f)
			continue
		}
		switch op {
		case cfaSetLoc:
			r.pc = c.u64()
			if r.pc > r.want {
				return false
			}
		case cfaAdvance1:
			if !r.advance(uint64(c.u8())) {
				return false
			}
		case cfaAdvance2:
			if !r.advance(uint64(c.u16())) {
				return false
			}
		case cfaAdvance4:
			if !r.advance(uint64(c.u32())) {
				return false
			}
		default:
			if !r.define(op, &c) {
				return false
			}
		}
	}
	return !c.bad
}

// advance moves forward in the code. It reports false when that passes the wanted address.
func (r *frameRun) advance(n uint64) bool {
	r.pc += n * r.entry.align
	return r.pc <= r.want
}

// define executes an instruction that affects registers.
func (r *frameRun) define(op uint8, c *cursor) bool {
	switch op {
	case 0:
	case cfaOffsetExtended:
		reg := c.uleb()
		r.keep(reg, int64(c.uleb())*r.entry.data)
	case cfaOffsetSF:
		reg := c.uleb()
		r.keep(reg, c.sleb()*r.entry.data)
	case cfaRegister, cfaValOffset:
		c.uleb()
		c.uleb()
	case cfaValOffsetSF:
		c.uleb()
		c.sleb()
	case cfaRestoreExtended, cfaSameValue:
		delete(r.kept, uint8(c.uleb()))
	case cfaUndefined:
		c.uleb()
	case cfaRememberState:
		if len(r.saved) == maxSavedStates {
			return false
		}
		r.saved = append(r.saved, frameState{r.now, maps.Clone(r.kept)})
	case cfaRestoreState:
		if len(r.saved) == 0 {
			return false
		}
		last := r.saved[len(r.saved)-1]
		r.now, r.kept = last.now, last.kept
		r.saved = r.saved[:len(r.saved)-1]
	case cfaDef, cfaDefSF:
		reg := c.uleb()
		var offset int64
		if op == cfaDef {
			offset = int64(c.uleb())
		} else {
			offset = c.sleb() * r.entry.data
		}
		r.now, r.known = cfa{uint8(reg), offset}, reg < 32
	case cfaDefRegister:
		reg := c.uleb()
		r.now.reg, r.known = uint8(reg), reg < 32
	case cfaDefOffset:
		r.now.offset = int64(c.uleb())
	case cfaDefOffsetSF:
		r.now.offset = c.sleb() * r.entry.data
	case cfaExpression, cfaValExpression:
		c.uleb()
		c.skip(c.uleb())
	case cfaDefExpression: // the frame address is an expression, not a register plus an offset
		c.skip(c.uleb())
		r.known = false
	default:
		r.known = false
		return false
	}
	return true
}
