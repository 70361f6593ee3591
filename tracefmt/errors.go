package tracefmt

import (
	"errors"
	"fmt"
)

// What can be wrong with a file. A [CorruptError] wraps one of them.
var (
	ErrMagic     = errors.New("not a hindsight trace")
	ErrVersion   = errors.New("unknown format version")
	ErrChecksum  = errors.New("checksum does not match")
	ErrTruncated = errors.New("file ends early")
	ErrMalformed = errors.New("malformed")
	ErrTooLarge  = errors.New("larger than the reader's limit")
)

// CorruptError says where a file is damaged.
type CorruptError struct {
	Offset int64 // bytes from the start of the file
	Kind   Kind  // block that is damaged; 0 for the header and the footer
	Err    error // wraps one of the sentinels above
}

func (e *CorruptError) Error() string {
	if e.Kind == 0 {
		return fmt.Sprintf("trace damaged at offset %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("trace damaged at offset %d (%v block): %v", e.Offset, e.Kind, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

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
