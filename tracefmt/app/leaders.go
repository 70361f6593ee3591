package app

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A packed block-leader trace (docs/raw-formats.md) is a stream of this package. It
// contains the part of the program's control flow that the trace was replayed through, so
// it can be decoded without the program. It also contains the words that are not leaders,
// so that any input can be restored.
//
//	file    "hapl" version:1 frame… end
//	frame   kind:1 length:v body
//	shell   kind 1: packed blocks:v (pc:z kind:1 targets:v (target:z)… return:z)…
//	stream  kind 2: the next bytes of the stream
//	words   kind 3: packed (leaders before:v word:8)…
//	packed  bytes unpacked:v, one zstd frame, crc32:4
//	end     kind 0 length:v rest words:v leaders:v crc32:4
//
// pc is the difference from the previous block, and targets and return are differences
// from pc. A word is anything that is not a leader with an even address, or a leader that
// the shell does not know when no more such blocks are kept. The rest is the up to seven
// bytes after the last word. Blocks come before the bytes of the stream whose decoding
// needs them, and words before the leader that they precede.
const (
	leadersMagic   = "hapl"
	leadersVersion = 1

	frameEnd    = 0
	frameShell  = 1
	frameStream = 2
	frameWords  = 3

	leaderBit = 1 << 63
	wordSize  = 8

	// Limits of frames.
	maxShellBlocks = 1 << 20
	maxTargets     = 1 << 14
	maxWordsRaw    = 1 << 20
	maxAhead       = 4 << 20 // bytes of words before the leaders among them must follow
	maxFrame       = 4 << 20
	maxDefined     = 4 << 20 // targets of all blocks together
)

// definition is a block of the shell that is written to the file.
type definition struct {
	pc uint64
	Block
}

// tellingShell records which blocks the codec asked for.
type tellingShell struct {
	in    Shell
	told  map[uint64]bool
	fresh []definition
	count int
}

// Block implements Shell.
func (s *tellingShell) Block(pc uint64) (Block, bool) {
	b, ok := s.in.Block(pc)
	ok = ok && b.Kind < numKinds && len(b.Targets) <= maxTargets
	if !ok {
		return Block{}, false
	}
	if !s.told[pc] {
		if len(s.told) == maxShellBlocks || s.count+len(b.Targets) > maxDefined {
			return Block{}, false
		}
		s.told[pc], s.count = true, s.count+len(b.Targets)
		b.Func = 0
		s.fresh = append(s.fresh, definition{pc, b})
	}
	return b, true
}

// LeadersWriter packs a block-leader trace.
type LeadersWriter struct {
	out   io.Writer
	enc   *Encoder
	shell *tellingShell
	z     *zstd.Encoder

	part    []byte // the beginning of an incomplete word
	words   []byte // words that are not written yet
	gap     uint64 // leaders since the last word
	nWords  uint64
	ahead   int // bytes of words since the stream's last chunk
	leaders uint64
	err     error
}

