// Package sequitur compresses raw traces with the grammars of package wpp, the
// way in which the VPC3 paper (section 2.1) used Sequitur for comparison: a
// record is split into columns, each distinct value of a column becomes a
// terminal, each column has its own grammar, and a general compressor follows
// (zstd here, bzip2 in the paper). New grammars are started when they have
// grown large, so memory is bounded for any trace.
//
// It belongs to the commands because it combines wpp with the packed traces of
// tracefmt, which do not know each other.
//
// The format, all of it inside one zstd stream:
//
//	magic    "HSEQ", version 1, number of columns, their widths (a byte each)
//	chunks   uvarint records (not 0); for each column: uvarint distinct values,
//	         uvarint length of the grammar, the values in order of their first
//	         use, the grammar (wpp.Grammar.AppendBinary)
//	end      a zero byte, uvarint length of the tail, the bytes after the last
//	         whole record
package sequitur

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"hindsight/tracefmt/wire"
	"hindsight/wpp"
)

const (
	magic   = "HSEQ"
	version = 1

	maxColumns = 16
	// Limits of a chunk, which limit the memory of both sides.
	maxSymbols = 1 << 21
	maxValues  = 1 << 20
	maxGrammar = 16 << 20
	maxRecords = 1 << 40
)

// CheckColumns returns an error if the widths of columns are invalid. There must be 1 to
// 16 columns of 1 to 8 bytes each.
func CheckColumns(widths []int) error {
	if len(widths) == 0 || len(widths) > maxColumns {
		return fmt.Errorf("sequitur: %d columns, want 1 to %d", len(widths), maxColumns)
	}
	for _, w := range widths {
		if w < 1 || w > 8 {
			return fmt.Errorf("sequitur: a column of %d bytes, want 1 to 8", w)
		}
	}
	return nil
}

type column struct {
	width   int
	builder wpp.Builder
	ids     map[uint64]wpp.Terminal
	values  []uint64
}

// Writer compresses a trace. Close must be called. It leaves the underlying writer open.
type Writer struct {
	enc     *zstd.Encoder
	columns []column
	size    int // of a record
	rest    []byte
	records uint64
	scratch []byte
	err     error
}

// NewWriter starts a compressed trace of records with columns of the given
// widths in bytes.
func NewWriter(w io.Writer, widths []int) (*Writer, error) {
	if err := CheckColumns(widths); err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("sequitur: %w", err)
	}
	z := &Writer{enc: enc}
	head := append([]byte(magic), version, byte(len(widths)))
	for _, width := range widths {
		z.columns = append(z.columns, column{width: width, ids: map[uint64]wpp.Terminal{}})
		z.size += width
		head = append(head, byte(width))
	}
	_, err = enc.Write(head)
	return z, err
}

// Write takes the next piece of the trace, of any length.
func (z *Writer) Write(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	size := len(p)
	for len(p) > 0 && z.err == nil {
		if len(z.rest) > 0 || len(p) < z.size {
			n := min(z.size-len(z.rest), len(p))
			z.rest = append(z.rest, p[:n]...)
			p = p[n:]
			if len(z.rest) == z.size {
				z.record(z.rest)
				z.rest = z.rest[:0]
			}
			continue
		}
		z.record(p[:z.size])
		p = p[z.size:]
	}
	return size - len(p), z.err
}

func (z *Writer) record(r []byte) {
	full := false
	for i := range z.columns {
		c := &z.columns[i]
		var v uint64
		for j, b := range r[:c.width] {
			v |= uint64(b) << (8 * j)
		}
		r = r[c.width:]
		t, ok := c.ids[v]
		if !ok {
			t = wpp.Terminal(len(c.values))
			c.ids[v] = t
			c.values = append(c.values, v)
		}
		c.builder.Append(t)
		full = full || len(c.values) >= maxValues || c.builder.Symbols() >= maxSymbols
	}
	z.records++
	if full {
		z.chunk()
	}
}

func (z *Writer) chunk() {
	if z.records == 0 || z.err != nil {
		return
	}
	out := binary.AppendUvarint(z.scratch[:0], z.records)
	for i := range z.columns {
		c := &z.columns[i]
		grammar := c.builder.Grammar().AppendBinary(nil)
		out = binary.AppendUvarint(out, uint64(len(c.values)))
		out = binary.AppendUvarint(out, uint64(len(grammar)))
		for _, v := range c.values {
			for j := range c.width {
				out = append(out, byte(v>>(8*j)))
			}
		}
		out = append(out, grammar...)
		c.builder.Reset()
		clear(c.ids)
		c.values = c.values[:0]
	}
	z.records, z.scratch = 0, out
	_, z.err = z.enc.Write(out)
}

