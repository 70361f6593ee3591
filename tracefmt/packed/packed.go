package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"hindsight/tracefmt/wire"
)

const (
	magic = "HPAK"
	// Version is the format version that this package writes and reads.
	Version = 1

	maxName   = 32
	maxParams = 4096
	maxFrame  = 1 << 20
	frameSize = 1 << 16 // size of the frames that are written
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Head is the description of the payload in a container.
type Head struct {
	Codec  string            // the codec that encoded the payload
	Params map[string]string // what a decoder needs to know; keys and values without spaces, = only between them
}

// paramText returns the parameters, ordered by key.
func (h Head) paramText() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(h.Params)) {
		parts = append(parts, k+"="+h.Params[k])
	}
	return strings.Join(parts, " ")
}

func parseParams(text string) (map[string]string, bool) {
	params := map[string]string{}
	if text == "" {
		return params, true
	}
	for _, part := range strings.Split(text, " ") {
		k, v, ok := strings.Cut(part, "=")
		if _, twice := params[k]; !ok || twice || !plain(k) || !plain(v) {
			return nil, false
		}
		params[k] = v
	}
	return params, true
}

// plain reports whether s is printable ASCII without spaces and =, and not empty.
func plain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '=' })
}

func goodName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// Writer passes a trace through a codec into a container.
type Writer struct {
	frames frameWriter
	codec  io.WriteCloser
	length uint64
	sum    uint32
	closed bool
}

// NewWriter writes the head to w and calls encode to start the codec. The codec writes
// its output to the writer that encode receives.
func NewWriter(w io.Writer, head Head, encode func(io.Writer) (io.WriteCloser, error)) (*Writer, error) {
	params := head.paramText()
	if !goodName(head.Codec) {
		return nil, fmt.Errorf("packed: bad name of a codec %q", head.Codec)
	}
	if _, ok := parseParams(params); !ok || len(params) > maxParams {
		return nil, fmt.Errorf("packed: bad parameters %q", params)
	}
	b := append([]byte(magic), Version)
	b = append(binary.AppendUvarint(b, uint64(len(head.Codec))), head.Codec...)
	b = append(binary.AppendUvarint(b, uint64(len(params))), params...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	z := &Writer{frames: frameWriter{w: w}}
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("packed: %w", err)
	}
	z.frames.written = int64(len(b))
	var err error
	z.codec, err = encode(&z.frames)
	return z, err
}

// Write takes the next piece of the trace, of any length.
func (z *Writer) Write(p []byte) (int, error) {
	n, err := z.codec.Write(p)
	z.length += uint64(n)
	z.sum = crc32.Update(z.sum, castagnoli, p[:n])
	return n, err
}

// Length returns the number of bytes of the trace so far.
func (z *Writer) Length() uint64 { return z.length }

// Size returns the number of bytes written to the container so far.
func (z *Writer) Size() int64 { return z.frames.written }

// Close ends the codec and the container.
func (z *Writer) Close() error {
	if z.closed {
		return nil
	}
	z.closed = true
	if err := z.codec.Close(); err != nil {
		return err
	}
	if err := z.frames.flush(); err != nil {
		return err
	}
	end := binary.LittleEndian.AppendUint64([]byte{0}, z.length)
	end = binary.LittleEndian.AppendUint32(end, z.sum)
	end = binary.LittleEndian.AppendUint32(end, crc32.Checksum(end[1:], castagnoli))
	return z.frames.put(end)
}

// frameWriter cuts the codec's output into frames.
type frameWriter struct {
	w       io.Writer
	buf     []byte
	out     []byte
	written int64
	err     error
}

func (f *frameWriter) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 && f.err == nil {
		n := min(len(p), frameSize-len(f.buf))
		f.buf = append(f.buf, p[:n]...)
		p = p[n:]
		if len(f.buf) == frameSize {
			_ = f.flush() // kept in f.err
		}
	}
	return size - len(p), f.err
}

func (f *frameWriter) flush() error {
	if len(f.buf) == 0 || f.err != nil {
		return f.err
	}
	f.out = binary.AppendUvarint(f.out[:0], uint64(len(f.buf)))
	f.out = append(f.out, f.buf...)
	f.out = binary.LittleEndian.AppendUint32(f.out, crc32.Checksum(f.buf, castagnoli))
	f.buf = f.buf[:0]
	return f.put(f.out)
}

func (f *frameWriter) put(b []byte) error {
	if f.err == nil {
		n, err := f.w.Write(b)
		f.written += int64(n)
		if err != nil {
			f.err = fmt.Errorf("packed: %w", err)
		}
	}
	return f.err
}

// Reader returns the trace of a container. It reports the end of the trace only if length
// and checksum agree. If the container is damaged, the error is a *wire.CorruptError.
type Reader struct {
	head   Head
	frames frameReader
	codec  io.ReadCloser
	length uint64
	sum    uint32
	err    error
}

// NewReader reads the head of a container and calls decode to start the codec on its
// payload.
func NewReader(r io.Reader, decode func(Head, io.Reader) (io.ReadCloser, error)) (*Reader, error) {
	in := wire.NewReader(r, "packed trace")
	z := &Reader{frames: frameReader{in: in}}
	head := make([]byte, len(magic)+1)
	if err := in.ReadFull(head); err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, in.Fail(wire.ErrMagic, "starts with %q", head[:len(magic)])
	}
	if v := head[len(magic)]; v != Version {
		return nil, in.Fail(wire.ErrVersion, "version %d, this program reads %d", v, Version)
	}
	var texts [2]string
	for i, limit := range [2]uint64{maxName, maxParams} {
		n, err := in.Uvarint(limit, "length in the head")
		if err != nil {
			return nil, err
		}
		head = binary.AppendUvarint(head, n)
		start := len(head)
		if head, err = in.Append(head, n); err != nil {
			return nil, err
		}
		texts[i] = string(head[start:])
	}
	if sum, err := in.Uint32(); err != nil {
		return nil, err
	} else if sum != crc32.Checksum(head, castagnoli) {
		return nil, in.Fail(wire.ErrChecksum, "of the head")
	}
	params, ok := parseParams(texts[1])
	if !ok || !goodName(texts[0]) {
		return nil, in.Fail(wire.ErrMalformed, "head names codec %q with %q", texts[0], texts[1])
	}
	z.head = Head{Codec: texts[0], Params: params}
	var err error
	z.codec, err = decode(z.head, &z.frames)
	if err != nil {
		return nil, z.blame(err)
	}
	return z, nil
}

// blame returns the error of a frame, if there is one, in preference to the codec's error
// about it.
func (z *Reader) blame(err error) error {
	if z.frames.err != nil && !errors.Is(z.frames.err, io.EOF) {
		return z.frames.err
	}
	return err
}

// Head returns the description of the payload.
func (z *Reader) Head() Head { return z.head }

// Length returns the number of bytes of the trace returned so far.
func (z *Reader) Length() uint64 { return z.length }

// Offset returns the number of bytes of the container read so far.
func (z *Reader) Offset() int64 { return z.frames.in.Offset() }

// Read implements [io.Reader].
func (z *Reader) Read(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	n, err := z.codec.Read(p)
	z.length += uint64(n)
	z.sum = crc32.Update(z.sum, castagnoli, p[:n])
	if errors.Is(err, io.EOF) {
		err = z.end()
	} else if err != nil {
		err = z.blame(err)
	}
	z.err = err
	return n, err
}

// end checks the trailer and returns io.EOF if it is correct.
func (z *Reader) end() error {
	var b [1]byte
	n, err := z.frames.Read(b[:])
	in := z.frames.in
	if n > 0 {
		return in.Fail(wire.ErrMalformed, "the payload goes on behind the end of the %s stream", z.head.Codec)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if z.frames.length != z.length {
		return in.Fail(wire.ErrChecksum, "the original had %d bytes, %d were decoded", z.frames.length, z.length)
	}
	if z.frames.sum != z.sum {
		return in.Fail(wire.ErrChecksum, "of the original")
	}
	return io.EOF
}

// Close releases the codec.
func (z *Reader) Close() error {
	z.err = errors.New("packed: closed")
	return z.codec.Close()
}

// frameReader returns the payload of the frames, and reads the trailer at the end.
type frameReader struct {
	in     *wire.Reader
	frame  []byte
	rest   []byte
	length uint64
	sum    uint32
	err    error
}

func (f *frameReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.rest) == 0 && f.err == nil {
		f.err = f.next()
	}
	if len(f.rest) == 0 {
		return 0, f.err
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *frameReader) next() error {
	n, err := f.in.Uvarint(maxFrame, "length of a frame")
	if err != nil {
		return err
	}
	if n == 0 {
		return f.trailer()
	}
	if f.frame, err = f.in.Append(f.frame[:0], n); err != nil {
		return err
	}
	sum, err := f.in.Uint32()
	if err != nil {
		return err
	}
	if sum != crc32.Checksum(f.frame, castagnoli) {
		return f.in.Fail(wire.ErrChecksum, "of a frame")
	}
	f.rest = f.frame
	return nil
}

func (f *frameReader) trailer() error {
	var b [16]byte
	if err := f.in.ReadFull(b[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli) {
		return f.in.Fail(wire.ErrChecksum, "of the trailer")
	}
	if end, err := f.in.AtEnd(); err != nil {
		return err
	} else if !end {
		return f.in.Fail(wire.ErrMalformed, "bytes behind the end")
	}
	f.length, f.sum = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint32(b[8:])
	return io.EOF
}
