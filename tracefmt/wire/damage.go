package wire

import (
	"errors"
	"fmt"
)

// The errors of encoded input in any of the project's formats: traces, the blocks in
// them, and the stand-alone codecs. All errors about input wrap one of them.
var (
	ErrMagic     = errors.New("not of this format")
	ErrVersion   = errors.New("unknown format version")
	ErrChecksum  = errors.New("checksum does not match")
	ErrTruncated = errors.New("input ends early")
	ErrMalformed = errors.New("malformed")
	ErrTooLarge  = errors.New("larger than the reader's limit")
)

// CorruptError says where encoded input is damaged.
type CorruptError struct {
	Format string       // format of the input: "trace", "vpc3"
	Offset int64        // bytes from the start of the input, near the damage
	Block  fmt.Stringer // kind of the damaged block; nil outside blocks
	Err    error        // wraps one of the errors above
}

func (e *CorruptError) Error() string {
	if e.Block == nil {
		return fmt.Sprintf("%s damaged at offset %d: %v", e.Format, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s damaged at offset %d (%v block): %v", e.Format, e.Offset, e.Block, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }
