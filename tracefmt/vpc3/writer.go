package vpc3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	magic = "VPC3"
	// Version is the format version that this package writes and reads.
	Version = 2

	// RecordSize is the size of a record: a 32-bit PC and 64 bits of extended
	// data, both little-endian.
	RecordSize = 12

	// MaxHeader is the largest header that a trace may have, in bytes.
	MaxHeader = 1 << 16

	// A chunk ends with this many records or with this many bytes of streams, whichever
	// comes first. Both limit the memory of encoder and decoder. The second also limits
	// the compressed bytes that a decoder must hold.
	chunkRecords = 1 << 21
	chunkBytes   = 4 << 20

	// batchRecords is the number of records that are predicted between two writes to the
	// post-compressors.
	batchRecords = 1 << 12
)

// Options of a [Writer]. The zero value selects the paper's predictors, followed by zstd,
// for traces without a header.
type Options struct {
	// Profile is the set of predictors; 0 is the paper's.
	Profile Profile
	// Post is the post-compressor; 0 is zstd.
	Post Post
	// Level is the level of zstd, as on its command line; 0 means 7.
	Level int
	// Header is the number of bytes before the first record, which are stored unchanged.
	// At most MaxHeader.
	Header int
}

// Profile is a set of predictors and tables.
type Profile uint8

const (
	// Paper has the predictors of sections 3.3 and 4.4 of the paper, to the letter.
	Paper Profile = iota
	// Mixed has more predictors, and an arithmetic coder in place of streams and
	// post-compressor. It is smaller on irregular traces, and slower.
	Mixed
	numProfiles
)

func (p Profile) String() string {
	switch p {
	case Paper:
		return "paper"
	case Mixed:
		return "mixed"
	}
	return fmt.Sprintf("profile-%d", uint8(p))
}

// Writer compresses a trace. It is an io.WriteCloser: Close must be called,
// and does not close the underlying writer.
type Writer struct {
	w       io.Writer
	engine  encoder
	scratch []byte

	head    []byte // head of the format and header of the trace, until both are written
	prefix  int    // bytes of head before the header
	header  int    // missing bytes of the header
	rest    []byte // the beginning of an incomplete record
	records uint64 // in the current chunk
	made    uint64 // bytes of streams in the current chunk
	err     error
}

// encoder produces the streams of a profile.
type encoder interface {
	// encode encodes whole records, and returns the bytes of streams they took before
	// post-compression.
	encode(records []byte) (int, error)
	// cut ends the chunk or, with last, the trace. It returns the bytes of the streams,
	// which are valid until the next call.
	cut(last bool) ([][]byte, error)
}

func newEncoder(opts Options) (encoder, error) {
	switch opts.Profile {
	case Paper:
		return newPaperEncoder(opts)
	case Mixed:
		if opts.Post != 0 || opts.Level != 0 {
			return nil, errors.New("vpc3: the mixed profile has no post-compressor to choose")
		}
		return new(mixedEncoder), nil
	}
	return nil, fmt.Errorf("vpc3: unknown profile %d", opts.Profile)
}

// NewWriter starts a compressed trace on w.
func NewWriter(w io.Writer, opts Options) (*Writer, error) {
	if opts.Header < 0 || opts.Header > MaxHeader {
		return nil, fmt.Errorf("vpc3: header of %d bytes, want 0 to %d", opts.Header, MaxHeader)
	}
	engine, err := newEncoder(opts)
	if err != nil {
		return nil, err
	}
	z := &Writer{w: w, engine: engine, header: opts.Header}
	z.head = append([]byte(magic), Version, byte(opts.Profile), byte(opts.Post))
	z.prefix = len(z.head)
	if z.header == 0 {
		z.begin()
	}
	return z, z.err
}

// begin writes the head, once the trace's header is complete.
func (z *Writer) begin() {
	out := append([]byte(nil), z.head[:z.prefix]...)
	out = binary.AppendUvarint(out, uint64(len(z.head)-z.prefix))
	z.write(append(out, z.head[z.prefix:]...))
	z.head, z.header = nil, 0
}

func (z *Writer) write(b []byte) {
	if _, err := z.w.Write(b); err != nil && z.err == nil {
		z.err = fmt.Errorf("vpc3: %w", err)
	}
}

// ErrClosed is returned when a closed writer or reader is used.
var ErrClosed = errors.New("vpc3: closed")

// Write takes the next piece of the trace. Records need not be whole.
func (z *Writer) Write(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	size := len(p)
	for len(p) > 0 {
		if z.header > 0 {
			n := min(z.header, len(p))
			z.head = append(z.head, p[:n]...)
			p = p[n:]
			z.header -= n
			if z.header == 0 {
				z.begin()
			}
			continue
		}
		if len(z.rest) > 0 || len(p) < RecordSize {
			n := min(RecordSize-len(z.rest), len(p))
			z.rest = append(z.rest, p[:n]...)
			p = p[n:]
			if len(z.rest) == RecordSize {
				z.batch(z.rest)
				z.rest = z.rest[:0]
			}
		} else {
			n := min(len(p)/RecordSize, batchRecords, int(chunkRecords-z.records)) * RecordSize
			z.batch(p[:n])
			p = p[n:]
		}
		if z.err != nil {
			return size - len(p), z.err
		}
	}
	return size, nil
}

// batch predicts whole records, at most batchRecords and at most what the chunk has room
// for.
func (z *Writer) batch(records []byte) {
	made, err := z.engine.encode(records)
	if err != nil {
		z.err = err
		return
	}
	z.records += uint64(len(records) / RecordSize)
	z.made += uint64(made)
	if z.records == chunkRecords || z.made >= chunkBytes {
		z.chunk(false)
	}
}

// Flush ends the chunk, so that the output so far decodes to every whole record.
func (z *Writer) Flush() error {
	if z.err == nil && z.records > 0 {
		z.chunk(false)
	}
	return z.err
}

func (z *Writer) chunk(last bool) {
	parts, err := z.engine.cut(last)
	if err != nil {
		z.err = err
		return
	}
	out := binary.AppendUvarint(z.scratch[:0], z.records)
	for _, b := range parts {
		out = binary.AppendUvarint(out, uint64(len(b)))
	}
	for _, b := range parts {
		out = append(out, b...)
	}
	z.records, z.made, z.scratch = 0, 0, out
	z.write(out)
}

// Close ends the trace. Bytes after the last whole record are stored unchanged.
func (z *Writer) Close() error {
	if z.err != nil {
		if errors.Is(z.err, ErrClosed) {
			return nil
		}
		return z.err
	}
	if z.header > 0 {
		z.begin() // the trace is shorter than its header
	}
	if z.records > 0 {
		z.chunk(false)
	}
	if z.err == nil {
		z.chunk(true) // a chunk without records is the end
	}
	if z.err != nil {
		return z.err
	}
	z.write(append(binary.AppendUvarint(nil, uint64(len(z.rest))), z.rest...))
	if z.err != nil {
		return z.err
	}
	z.err = ErrClosed
	return nil
}

// Profiles lists the names of the profiles.
func Profiles() []string {
	var names []string
	for p := range numProfiles {
		names = append(names, p.String())
	}
	return names
}

// ParseProfile returns the profile with a name.
func ParseProfile(name string) (Profile, bool) {
	for p := range numProfiles {
		if p.String() == name {
			return p, true
		}
	}
	return 0, false
}
