package ldr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	magic = "HLDR"
	// Version is the format version that this package writes and reads.
	Version = 2

	wordSize      = 8
	defaultWindow = maxWindow
	maxWindow     = 1 << 15

	zstdWindow = 4 << 20
)

// Options of a [Writer]. The zero value is a good choice.
type Options struct {
	// Window is the number of executed blocks that are examined together, at most
	// 32,768; 0 means 32,768.
	Window int
	// Plain omits zstd, so that the output is reduction alone, as in the abstract.
	Plain bool
}

// ErrClosed is returned when a closed writer or reader is used.
var ErrClosed = errors.New("ldr: closed")

// Writer compresses a trace. Close must be called.
type Writer struct {
	w      io.Writer
	enc    *zstd.Encoder // nil when plain
	window int

	rest []byte // the beginning of an incomplete word

	leader uint64 // of the current block; 0: none
	data   int    // its data words, the last ones of values
	inside bool   // there is a current block

	words  int
	blocks []uint32 // shapes of the window's blocks
	nodes  []int32
	values []uint64
	index  map[uint32]int32 // node of a block shape
	graph  graph
	r      reducer

	out, body, vals []byte
	err             error
}

// NewWriter starts a compressed trace on w.
func NewWriter(w io.Writer, opts Options) (*Writer, error) {
	if opts.Window == 0 {
		opts.Window = defaultWindow
	}
	if opts.Window < 1 || opts.Window > maxWindow {
		return nil, fmt.Errorf("ldr: window of %d blocks, want 1 to %d", opts.Window, maxWindow)
	}
	z := &Writer{w: w, window: opts.Window, index: map[uint32]int32{}, r: reducer{known: map[string]uint32{}}}
	z.graph.reset()
	head := append([]byte(magic), Version, 1)
	if opts.Plain {
		head[len(head)-1] = 0
	}
	if _, err := w.Write(head); err != nil {
		return nil, fmt.Errorf("ldr: %w", err)
	}
	if !opts.Plain {
		enc, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("ldr: %w", err)
		}
		z.enc, z.w = enc, enc
	}
	return z, nil
}

// Write accepts any part of the trace.
func (z *Writer) Write(p []byte) (int, error) {
	if z.err != nil {
		return 0, z.err
	}
	size := len(p)
	for len(p) > 0 {
		if len(z.rest) > 0 || len(p) < wordSize {
			n := min(wordSize-len(z.rest), len(p))
			z.rest = append(z.rest, p[:n]...)
			p = p[n:]
			if len(z.rest) == wordSize {
				z.word(binary.LittleEndian.Uint64(z.rest))
				z.rest = z.rest[:0]
			}
		} else {
			z.word(binary.LittleEndian.Uint64(p))
			p = p[wordSize:]
		}
		if z.err != nil {
			return size - len(p), z.err
		}
	}
	return size, nil
}

func (z *Writer) word(w uint64) {
	if w >= leaderBit {
		z.block()
		z.leader, z.inside = w, true
		return
	}
	if z.data == maxBlockData {
		z.block()
	}
	z.values = append(z.values, w)
	z.data++
	z.inside = true
}

// block ends the block that was being read.
func (z *Writer) block() {
	if !z.inside {
		return
	}
	words := z.data
	if z.leader != 0 {
		words++
	}
	if len(z.blocks) == z.window || z.words+words > maxWords {
		z.flush()
	}
	if len(z.blocks) == 0 && (len(z.r.table.shapes) > maxShapes-maxWindow || z.r.table.places > maxPlaces/2 || z.r.table.members > maxMembers/2) {
		z.r.table.reset()
		clear(z.r.known)
		z.r.def = append(z.r.def, codeReset)
	}
	id, ok := z.r.define(shape{kind: blockShape, words: uint32(words), leader: z.leader})
	if !ok {
		z.err = errors.New("ldr: no place for the shape of a block") // cannot happen: the limits above leave room
		return
	}
	node, known := z.index[id]
	if !known {
		node = z.graph.node()
		z.index[id] = node
	}
	if n := len(z.nodes); n > 0 {
		z.graph.edge(z.nodes[n-1], node)
	}
	z.blocks, z.nodes = append(z.blocks, id), append(z.nodes, node)
	z.words += words
	z.leader, z.data, z.inside = 0, 0, false
}

// flush reduces the window and writes it.
func (z *Writer) flush() {
	if len(z.blocks) == 0 || z.err != nil {
		return
	}
	top := z.r.reduce(z.nodes, z.blocks, z.values, z.graph.loops())
	z.body = append(z.body[:0], z.r.def...)
	z.vals = z.vals[:0]
	values := top.values
	for _, id := range top.ids {
		z.body = binary.AppendUvarint(z.body, codeItem+uint64(id))
		s := &z.r.table.shapes[id]
		z.vals = z.r.table.residuals(z.vals, s, values[:s.values])
		values = values[s.values:]
	}
	z.out = binary.AppendUvarint(z.out[:0], uint64(z.words))
	z.out = append(binary.AppendUvarint(z.out, uint64(len(z.body))), z.body...)
	z.out = append(binary.AppendUvarint(z.out, uint64(len(z.vals))), z.vals...)
	z.write(z.out)

	z.r.def, z.words = z.r.def[:0], 0
	z.blocks, z.nodes = z.blocks[:0], z.nodes[:0]
	z.values = append(z.values[:0], z.values[len(z.values)-z.data:]...) // those of the current block
	clear(z.index)
	z.graph.reset()
}

func (z *Writer) write(b []byte) {
	if _, err := z.w.Write(b); err != nil && z.err == nil {
		z.err = fmt.Errorf("ldr: %w", err)
	}
}

// Flush ends the window, so that a decoder of the output so far gets every block except
// the last, which may continue.
func (z *Writer) Flush() error {
	if z.err != nil {
		return z.err
	}
	z.flush()
	if z.enc != nil && z.err == nil {
		z.err = z.enc.Flush()
	}
	return z.err
}

// Close ends the trace.
func (z *Writer) Close() error {
	if errors.Is(z.err, ErrClosed) {
		return nil
	}
	if z.err == nil {
		z.block()
		z.flush()
	}
	if z.err != nil {
		return z.err
	}
	z.write(append([]byte{0, byte(len(z.rest))}, z.rest...))
	if z.enc != nil && z.err == nil {
		z.err = z.enc.Close()
	}
	if z.err != nil {
		return z.err
	}
	z.err = ErrClosed
	return nil
}