// NewLeadersWriter starts packing to w. An empty shell is valid, but leads to a larger
// file. Close does not close w.
func NewLeadersWriter(w io.Writer, shell Shell, opts Options) (*LeadersWriter, error) {
	if opts.Functions != nil {
		return nil, errors.New("app: functions cannot be chosen in a trace that must be restored completely")
	}
	if _, err := w.Write(append([]byte(leadersMagic), leadersVersion)); err != nil {
		return nil, fmt.Errorf("app: write: %w", err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	l := &LeadersWriter{out: w, z: z, shell: &tellingShell{in: shell, told: map[uint64]bool{}}}
	l.enc, err = NewEncoder(leadersStream{l}, l.shell, opts)
	return l, err
}

// leadersStream receives the bytes of the stream.
type leadersStream struct{ *LeadersWriter }

// Write writes what a decoder needs before these bytes, and then the bytes.
func (l leadersStream) Write(p []byte) (int, error) {
	if err := l.writeShell(); err != nil {
		return 0, err
	}
	if err := l.writeWords(); err != nil {
		return 0, err
	}
	l.ahead = 0
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxFrame)
		if err := l.frame(frameStream, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

func (l *LeadersWriter) frame(kind byte, body []byte) error {
	b := binary.AppendUvarint([]byte{kind}, uint64(len(body)))
	if _, err := l.out.Write(append(b, body...)); err != nil {
		return fmt.Errorf("app: write: %w", err)
	}
	return nil
}

func checked(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (l *LeadersWriter) writeShell() error {
	for fresh := l.shell.fresh; len(fresh) > 0; {
		n, targets := 0, 0
		for n < len(fresh) && n < 1<<12 && targets < maxTargets/2 {
			targets += len(fresh[n].Targets)
			n++
		}
		b := binary.AppendUvarint(nil, uint64(n))
		last := uint64(0)
		for _, d := range fresh[:n] {
			b = binary.AppendVarint(b, int64(d.pc-last))
			last = d.pc
			b = append(b, byte(d.Kind))
			b = binary.AppendUvarint(b, uint64(len(d.Targets)))
			for _, t := range d.Targets {
				b = binary.AppendVarint(b, int64(t-d.pc))
			}
			b = binary.AppendVarint(b, int64(d.Return-d.pc))
		}
		if err := l.packed(frameShell, b); err != nil {
			return err
		}
		fresh = fresh[n:]
	}
	l.shell.fresh = l.shell.fresh[:0]
	return nil
}

func (l *LeadersWriter) writeWords() error {
	if len(l.words) == 0 {
		return nil
	}
	err := l.packed(frameWords, l.words)
	l.words = l.words[:0]
	return err
}

// packed writes a frame whose body is compressed.
func (l *LeadersWriter) packed(kind byte, body []byte) error {
	b := binary.AppendUvarint(nil, uint64(len(body)))
	return l.frame(kind, checked(l.z.EncodeAll(body, b)))
}

// Write accepts any part of the trace.
func (l *LeadersWriter) Write(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n := len(p)
	if len(l.part) > 0 {
		k := min(wordSize-len(l.part), len(p))
		l.part = append(l.part, p[:k]...)
		p = p[k:]
		if len(l.part) < wordSize {
			return n, nil
		}
		l.word(binary.LittleEndian.Uint64(l.part))
		l.part = l.part[:0]
	}
	for len(p) >= wordSize && l.err == nil {
		l.word(binary.LittleEndian.Uint64(p))
		p = p[wordSize:]
	}
	l.part = append(l.part, p...)
	if l.err != nil {
		return 0, l.err
	}
	return n, nil
}

func (l *LeadersWriter) word(w uint64) {
	if w&leaderBit != 0 && w&1 == 0 && l.enc.w.admits(w&^leaderBit) {
		l.gap++
		l.leaders++
		l.err = l.enc.Block(w &^ leaderBit)
		return
	}
	l.words = binary.AppendUvarint(l.words, l.gap)
	l.words = binary.LittleEndian.AppendUint64(l.words, w)
	l.nWords++
	l.gap = 0
	if len(l.words) > maxWordsRaw-2*binary.MaxVarintLen64 {
		l.ahead += len(l.words)
		if l.err = l.writeWords(); l.err == nil && l.ahead > maxAhead {
			l.err = l.enc.flush()
		}
	}
}

// Stats returns what was recorded of the leaders.
func (l *LeadersWriter) Stats() Stats { return l.enc.Stats() }

// Close writes what is left.
func (l *LeadersWriter) Close() error {
	if l.err != nil {
		if errors.Is(l.err, errClosed) {
			return nil
		}
		return l.err
	}
	l.err = errClosed
	if err := l.enc.Close(); err != nil {
		return err
	}
	if err := l.writeWords(); err != nil {
		return err
	}
	b := append([]byte(nil), l.part...)
	b = binary.AppendUvarint(b, l.nWords)
	b = binary.AppendUvarint(b, l.leaders)
	b = append([]byte{byte(len(l.part))}, b...)
	return l.frame(frameEnd, checked(b))
}
