package app

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	magic   = "happ"
	trailer = "ppah"
	version = 1

	flagIntraprocedural = 1 << 0
	flagAsymmetric      = 1 << 1
	flagFunctions       = 1 << 2
	flagLoops           = 1 << 3
	flagRepeats         = 1 << 4
	knownFlags          = 1<<5 - 1
)

// Limits of a chunk, which ends when one of them is reached.
const (
	chunkBlocks     = 1 << 18
	chunkCode       = 1 << 20
	chunkExceptions = 1 << 15
)

// ErrUnknownBlocks says that more blocks unknown to the shell ran than the codec can
// store.
var ErrUnknownBlocks = errors.New("app: too many blocks that the control flow does not know")

// errClosed says that an encoder was used after Close.
var errClosed = errors.New("app: the encoder is closed")

// exception is a transfer that the shell does not allow.
type exception struct {
	gap uint64 // blocks of the chunk between the previous exception and this one
	pc  uint64
}

// Stats counts what an [Encoder] has recorded.
type Stats struct {
	Blocks      uint64
	Branches    uint64 // conditional branches
	Exceptions  uint64
	Checkpoints int
	Bytes       int64 // bytes written; after Close, all of them
}

// Encoder records a sequence of blocks. Errors are final.
type Encoder struct {
	out io.Writer
	w   *walker

	blocks uint64
	count  uint64 // blocks of this chunk
	gap    uint64
	except []exception
	since  int    // blocks since the last checkpoint
	state  []byte // of the checkpoint that this chunk begins with, or nil

	index []Checkpoint
	buf   []byte
	off   int64
	err   error
}

// NewEncoder starts a stream on w. Nothing but the encoder may write to w until
// Close, which does not close w.
func NewEncoder(w io.Writer, shell Shell, opts Options) (*Encoder, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Encoder{out: w, w: newWalker(shell, opts, false)}
	e.w.m.enc.Reset()
	if err := e.write(appendHeader(nil, &opts)); err != nil {
		return nil, err
	}
	return e, nil
}

func appendHeader(b []byte, o *Options) []byte {
	flags := byte(0)
	if o.Intraprocedural {
		flags |= flagIntraprocedural
	}
	if o.Scheme == Asymmetric {
		flags |= flagAsymmetric
	}
	if o.Functions != nil {
		flags |= flagFunctions
	}
	if o.Loops {
		flags |= flagLoops
	}
	if o.Repeats {
		flags |= flagRepeats
	}
	b = append(b, magic...)
	b = append(b, version, flags, byte(o.Local), byte(o.Global), byte(o.Table), byte(o.Step))
	b = binary.AppendUvarint(b, uint64(o.Limit))
	b = binary.AppendUvarint(b, uint64(len(o.Functions)))
	last := uint64(0)
	for _, f := range o.Functions {
		b = binary.AppendUvarint(b, f-last)
		last = f
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (e *Encoder) write(b []byte) error {
	n, err := e.out.Write(b)
	e.off += int64(n)
	if err != nil {
		e.err = fmt.Errorf("app: write: %w", err)
	}
	return e.err
}

// Block records that the block at pc ran next. Blocks of functions that were not chosen
// are skipped.
func (e *Encoder) Block(pc uint64) error {
	if e.err != nil {
		return e.err
	}
	w := e.w
	if w.opts.Functions != nil {
		n := w.at(pc)
		if n == nil {
			e.err = ErrUnknownBlocks
			return e.err
		}
		if n.outside {
			return nil
		}
	}
	if w.opts.Checkpoint > 0 && e.since >= w.opts.Checkpoint {
		if err := e.checkpoint(); err != nil {
			return err
		}
	}
	ok := true
	if w.quick(pc) {
		e.gap++
	} else if w.reachable(pc) {
		ok = w.step(pc)
		e.gap++
	} else {
		e.except = append(e.except, exception{e.gap, pc})
		e.gap = 0
		ok = w.exception(pc)
	}
	if !ok {
		e.err = ErrUnknownBlocks
		return e.err
	}
	e.blocks++
	e.count++
	e.since++
	if e.count == chunkBlocks || len(e.except) == chunkExceptions || w.m.enc.Len() >= chunkCode {
		return e.flush()
	}
	return nil
}

// checkpoint ends the chunk and begins one that can be read alone.
func (e *Encoder) checkpoint() error {
	if err := e.flush(); err != nil {
		return err
	}
	e.since = 0
	e.index = append(e.index, Checkpoint{Blocks: e.blocks, Offset: e.off})
	e.w.restart()
	e.state = binary.AppendUvarint(e.state[:0], e.w.cur.pc)
	e.state = binary.AppendUvarint(e.state, uint64(len(e.w.stack)))
	last := uint64(0)
	for _, f := range e.w.stack {
		e.state = binary.AppendVarint(e.state, int64(f.ret-last))
		last = f.ret
	}
	return nil
}

// flush writes the chunk.
func (e *Encoder) flush() error {
	if e.count == 0 {
		return nil
	}
	body := binary.AppendUvarint(nil, e.count)
	body = binary.AppendUvarint(body, truth64(len(e.state) > 0))
	body = append(body, e.state...)
	body = binary.AppendUvarint(body, uint64(len(e.except)))
	last := uint64(0)
	for _, x := range e.except {
		body = binary.AppendUvarint(body, x.gap)
		body = binary.AppendVarint(body, int64(x.pc-last))
		last = x.pc
	}
	body = append(body, e.w.m.enc.Finish()...)
	e.w.m.enc.Reset()

	b := e.buf[:0]
	b = append(b, 1)
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(body))
	e.buf, e.state, e.except, e.gap, e.count = b, e.state[:0], e.except[:0], 0, 0
	return e.write(b)
}

func truth64(b bool) uint64 { return uint64(truth(b)) }

// Close writes the remaining data and the end of the stream.
func (e *Encoder) Close() error {
	if e.err != nil {
		if errors.Is(e.err, errClosed) {
			return nil
		}
		return e.err
	}
	if err := e.flush(); err != nil {
		return err
	}
	start := e.off
	b := []byte{0}
	b = binary.AppendUvarint(b, e.blocks)
	b = binary.AppendUvarint(b, uint64(len(e.index)))
	last := Checkpoint{}
	for _, c := range e.index {
		b = binary.AppendUvarint(b, c.Blocks-last.Blocks)
		b = binary.AppendUvarint(b, uint64(c.Offset-last.Offset))
		last = c
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = binary.LittleEndian.AppendUint64(b, uint64(start))
	if err := e.write(append(b, trailer...)); err != nil {
		return err
	}
	e.err = errClosed
	return nil
}

// Size returns the approximate number of bytes of the stream so far, including those that
// are not written yet.
func (e *Encoder) Size() int64 { return e.off + int64(e.w.m.enc.Len()) + 8*int64(len(e.except)) }

// Checkpoints returns the number of checkpoints so far.
func (e *Encoder) Checkpoints() int { return len(e.index) }

// Stats returns the counts so far.
func (e *Encoder) Stats() Stats {
	return Stats{Blocks: e.blocks, Branches: e.w.branches, Exceptions: e.w.exceptions, Checkpoints: len(e.index), Bytes: e.off}
}
