package wire

import (
	"errors"
	"fmt"
	"io"
)

// Stream is the reading side of a codec: an io.Reader of the pieces that Fill returns.
// The zero value with Fill set is ready for use.
type Stream struct {
	// Fill returns the next piece, which is valid until the next call and may be empty.
	// At the end it returns io.EOF. It is not called after an error.
	Fill func() ([]byte, error)
	out  []byte
	err  error
}

// Read implements [io.Reader].
func (s *Stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.out, s.err = s.Fill()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// Stop makes every later Read fail with err.
func (s *Stream) Stop(err error) { s.out, s.err = nil, err }

// Head reads the magic and the version at the beginning of a format.
func (r *Reader) Head(magic string, version byte) error {
	head := make([]byte, len(magic)+1)
	if err := r.ReadFull(head); err != nil {
		return err
	}
	if string(head[:len(magic)]) != magic {
		return r.Fail(ErrMagic, "starts with %q", head[:len(magic)])
	}
	if v := head[len(magic)]; v != version {
		return r.Fail(ErrVersion, "version %d, this program reads %d", v, version)
	}
	return nil
}

// Tail reads the end of a trace of records: the number of bytes after the last whole
// record, which is less than size, and then these bytes. Nothing may follow.
func (r *Reader) Tail(size int) ([]byte, error) {
	n, err := r.Uvarint(uint64(size-1), "bytes of a partial record")
	if err != nil {
		return nil, err
	}
	tail, err := r.Append(nil, n)
	if err != nil {
		return nil, err
	}
	if end, err := r.AtEnd(); err != nil {
		return nil, err
	} else if !end {
		return nil, r.Fail(ErrMalformed, "bytes behind the end")
	}
	return tail, nil
}

// Decompressed returns a Reader of a decompressor. Its errors become a *[CorruptError] of
// the format.
func Decompressed(from io.Reader, format string) *Reader {
	return NewReader(decompressed{from, format}, format)
}

type decompressed struct {
	from   io.Reader
	format string
}

func (d decompressed) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &CorruptError{Format: d.format, Err: fmt.Errorf("%w: %w", ErrMalformed, err)}
	}
	return n, err
}
