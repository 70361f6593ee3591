package app

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"hindsight/tracefmt/wire"
)

// LeadersReader returns a block-leader trace that a [LeadersWriter] packed.
type LeadersReader struct {
	in    *wire.Reader
	dec   *Decoder
	z     *zstd.Decoder
	shell toldShell

	stream []byte // the rest of the frame that the decoder reads
	body   []byte
	words  []byte // unpacked, not returned yet
	gap    uint64 // leaders between the last word that was returned and the next
	have   bool   // the gap of the next word was read
	since  uint64 // leaders returned since the last word
	rest   []byte // the bytes after the last word
	ended  bool   // the end of the file was read

	nWords, leaders      uint64 // according to the end of the file
	gotWords, gotLeaders uint64
	out                  []byte
	off                  int
	held                 uint64 // a decoded leader that must wait for the words before it
	holding              bool
	err                  error
}

// toldShell consists of the blocks that the file defines.
type toldShell struct {
	blocks  map[uint64]Block
	targets int
}

// Block implements Shell.
func (s *toldShell) Block(pc uint64) (Block, bool) {
	b, ok := s.blocks[pc]
	return b, ok
}

// NewLeadersReader starts unpacking. Memory is bounded as a [Decoder]'s is.
func NewLeadersReader(r io.Reader) (*LeadersReader, error) {
	l := &LeadersReader{in: wire.NewReader(r, format), shell: toldShell{blocks: map[uint64]Block{}}}
	var head [len(leadersMagic) + 1]byte
	if err := l.in.ReadFull(head[:]); err != nil {
		return nil, err
	}
	switch {
	case string(head[:len(leadersMagic)]) != leadersMagic:
		return nil, l.in.Fail(wire.ErrMagic, "% x", head)
	case head[len(leadersMagic)] != leadersVersion:
		return nil, l.in.Fail(wire.ErrVersion, "%d", head[len(leadersMagic)])
	}
	var err error
	if l.z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWordsRaw)); err != nil {
		return nil, err
	}
	if l.dec, err = NewDecoder(leadersFrames{l}, &l.shell); err != nil {
		l.z.Close()
		return nil, err
	}
	return l, nil
}

// Close releases the reader's resources.
func (l *LeadersReader) Close() error {
	l.z.Close()
	return nil
}

// leadersFrames supplies the decoder with its stream.
type leadersFrames struct{ *LeadersReader }