// Close ends the trace.
func (z *Writer) Close() error {
	z.chunk()
	if z.err != nil {
		return z.err
	}
	tail := append(binary.AppendUvarint([]byte{0}, uint64(len(z.rest))), z.rest...)
	if _, err := z.enc.Write(tail); err != nil {
		return err
	}
	z.err = errors.New("sequitur: closed")
	return z.enc.Close()
}

// Reader decompresses a trace as it is read. It holds the grammars of a chunk and walks
// them with cursors, without expanding them. For bad input the error is a
// *wire.CorruptError.
type Reader struct {
	wire.Stream
	dec     *zstd.Decoder
	in      *wire.Reader
	columns []readColumn
	size    int
	records uint64 // remaining records of the chunk
	buf     []byte
	ended   bool
}

type readColumn struct {
	width  int
	values []byte
	cursor *wpp.Cursor
}

// NewReader reads the head of a compressed trace.
func NewReader(r io.Reader) (*Reader, error) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(16<<20), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("sequitur: %w", err)
	}
	z := &Reader{dec: dec, in: wire.Decompressed(dec, "sequitur")}
	z.Fill = z.fill
	if err := z.head(); err != nil {
		dec.Close()
		return nil, err
	}
	return z, nil
}

func (z *Reader) head() error {
	if err := z.in.Head(magic, version); err != nil {
		return err
	}
	n, err := z.in.ReadByte()
	if err != nil {
		return err
	}
	widths := make([]byte, n)
	if err := z.in.ReadFull(widths); err != nil {
		return err
	}
	var ints []int
	for _, w := range widths {
		ints = append(ints, int(w))
		z.columns = append(z.columns, readColumn{width: int(w)})
		z.size += int(w)
	}
	if err := CheckColumns(ints); err != nil {
		return z.in.Fail(wire.ErrMalformed, "%v", err)
	}
	return nil
}

// Close releases the decoder.
func (z *Reader) Close() error {
	z.dec.Close()
	z.Stop(errors.New("sequitur: closed"))
	return nil
}

const batch = 1 << 12

func (z *Reader) fill() ([]byte, error) {
	if z.ended {
		return nil, io.EOF
	}
	if z.records == 0 {
		return z.chunk()
	}
	n := min(z.records, batch)
	z.records -= n
	z.buf = z.buf[:0]
	for range n {
		for i := range z.columns {
			c := &z.columns[i]
			t, ok := c.cursor.Terminal()
			if !ok {
				return nil, z.in.Fail(wire.ErrMalformed, "a grammar is shorter than its chunk")
			}
			c.cursor.Next()
			z.buf = append(z.buf, c.values[int(t)*c.width:(int(t)+1)*c.width]...)
		}
	}
	return z.buf, nil
}

func (z *Reader) chunk() ([]byte, error) {
	records, err := z.in.Uvarint(maxRecords, "records of a chunk")
	if err != nil {
		return nil, err
	}
	if records == 0 {
		z.ended = true
		return z.in.Tail(z.size)
	}
	for i := range z.columns {
		if err := z.column(&z.columns[i], records); err != nil {
			return nil, err
		}
	}
	z.records = records
	return nil, nil
}

func (z *Reader) column(c *readColumn, records uint64) error {
	values, err := z.in.Uvarint(maxValues, "distinct values")
	if err != nil {
		return err
	}
	length, err := z.in.Uvarint(maxGrammar, "length of a grammar")
	if err != nil {
		return err
	}
	if c.values, err = z.in.Append(c.values[:0], values*uint64(c.width)); err != nil {
		return err
	}
	b, err := z.in.Append(nil, length)
	if err != nil {
		return err
	}
	g, rest, err := wpp.Decode(b, wpp.Limits{Symbols: 2 * maxSymbols, Terminals: values})
	if err != nil {
		return z.in.Fail(wire.ErrMalformed, "%v", err)
	}
	if n, err := g.Len(); err != nil || n != records || len(rest) > 0 {
		return z.in.Fail(wire.ErrMalformed, "a grammar of %d terminals in a chunk of %d records (%d bytes left)", n, records, len(rest))
	}
	c.cursor = g.Begin()
	return nil
}
