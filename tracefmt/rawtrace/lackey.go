package rawtrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The translation of a line of lackey's text into records. The address, at most 48 bits,
// is in the low bits of the extended data. The size and the kind of the line are above
// it. The PC has no information beyond that of the preceding records. It is there for
// predictors, which look up what followed last time.
const (
	addrBits  = 48
	sizeShift = 48
	kindShift = 56

	kindInst   = 0 // "I  0401ab70,3"
	kindLoad   = 1 // " L 1fff000758,8"
	kindStore  = 2 // " S 1fff000758,8"
	kindModify = 3 // " M 1fff000758,8"
	kindText   = 4 // size bytes, 0 to 6, of another line, in the low bits
	kindEnd    = 5 // the same, and with them the line ends
	kindCut    = 6 // the same, and the text ends without a newline

	textPerRecord = 6
)

var lackeyPrefix = [...]string{kindInst: "I  ", kindLoad: " L ", kindStore: " S ", kindModify: " M "}

// lackeyPC computes the PC fields of the records of one trace.
type lackeyPC struct {
	inst uint32 // address of the latest instruction
	slot uint32 // records since that instruction
}

// pc returns the PC field of the next record: the address of the latest instruction, and
// the number of records since.
func (p *lackeyPC) pc() uint32 { return p.inst*4 + p.slot }

func (p *lackeyPC) next(ed uint64) {
	if ed>>kindShift == kindInst {
		p.inst, p.slot = uint32(ed), 0
	} else if p.slot < 3 {
		p.slot++
	}
}

// LackeyEncoder turns lackey's text into PC/ED records. Any text can be encoded, whatever
// its lines are. Those of `valgrind --tool=lackey --trace-mem=yes` take one record each.
type LackeyEncoder struct {
	w    io.Writer
	at   lackeyPC
	line []byte // the beginning of an incomplete line
	out  []byte
}

// NewLackeyEncoder writes records to w. Close must be called.
func NewLackeyEncoder(w io.Writer) *LackeyEncoder { return &LackeyEncoder{w: w} }

const maxLine = 1 << 12 // longer lines are cut into pieces of text

// Write takes the next piece of the text, of any length.
func (e *LackeyEncoder) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			e.line = append(e.line, p...)
			if len(e.line) > maxLine {
				whole := len(e.line) / textPerRecord * textPerRecord
				e.text(e.line[:whole], kindText)
				// Only text may follow text, so the rest is encoded as text.
				e.text(e.line[whole:], kindText)
				e.line = e.line[:0]
			}
			break
		}
		line := p[:i]
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		e.put(line)
		e.line = e.line[:0]
		p = p[i+1:]
		if len(e.out) >= 1<<16 {
			if err := e.flush(); err != nil {
				return size - len(p), err
			}
		}
	}
	return size, e.flush()
}

func (e *LackeyEncoder) flush() error {
	if len(e.out) == 0 {
		return nil
	}
	_, err := e.w.Write(e.out)
	e.out = e.out[:0]
	return err
}

// put encodes a whole line.
func (e *LackeyEncoder) put(line []byte) {
	if ed, ok := parseLackey(line); ok {
		e.record(ed)
		return
	}
	e.text(line, kindEnd)
}

// text encodes bytes that are not an access. The last record is of kind end.
func (e *LackeyEncoder) text(b []byte, end uint64) {
	for {
		n := min(len(b), textPerRecord)
		ed := uint64(n) << sizeShift
		for i, c := range b[:n] {
			ed |= uint64(c) << (8 * i)
		}
		b = b[n:]
		if len(b) == 0 {
			e.record(ed | end<<kindShift)
			return
		}
		e.record(ed | kindText<<kindShift)
	}
}

func (e *LackeyEncoder) record(ed uint64) {
	e.out = Record{PC: e.at.pc(), ED: ed}.Append(e.out)
	e.at.next(ed)
}

// Close ends the text. It does not close the underlying writer.
func (e *LackeyEncoder) Close() error {
	if len(e.line) > 0 {
		e.text(e.line, kindCut)
		e.line = nil
	}
	return e.flush()
}

