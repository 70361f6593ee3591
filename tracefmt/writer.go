package tracefmt

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a trace file from front to end. Its errors are sticky. If the destination
// failed, they are *[WriteError].
type Writer struct {
	w      io.Writer
	name   string
	enc    *zstd.Encoder // nil: payloads are stored as they are
	second *zstd.Encoder // for AppendAll, once it is needed
	offset int64
	epoch  uint32
	open   uint32 // blocks of the open epoch so far
	blocks []Handle
	buf    []byte // one block as stored
	err    error
	closed bool
}

// NewWriter writes the file header to w.
func NewWriter(w io.Writer) (*Writer, error) {
	enc, err := newEncoder(zstd.SpeedBestCompression)
	if err != nil {
		return nil, err
	}
	return newWriter(w, enc)
}

// NewPlainWriter is [NewWriter] for a temporary file. It does not compress payloads.
// [Compress] converts the result to an ordinary trace file.
func NewPlainWriter(w io.Writer) (*Writer, error) { return newWriter(w, nil) }

// Compress writes the complete file of a [NewPlainWriter] to w, as [NewWriter] would have
// written it.
func Compress(w io.Writer, r *Reader) error {
	if !r.Complete() {
		return fmt.Errorf("compress: %w", ErrTruncated)
	}
	tw, err := NewWriter(w)
	if err != nil {
		return err
	}
	for _, h := range r.Blocks() {
		stored, err := r.stored(h)
		switch {
		case err != nil:
			return err
		case h.Kind == KindImage || h.Kind == KindObject: // already compressed
			err = tw.AppendPacked(h.Kind, h.Thread, &Packed{raw: h.Raw, codec: h.Codec, stored: stored})
		case h.Kind == KindCommit:
			err = tw.Commit(stored)
		default:
			err = tw.Append(h.Kind, h.Thread, stored)
		}
		if err != nil {
			return err
		}
	}
	return tw.Close()
}

func newWriter(w io.Writer, enc *zstd.Encoder) (*Writer, error) {
	tw := &Writer{w: w, enc: enc}
	if f, ok := w.(interface{ Name() string }); ok {
		tw.name = f.Name()
	}
	if err := tw.write(appendHeader(nil)); err != nil {
		return nil, err
	}
	return tw, nil
}

// newEncoder returns an encoder. The levels are fixed because the bytes of a file must be
// reproducible.
func newEncoder(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(false), // the block has a checksum of its own
		zstd.WithWindowSize(8<<20))
	if err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	return enc, nil
}

// Packed is a payload that was compressed once, for a block that many files share. It is
// immutable and safe for concurrent use.
type Packed struct {
	raw    uint32
	codec  Codec
	stored []byte
}

// Pack compresses a payload as [Writer.Append] does.
func Pack(payload []byte) (*Packed, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("block of %d bytes: %w", len(payload), ErrTooLarge)
	}
	// Programs are most of what a short run writes. At the best level, compressing them
	// would take most of the time: 16 times as long for 3 % less.
	enc, err := newEncoder(zstd.SpeedDefault)
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	p := &Packed{raw: uint32(len(payload))}
	p.stored, p.codec = compress(enc, nil, payload)
	return p, nil
}

// compress appends the stored form of a payload to buf.
func compress(enc *zstd.Encoder, buf, payload []byte) ([]byte, Codec) {
	if enc == nil {
		return append(buf, payload...), CodecStore
	}
	before := len(buf)
	buf = enc.EncodeAll(payload, buf)
	if len(buf)-before >= len(payload) {
		return append(buf[:before], payload...), CodecStore
	}
	return buf, CodecZstd
}

// Offset returns the number of bytes written so far.
func (w *Writer) Offset() int64 { return w.offset }

// Epoch returns the number of the open epoch.
func (w *Writer) Epoch() uint32 { return w.epoch }

// Append writes a block of the open epoch, or one that belongs to no epoch if it is of
// such a kind (meta, image, object, arch-summary, names, notes, wet). The caller may
// reuse the payload on return.
func (w *Writer) Append(kind Kind, thread uint32, payload []byte) error {
	if kind.global() {
		_, err := w.append(kind, NoEpoch, thread, payload)
		return err
	}
	if !kind.ofEpoch() {
		return errNoBlockHere(kind)
	}
	w.open++
	_, err := w.append(kind, w.epoch, thread, payload)
	return err
}

// ofEpoch reports whether blocks of a kind belong to the open epoch.
func (k Kind) ofEpoch() bool {
	switch k {
	case KindTables, KindControl, KindFlow, KindData, KindSync, KindSchedule, KindArch:
		return true
	}
	return false
}

func errNoBlockHere(kind Kind) error { return fmt.Errorf("append: no %v block here", kind) }

// AppendPacked is [Writer.Append] for a meta, image or object block that was packed.
func (w *Writer) AppendPacked(kind Kind, thread uint32, p *Packed) error {
	if kind != KindMeta && kind != KindImage && kind != KindObject {
		return fmt.Errorf("append: no packed %v block here", kind)
	}
	return w.appendPacked(kind, NoEpoch, thread, p)
}

// Commit closes the open epoch. From now on its blocks can be read, whatever happens to
// the recording.
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
	if w.enc == nil {
		return nil
	}
	if w.second != nil {
		err = w.second.Close()
	}
	return errors.Join(err, w.enc.Close())
}

func (w *Writer) append(kind Kind, epoch, thread uint32, payload []byte) (Handle, error) {
	if err := w.admit(kind, len(payload)); err != nil {
		return Handle{}, err
	}
	h := Handle{Kind: kind, Epoch: epoch, Thread: thread, Raw: uint32(len(payload))}
	var room [blockHeaderSize]byte
	w.buf, h.Codec = compress(w.enc, append(w.buf[:0], room[:]...), payload)
	return w.put(h)
}

// admit returns an error for a block that a file cannot hold.
func (w *Writer) admit(kind Kind, size int) error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return w.fail(errors.New("trace writer is closed"))
	case size > MaxPayload:
		return w.fail(fmt.Errorf("%v block of %d bytes: %w", kind, size, ErrTooLarge))
	case len(w.blocks) >= maxBlocks:
		return w.fail(fmt.Errorf("%d blocks: %w", len(w.blocks), ErrTooLarge))
	}
	return nil
}

// put writes the block in buf, which begins with room for its header.
func (w *Writer) put(h Handle) (Handle, error) {
	h.Offset = w.offset
	stored := w.buf[blockHeaderSize:]
	h.Stored = uint32(len(stored))
	appendBlockHeader(w.buf[:0], h, checksum(stored))
	if err := w.write(w.buf); err != nil {
		return Handle{}, err
	}
	if h.Kind != KindIndex {
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