// Read returns bytes of the next frame of the stream, and handles the frames before it.
func (l leadersFrames) Read(p []byte) (int, error) {
	for len(l.stream) == 0 {
		if l.ended {
			return 0, io.EOF
		}
		if err := l.frame(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.stream)
	l.stream = l.stream[n:]
	return n, nil
}

// frame reads the next frame.
func (l *LeadersReader) frame() error {
	kind, err := l.in.ReadByte()
	if err != nil {
		return err
	}
	n, err := l.in.Uvarint(maxFrame, "length of a frame")
	if err != nil {
		return err
	}
	if l.body, err = l.in.Append(l.body[:0], n); err != nil {
		return err
	}
	if kind == frameStream {
		l.stream = l.body
		return nil
	}
	if n < 4 || crc32.ChecksumIEEE(l.body[:n-4]) != binary.LittleEndian.Uint32(l.body[n-4:]) {
		return l.in.Fail(wire.ErrChecksum, "frame of kind %d", kind)
	}
	p := parser{in: l.body[:n-4]}
	switch kind {
	case frameShell:
		p.in = l.unpack(&p)
		l.define(&p)
	case frameWords:
		l.unpackWords(&p)
	case frameEnd:
		l.end(&p)
	default:
		p.fail("unknown kind")
	}
	if len(p.in) > 0 {
		p.fail("bytes left over")
	}
	if p.bad != "" {
		return l.in.Fail(wire.ErrMalformed, "frame of kind %d: %s", kind, p.bad)
	}
	return nil
}

// define reads blocks of the shell.
func (l *LeadersReader) define(p *parser) {
	last := uint64(0)
	for range p.uvarint(maxShellBlocks, "blocks") {
		if p.bad != "" || len(p.in) == 0 {
			p.fail("blocks")
			return
		}
		last += uint64(p.varint())
		var b Block
		if len(p.in) > 0 && p.in[0] < byte(numKinds) {
			b.Kind, p.in = Kind(p.in[0]), p.in[1:]
		} else {
			p.fail("kind of a block")
		}
		n := p.uvarint(maxTargets, "targets")
		l.shell.targets += int(n)
		if l.shell.targets > maxDefined || n > uint64(len(p.in)) {
			p.fail("number of targets")
			return
		}
		for range n {
			b.Targets = append(b.Targets, last+uint64(p.varint()))
		}
		b.Return = last + uint64(p.varint())
		if _, twice := l.shell.blocks[last]; twice || len(l.shell.blocks) == maxShellBlocks {
			p.fail("a block again, or too many")
			return
		}
		l.shell.blocks[last] = b
	}
}

// unpackWords reads words that are not leaders.
func (l *LeadersReader) unpackWords(p *parser) {
	if len(l.words) > 8*maxWordsRaw {
		p.fail("words with no leaders between them")
		return
	}
	l.words, p.in = append(slices.Clip(l.words), l.unpack(p)...), nil
}

// unpack returns the body of a frame that is compressed.
func (l *LeadersReader) unpack(p *parser) []byte {
	n := p.uvarint(maxWordsRaw, "bytes")
	b, err := l.z.DecodeAll(p.in, nil)
	if err != nil || uint64(len(b)) != n {
		p.fail("compressed bytes")
		return nil
	}
	return b
}

func (l *LeadersReader) end(p *parser) {
	if len(p.in) == 0 || p.in[0] >= wordSize || len(p.in) < 1+int(p.in[0]) {
		p.fail("rest")
		return
	}
	n := int(p.in[0])
	l.rest = append([]byte(nil), p.in[1:1+n]...)
	p.in = p.in[1+n:]
	l.nWords = p.uvarint(1<<63-1, "words")
	l.leaders = p.uvarint(1<<63-1, "leaders")
	l.ended = true
}

// Read implements [io.Reader].
func (l *LeadersReader) Read(p []byte) (int, error) {
	if l.off == len(l.out) {
		l.out, l.off = l.out[:0], 0
		for len(l.out) < 1<<15 && l.err == nil {
			l.err = l.next()
		}
		if len(l.out) == 0 {
			return 0, l.err
		}
	}
	n := copy(p, l.out[l.off:])
	l.off += n
	return n, nil
}

// next takes a step: it returns a word, decodes a leader, or reads a frame. After the
// last word it returns io.EOF.
func (l *LeadersReader) next() error {
	if err := l.nextWord(); err != nil {
		return err
	}
	switch {
	case l.have && l.since == l.gap:
		l.out = append(l.out, l.words[:wordSize]...)
		l.words, l.have, l.since = l.words[wordSize:], false, 0
		l.gotWords++
	case l.holding:
		l.out = binary.LittleEndian.AppendUint64(l.out, l.held|leaderBit)
		l.holding = false
		l.since++
		l.gotLeaders++
	case l.dec != nil && (l.dec.left > 0 || len(l.stream) > 0):
		return l.decode()
	case !l.ended:
		if err := l.frame(); err != nil {
			return err
		}
		if l.dec == nil && len(l.stream) > 0 {
			return l.in.Fail(wire.ErrMalformed, "bytes behind the stream")
		}
	default:
		return l.finish()
	}
	return nil
}

// nextWord reads ahead to the next word that is not a leader.
func (l *LeadersReader) nextWord() error {
	if l.have || len(l.words) == 0 {
		return nil
	}
	gap, n := binary.Uvarint(l.words)
	if n <= 0 || len(l.words) < n+wordSize || gap < l.since {
		return l.in.Fail(wire.ErrMalformed, "words")
	}
	l.gap, l.have, l.words = gap, true, l.words[n:]
	return nil
}

// decode decodes a leader.
func (l *LeadersReader) decode() error {
	pc, err := l.dec.Next()
	switch {
	case errors.Is(err, io.EOF):
		l.dec = nil
	case err != nil:
		return err
	case pc&1 != 0 || pc >= leaderBit:
		return l.in.Fail(wire.ErrMalformed, "leader %#x", pc)
	default:
		l.held, l.holding = pc, true
	}
	return nil
}

// finish returns the rest.
func (l *LeadersReader) finish() error {
	if l.dec != nil || l.have || l.gotWords != l.nWords || l.gotLeaders != l.leaders {
		return l.in.Fail(wire.ErrMalformed, "the end does not fit the trace")
	}
	if end, err := l.in.AtEnd(); err != nil || !end {
		return l.in.Fail(wire.ErrMalformed, "bytes behind the end")
	}
	l.out = append(l.out, l.rest...)
	return io.EOF
}