// parseLackey returns the extended data of a line that has exactly the form in which
// lackey prints accesses: a kind, at least eight hexadecimal digits, a comma, a size.
func parseLackey(line []byte) (uint64, bool) {
	kind := -1
	for k, prefix := range lackeyPrefix {
		if len(line) > len(prefix) && string(line[:len(prefix)]) == prefix {
			kind = k
		}
	}
	if kind < 0 {
		return 0, false
	}
	rest := line[3:]
	var addr uint64
	digits := 0
	for ; digits < len(rest) && rest[digits] != ','; digits++ {
		c := rest[digits]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		if digits == addrBits/4 {
			return 0, false
		}
		addr = addr<<4 | uint64(c)
	}
	if digits < 8 || digits > 8 && rest[0] == '0' || digits == len(rest) {
		return 0, false
	}
	var size uint64
	decimal := rest[digits+1:]
	if len(decimal) == 0 || len(decimal) > 3 || decimal[0] == '0' {
		return 0, false
	}
	for _, c := range decimal {
		if c < '0' || c > '9' {
			return 0, false
		}
		size = size*10 + uint64(c-'0')
	}
	if size > 255 {
		return 0, false
	}
	return addr | size<<sizeShift | uint64(kind)<<kindShift, true
}

// ErrLackey says that records were not written by a LackeyEncoder.
var ErrLackey = errors.New("rawtrace: not the records of a lackey trace")

// LackeyDecoder turns the records of a [LackeyEncoder] back into its text.
type LackeyDecoder struct {
	w    io.Writer
	at   lackeyPC
	rest []byte // the beginning of an incomplete record
	out  []byte
	seen int64 // records so far
	cut  bool  // the text has ended
}

// NewLackeyDecoder writes text to w. Close must be called.
func NewLackeyDecoder(w io.Writer) *LackeyDecoder { return &LackeyDecoder{w: w} }

// Write takes the next piece of the records, of any length.
func (d *LackeyDecoder) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		if len(d.rest) > 0 || len(p) < RecordSize {
			n := min(RecordSize-len(d.rest), len(p))
			d.rest = append(d.rest, p[:n]...)
			p = p[n:]
			if len(d.rest) < RecordSize {
				break
			}
			if err := d.record(GetRecord(d.rest)); err != nil {
				return size - len(p), err
			}
			d.rest = d.rest[:0]
			continue
		}
		if err := d.record(GetRecord(p)); err != nil {
			return size - len(p), err
		}
		p = p[RecordSize:]
		if len(d.out) >= 1<<16 {
			if err := d.flush(); err != nil {
				return size - len(p), err
			}
		}
	}
	return size, d.flush()
}

func (d *LackeyDecoder) record(r Record) error {
	kind, size := r.ED>>kindShift, r.ED>>sizeShift&0xff
	if r.PC != d.at.pc() || kind > kindCut || d.cut || kind >= kindText && size > textPerRecord {
		return fmt.Errorf("%w: record %d", ErrLackey, d.seen)
	}
	d.seen++
	d.at.next(r.ED)
	if kind >= kindText {
		for i := range size {
			d.out = append(d.out, byte(r.ED>>(8*i)))
		}
		if kind == kindEnd {
			d.out = append(d.out, '\n')
		}
		d.cut = kind == kindCut
		return nil
	}
	d.out = append(d.out, lackeyPrefix[kind]...)
	addr := r.ED & (1<<addrBits - 1)
	for limit := uint64(1 << 28); addr < limit && limit > 1; limit >>= 4 {
		d.out = append(d.out, '0')
	}
	d.out = strconv.AppendUint(d.out, addr, 16)
	d.out = append(d.out, ',')
	d.out = append(strconv.AppendUint(d.out, size, 10), '\n')
	return nil
}

func (d *LackeyDecoder) flush() error {
	if len(d.out) == 0 {
		return nil
	}
	_, err := d.w.Write(d.out)
	d.out = d.out[:0]
	return err
}

// Close ends the records.
func (d *LackeyDecoder) Close() error {
	if len(d.rest) > 0 {
		return fmt.Errorf("%w: ends inside record %d", ErrLackey, d.seen)
	}
	return d.flush()
}
