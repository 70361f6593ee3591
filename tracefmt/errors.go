package tracefmt

import (
	"fmt"

	"hindsight/tracefmt/wire"
)

// The errors of a damaged file, each wrapped by a [CorruptError]. Package [wire] has the
// same ones for all formats.
var (
	ErrMagic     error = magicError{} // wraps wire.ErrMagic
	ErrVersion         = wire.ErrVersion
	ErrChecksum        = wire.ErrChecksum
	ErrTruncated       = wire.ErrTruncated
	ErrMalformed       = wire.ErrMalformed
	ErrTooLarge        = wire.ErrTooLarge
)

// magicError is wire.ErrMagic with a text for someone who tried to open a trace.
type magicError struct{}

func (magicError) Error() string { return "not a hindsight trace" }

func (magicError) Unwrap() error { return wire.ErrMagic }

// CorruptError says where a file is damaged.
type CorruptError = wire.CorruptError

// Corrupt returns the *[CorruptError] of a trace. offset is in bytes from the start of
// the file. kind is that of the damaged block, or 0 for the header and the footer. err
// wraps one of the errors above.
func Corrupt(offset int64, kind Kind, err error) error {
	if kind == 0 {
		return &CorruptError{Format: "trace", Offset: offset, Err: err}
	}
	return &CorruptError{Format: "trace", Offset: offset, Block: kind, Err: err}
}

// WriteError says where a write failed, for example because the disk is full or a pipe is
// closed.
type WriteError struct {
	File   string // name of the file, if the destination has one
	Offset int64  // where the write began
	Err    error
}

func (e *WriteError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("write trace at offset %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("write trace %s at offset %d: %v", e.File, e.Offset, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }
