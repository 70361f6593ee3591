package tracefmt

import (
	"fmt"

	"hindsight/tracefmt/wire"
)

// What can be wrong with a file; [wire] has the same for all formats. A
// [CorruptError] wraps one of them.
var (
	ErrMagic     error = magicError{} // wraps wire.ErrMagic
	ErrVersion         = wire.ErrVersion
	ErrChecksum        = wire.ErrChecksum
	ErrTruncated       = wire.ErrTruncated
	ErrMalformed       = wire.ErrMalformed
	ErrTooLarge        = wire.ErrTooLarge
)

// magicError is wire.ErrMagic as it reads to somebody who opened a trace.
type magicError struct{}

func (magicError) Error() string { return "not a hindsight trace" }

func (magicError) Unwrap() error { return wire.ErrMagic }

// CorruptError says where a file is damaged.
type CorruptError = wire.CorruptError

// Corrupt returns the *[CorruptError] of a trace: offset is in bytes from the
// start of the file, kind that of the damaged block, 0 for the header and the
// footer; err wraps one of the errors above.
func Corrupt(offset int64, kind Kind, err error) error {
	if kind == 0 {
		return &CorruptError{Format: "trace", Offset: offset, Err: err}
	}
	return &CorruptError{Format: "trace", Offset: offset, Block: kind, Err: err}
}

// WriteError says where writing failed: a full disk, a closed pipe.
type WriteError struct {
	File   string // name of the file, when the destination has one
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
