package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// step is how much [Reader.Append] allocates ahead of what has arrived.
const step = 1 << 16

// Reader reads encoded input of one format.
type Reader struct {
	format string
	r      *bufio.Reader
	off    int64
}

// NewReader returns a Reader of r. format is the name of the format in errors.
func NewReader(r io.Reader, format string) *Reader {
	return &Reader{format: format, r: bufio.NewReaderSize(r, step)}
}

// Offset returns the number of bytes read so far.
func (r *Reader) Offset() int64 { return r.off }

// Fail returns a *[CorruptError] at the current offset. kind is a sentinel, and the
// formatted text says more.
func (r *Reader) Fail(kind error, format string, args ...any) error {
	return &CorruptError{Format: r.format, Offset: r.off, Err: fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))}
}

// wrap turns the end of input into a *[CorruptError]. It returns other errors of the
// source unchanged.
func (r *Reader) wrap(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &CorruptError{Format: r.format, Offset: r.off, Err: ErrTruncated}
	}
	return fmt.Errorf("%s: read at offset %d: %w", r.format, r.off, err)
}

// ReadFull fills p.
func (r *Reader) ReadFull(p []byte) error {
	n, err := io.ReadFull(r.r, p)
	r.off += int64(n)
	if err != nil {
		return r.wrap(err)
	}
	return nil
}

// ReadByte reads one byte.
func (r *Reader) ReadByte() (byte, error) {
	b, err := r.r.ReadByte()
	if err != nil {
		return 0, r.wrap(err)
	}
	r.off++
	return b, nil
}

// Uvarint reads a number in LEB128 that must not exceed limit. what is the name of the
// number in errors.
func (r *Reader) Uvarint(limit uint64, what string) (uint64, error) {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if shift == 63 && b > 1 {
			return 0, r.Fail(ErrMalformed, "%s is longer than 64 bits", what)
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	if v > limit {
		return 0, r.Fail(ErrTooLarge, "%s is %d, at most %d is allowed", what, v, limit)
	}
	return v, nil
}

// Uint32 reads four bytes, little-endian.
func (r *Reader) Uint32() (uint32, error) {
	var b [4]byte
	err := r.ReadFull(b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

// Uint64 reads eight bytes, little-endian.
func (r *Reader) Uint64() (uint64, error) {
	var b [8]byte
	err := r.ReadFull(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// Append appends n bytes of input to dst. It allocates as bytes arrive, so a false length
// costs no memory.
func (r *Reader) Append(dst []byte, n uint64) ([]byte, error) {
	for n > 0 {
		k := int(min(n, step))
		start := len(dst)
		if cap(dst)-start < k {
			grown := make([]byte, start, max(2*cap(dst), start+k))
			copy(grown, dst)
			dst = grown
		}
		dst = dst[:start+k]
		if err := r.ReadFull(dst[start:]); err != nil {
			return dst[:start], err
		}
		n -= uint64(k)
	}
	return dst, nil
}

// AtEnd reports whether the input has ended.
func (r *Reader) AtEnd() (bool, error) {
	_, err := r.r.Peek(1)
	if err == io.EOF {
		return true, nil
	}
	if err != nil {
		return false, r.wrap(err)
	}
	return false, nil
}

// Read implements [io.Reader]: it returns what is there, and does not turn the end of
// input into a *[CorruptError].
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.off += int64(n)
	return n, err
}
