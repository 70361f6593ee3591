package tracefmt

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ReaderOptions limit the resources of a reader. The zero value is ready for use.
type ReaderOptions struct {
	// MaxBlock is the size in bytes of the largest decoded block that is read. 0 means
	// [MaxPayload].
	MaxBlock uint32
}

// Reader reads blocks of a trace file in any order.
type Reader struct {
	r        io.ReaderAt
	size     int64
	opts     ReaderOptions
	dec      *zstd.Decoder
	blocks   []Handle
	epochs   uint32
	complete bool
}

// NewReader opens a trace of size bytes by its footer or, without a valid footer, by
// walking its blocks.
func NewReader(r io.ReaderAt, size int64, opts ReaderOptions) (*Reader, error) {
	if opts.MaxBlock == 0 {
		opts.MaxBlock = MaxPayload
	}
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(MaxPayload),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	t := &Reader{r: r, size: size, opts: opts, dec: dec}
	head := make([]byte, min(max(size, 0), headerSize))
	if err := t.readAt(head, 0, 0); err != nil {
		return nil, err
	}
	if err := checkHeader(head); err != nil {
		return nil, err
	}
	if t.openByFooter() {
		t.complete = true
		return t, nil
	}
	t.salvage()
	return t, nil
}

// Complete reports whether the file was closed properly. If not, the reader offers what
// was committed before the recording stopped.
func (t *Reader) Complete() bool { return t.complete }

// Epochs returns the number of committed epochs.
func (t *Reader) Epochs() int { return int(t.epochs) }

// Size returns the size of the file in bytes.
func (t *Reader) Size() int64 { return t.size }

// Blocks returns the handles of all usable blocks in file order. The caller must not
// change the slice.
func (t *Reader) Blocks() []Handle { return t.blocks }

// Read returns the decoded payload of a block, in newly allocated memory. If the block is
// damaged, the error is a *[CorruptError].
func (t *Reader) Read(h Handle) ([]byte, error) {
	stored, err := t.stored(h)
	if err != nil || h.Codec == CodecStore {
		return stored, err
	}
	raw, err := t.dec.DecodeAll(stored, make([]byte, 0, h.Raw))
	if err != nil {
		return nil, Corrupt(h.Offset, h.Kind, fmt.Errorf("zstd: %w: %w", ErrMalformed, err))
	}
	if len(raw) != int(h.Raw) {
		return nil, Corrupt(h.Offset, h.Kind, fmt.Errorf("decoded length: %w", ErrMalformed))
	}
	return raw, nil
}

// stored returns the payload of a block as it is in the file, still compressed.
func (t *Reader) stored(h Handle) ([]byte, error) {
	bad := func(err error) ([]byte, error) {
		return nil, Corrupt(h.Offset, h.Kind, err)
	}
	if h.Raw > t.opts.MaxBlock || h.Stored > t.opts.MaxBlock {
		return bad(ErrTooLarge)
	}
	if h.Offset < headerSize || h.Offset > t.size-h.Size() {
		return bad(ErrTruncated)
	}
	block := make([]byte, h.Size())
	if err := t.readAt(block, h.Offset, h.Kind); err != nil {
		return nil, err
	}
	got, sum, err := parseBlockHeader(block, h.Offset)
	if err != nil {
		return nil, err
	}
	if got != h {
		return bad(fmt.Errorf("block differs from its index entry: %w", ErrMalformed))
	}
	stored := block[blockHeaderSize:]
	if checksum(stored) != sum {
		return bad(ErrChecksum)
	}
	return stored, nil
}

// readAt fills b, or returns what is wrong with the file.
func (t *Reader) readAt(b []byte, offset int64, kind Kind) error {
	n, err := t.r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return Corrupt(offset+int64(n), kind, ErrTruncated)
	}
	return fmt.Errorf("read trace at offset %d: %w", offset, err)
}

// openByFooter reads the list of blocks from the index. It reports false if the footer or
// the index is damaged; salvage then finds out what is wrong.
func (t *Reader) openByFooter() bool {
	if t.size < headerSize+blockHeaderSize+footerSize {
		return false
	}
	foot := make([]byte, footerSize)
	if t.readAt(foot, t.size-footerSize, 0) != nil {
		return false
	}
	at, length, ok := parseFooter(foot, t.size)
	if !ok {
		return false
	}
	head := make([]byte, blockHeaderSize)
	if t.readAt(head, at, KindIndex) != nil {
		return false
	}
	h, _, err := parseBlockHeader(head, at)
	if err != nil || h.Kind != KindIndex || h.Size() != int64(length) {
		return false
	}
	payload, err := t.Read(h)
	if err != nil {
		return false
	}
	blocks, err := parseIndex(payload, at)
	if err != nil {
		return false
	}
	epochs, usable, ok := committed(blocks)
	if !ok || usable != len(blocks) {
		return false
	}
	t.blocks, t.epochs = blocks, epochs
	return true
}
