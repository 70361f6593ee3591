package tracefmt

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a trace file from front to end. Its errors are sticky and are
// *[WriteError] when the destination failed.
type Writer struct {
	w      io.Writer
	name   string
	enc    *zstd.Encoder
	offset int64
	epoch  uint32
	open   uint32 // blocks of the open epoch
	blocks []Handle
	buf    []byte // one block as stored
	err    error
	closed bool
}

// NewWriter writes the file header to w.
func NewWriter(w io.Writer) (*Writer, error) {
	// The level is fixed because the bytes of a file are a promise.
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderCRC(false), // the block has its own
		zstd.WithWindowSize(8<<20))
	if err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	tw := &Writer{w: w, enc: enc}
	if f, ok := w.(interface{ Name() string }); ok {
		tw.name = f.Name()
	}
	if err := tw.write(appendHeader(nil)); err != nil {
		return nil, err
	}
	return tw, nil
}

// Offset is the number of bytes written so far.
func (w *Writer) Offset() int64 { return w.offset }

// Epoch is the number of the open epoch.
func (w *Writer) Epoch() uint32 { return w.epoch }

// Append writes a block of the open epoch, or, for meta, image and
// arch-summary, one that belongs to no epoch. The payload is the caller's again on return.
func (w *Writer) Append(kind Kind, thread uint32, payload []byte) error {
	switch kind {
	case KindMeta, KindImage, KindArchSummary:
		_, err := w.append(kind, NoEpoch, thread, payload)
		return err
	case KindTables, KindControl, KindData, KindSync, KindArch:
		w.open++
		_, err := w.append(kind, w.epoch, thread, payload)
		return err
	}
	return fmt.Errorf("append: no %v block here", kind)
}

// Commit closes the open epoch. From here on its blocks survive whatever
// happens to the recording.
func (w *Writer) Commit(payload []byte) error {
	if _, err := w.append(KindCommit, w.epoch, w.open, payload); err != nil {
		return err
	}
	w.epoch++
	w.open = 0
	return nil
}

// Close writes the index and the footer. The open epoch must have been
// committed. It does not close the destination.
func (w *Writer) Close() error {
	if w.err != nil || w.closed {
		return w.err
	}
	if w.open != 0 {
		return w.fail(errors.New("close: the last epoch is not committed"))
	}
	index, err := w.append(KindIndex, NoEpoch, 0, appendIndex(nil, w.blocks))
	if err != nil {
		return err
	}
	if err := w.write(appendFooter(nil, index)); err != nil {
		return err
	}
	w.closed = true
	return w.enc.Close()
}

func (w *Writer) append(kind Kind, epoch, thread uint32, payload []byte) (Handle, error) {
	switch {
	case w.err != nil:
		return Handle{}, w.err
	case w.closed:
		return Handle{}, w.fail(errors.New("trace writer is closed"))
	case len(payload) > MaxPayload:
		return Handle{}, w.fail(fmt.Errorf("%v block of %d bytes: %w", kind, len(payload), ErrTooLarge))
	case len(w.blocks) >= maxBlocks:
		return Handle{}, w.fail(fmt.Errorf("%d blocks: %w", len(w.blocks), ErrTooLarge))
	}
	h := Handle{Offset: w.offset, Kind: kind, Epoch: epoch, Thread: thread, Raw: uint32(len(payload)), Codec: CodecZstd}
	var room [blockHeaderSize]byte
	w.buf = w.enc.EncodeAll(payload, append(w.buf[:0], room[:]...))
	if len(w.buf)-blockHeaderSize >= len(payload) {
		h.Codec = CodecStore
		w.buf = append(w.buf[:blockHeaderSize], payload...)
	}
	stored := w.buf[blockHeaderSize:]
	h.Stored = uint32(len(stored))
	appendBlockHeader(w.buf[:0], h, checksum(stored))
	if err := w.write(w.buf); err != nil {
		return Handle{}, err
	}
	if kind != KindIndex {
		w.blocks = append(w.blocks, h)
	}
	return h, nil
}

func (w *Writer) write(b []byte) error {
	if w.err != nil {
		return w.err
	}
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return w.fail(&WriteError{File: w.name, Offset: w.offset, Err: err})
	}
	w.offset += int64(len(b))
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}
