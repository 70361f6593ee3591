package app

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"iter"

	"hindsight/tracefmt/wire"
)

// format is the name of the format in errors.
const format = "app"

// maxBody limits the body of a chunk, to the largest code, exceptions and call stack.
const maxBody = chunkCode + maxLearned*4 + (chunkExceptions+MaxDepth)*15 + 64

// Decoder replays a sequence of blocks.
type Decoder struct {
	in   *wire.Reader
	w    *walker
	opts Options

	body   []byte
	left   uint64 // remaining blocks of the chunk
	except []exception
	blocks uint64 // returned, or skipped before the checkpoint
	marks  uint64 // checkpoints seen, if the stream is read from its start
	from   bool   // the stream is read from its start
	err    error
}

// NewDecoder reads a stream from r. shell must be the one that the stream was recorded
// with. Memory stays below 512 MB for any input, not counting the shell's blocks.
func NewDecoder(r io.Reader, shell Shell) (*Decoder, error) {
	d := &Decoder{in: wire.NewReader(r, format), from: true}
	if err := d.header(); err != nil {
		return nil, err
	}
	d.w = newWalker(shell, d.opts, true)
	return d, nil
}

// header reads the options.
func (d *Decoder) header() error {
	var b [10]byte
	if err := d.in.ReadFull(b[:]); err != nil {
		return err
	}
	switch {
	case string(b[:4]) != magic:
		return d.in.Fail(wire.ErrMagic, "% x", b[:4])
	case b[4] != version:
		return d.in.Fail(wire.ErrVersion, "%d", b[4])
	case b[5]&^knownFlags != 0:
		return d.in.Fail(wire.ErrMalformed, "flags %#x", b[5])
	}
	limit, err := d.in.Uvarint(maxLimit, "limit of counters")
	if err != nil {
		return err
	}
	n, err := d.in.Uvarint(1<<24, "number of functions")
	if err != nil {
		return err
	}
	o := Options{
		Local: int(b[6]), Global: int(b[7]), Table: int(b[8]), Step: int(b[9]), Limit: int(limit),
		Intraprocedural: b[5]&flagIntraprocedural != 0, Loops: b[5]&flagLoops != 0,
		Repeats: b[5]&flagRepeats != 0,
	}
	if b[5]&flagAsymmetric != 0 {
		o.Scheme = Asymmetric
	}
	if err := o.check(); err != nil {
		return d.in.Fail(wire.ErrMalformed, "%v", err)
	}
	chosen := b[5]&flagFunctions != 0
	if chosen != (n > 0) {
		return d.in.Fail(wire.ErrMalformed, "%d functions are chosen, flags %#x", n, b[5])
	}
	last := uint64(0)
	for i := range n {
		delta, err := d.in.Uvarint(1<<64-1, "function")
		if err != nil {
			return err
		}
		last += delta
		if i > 0 && (delta == 0 || last < delta) {
			return d.in.Fail(wire.ErrMalformed, "functions are not in order")
		}
		o.Functions = append(o.Functions, last)
	}
	d.opts = o
	sum, err := d.in.Uint32()
	if err != nil {
		return err
	}
	// The same options have only one valid encoding.
	if whole := appendHeader(nil, &o); sum != binary.LittleEndian.Uint32(whole[len(whole)-4:]) {
		return d.in.Fail(wire.ErrChecksum, "header")
	}
	return nil
}

// Options returns the options of the stream, with defaults filled in.
func (d *Decoder) Options() Options { return d.opts }

// Next returns the address of the next block, and io.EOF after the last.
func (d *Decoder) Next() (uint64, error) {
	if d.err != nil {
		return 0, d.err
	}
	for d.left == 0 {
		if d.err = d.chunk(); d.err != nil {
			return 0, d.err
		}
	}
	w := d.w
	switch {
	case len(d.except) == 0:
		if !w.step(0) {
			return 0, d.lost()
		}
	case d.except[0].gap == 0:
		pc := d.except[0].pc
		d.except = d.except[1:]
		if !w.exception(pc) {
			d.err = d.in.Fail(wire.ErrTooLarge, "%v", ErrUnknownBlocks)
			return 0, d.err
		}
	default:
		d.except[0].gap--
		if !w.step(0) {
			return 0, d.lost()
		}
	}
	d.blocks++
	d.left--
	if d.left == 0 && (w.m.dec.Overrun() || w.m.dec.Rest() > 0) {
		d.err = d.in.Fail(wire.ErrMalformed, "code ends elsewhere than its blocks: damage, or another program's control flow")
		return 0, d.err
	}
	return w.cur.pc, nil
}

func (d *Decoder) lost() error {
	d.err = d.in.Fail(wire.ErrMalformed, "control flow leads nowhere at block %d: damage, or another program's control flow", d.blocks)
	return d.err
}

// Blocks returns the addresses of the remaining blocks. It ends after the first error.
func (d *Decoder) Blocks() iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for {
			pc, err := d.Next()
			if errors.Is(err, io.EOF) || !yield(pc, err) || err != nil {
				return
			}
		}
	}
}

// chunk reads the next chunk. It returns io.EOF at the end of the stream.
func (d *Decoder) chunk() error {
	tag, err := d.in.ReadByte()
	switch {
	case err != nil:
		return err
	case tag == 0:
		return d.end()
	case tag != 1:
		return d.in.Fail(wire.ErrMalformed, "chunk of kind %d", tag)
	}
	n, err := d.in.Uvarint(maxBody, "length of a chunk")
	if err != nil {
		return err
	}
	if d.body, err = d.in.Append(d.body[:0], n); err != nil {
		return err
	}
	sum, err := d.in.Uint32()
	if err != nil {
		return err
	}
	if sum != crc32.ChecksumIEEE(d.body) {
		return d.in.Fail(wire.ErrChecksum, "chunk")
	}
	p := parser{in: d.body}
	d.parse(&p)
	if p.bad != "" {
		return d.in.Fail(wire.ErrMalformed, "chunk: %s", p.bad)
	}
	d.w.m.dec.Reset(p.in)
	return nil
}

// parse reads a chunk's body up to the code.
func (d *Decoder) parse(p *parser) {
	d.left = p.uvarint(chunkBlocks, "blocks")
	if d.left == 0 {
		p.fail("no blocks")
	}
	marked := p.uvarint(1, "mark of a checkpoint") == 1
	if d.w.cur == nil && !d.from && !marked {
		p.fail("no checkpoint is here")
	}
	if marked {
		d.marks++
		d.state(p)
	}
	n := p.uvarint(chunkExceptions, "exceptions")
	d.except = d.except[:0]
	at, last := uint64(0), uint64(0)
	for range n {
		if p.bad != "" {
			return
		}
		gap := p.uvarint(chunkBlocks, "gap")
		last += uint64(p.varint())
		at += gap + 1
		if at > d.left {
			p.fail("an exception after the end")
		}
		d.except = append(d.except, exception{gap, last})
	}
}

// state restores the state of a checkpoint.
func (d *Decoder) state(p *parser) {
	w := d.w
	w.restart()
	w.cur = w.at(p.uvarint(1<<64-1, "block"))
	if w.cur == nil {
		p.fail("too many unknown blocks")
	}
	w.stack = w.stack[:0]
	last := uint64(0)
	for range p.uvarint(MaxDepth, "frames") {
		if p.bad != "" {
			return
		}
		last += uint64(p.varint())
		w.stack = append(w.stack, frame{ret: last, global: w.m.globalMask})
	}
}

// end reads the end of the stream, after its tag.
func (d *Decoder) end() error {
	start := uint64(d.in.Offset()) - 1
	b := []byte{0}
	sum := crc32.ChecksumIEEE(b)
	take := func(what string) (uint64, error) {
		v, err := d.in.Uvarint(1<<63-1, what)
		b = binary.AppendUvarint(b[:0], v)
		sum = crc32.Update(sum, crc32.IEEETable, b)
		return v, err
	}
	blocks, err := take("blocks")
	if err != nil {
		return err
	}
	n, err := take("checkpoints")
	if err != nil {
		return err
	}
	for range n {
		for _, what := range [...]string{"blocks to a checkpoint", "offset of a checkpoint"} {
			if _, err := take(what); err != nil {
				return err
			}
		}
	}
	got, err := d.in.Uint32()
	if err != nil {
		return err
	}
	if got != sum {
		return d.in.Fail(wire.ErrChecksum, "end")
	}
	offset, err := d.in.Uint64()
	if err != nil {
		return err
	}
	var mark [len(trailer)]byte
	if err := d.in.ReadFull(mark[:]); err != nil {
		return err
	}
	switch {
	case string(mark[:]) != trailer:
		return d.in.Fail(wire.ErrMalformed, "no mark at the end")
	case blocks != d.blocks:
		return d.in.Fail(wire.ErrMalformed, "%d blocks, the end says %d", d.blocks, blocks)
	case d.from && (n != d.marks || offset != start):
		return d.in.Fail(wire.ErrMalformed, "the end does not fit the stream")
	}
	return io.EOF
}

// parser reads numbers from a chunk's body. After an error, every number is 0.
type parser struct {
	in  []byte
	bad string
}

func (p *parser) fail(why string) {
	if p.bad == "" {
		p.bad = why
	}
}

func (p *parser) uvarint(limit uint64, what string) uint64 {
	v, n := binary.Uvarint(p.in)
	if p.bad != "" || n <= 0 || v > limit {
		p.fail("number of " + what)
		return 0
	}
	p.in = p.in[n:]
	return v
}

func (p *parser) varint() int64 {
	v, n := binary.Varint(p.in)
	if p.bad != "" || n <= 0 {
		p.fail("an address")
		return 0
	}
	p.in = p.in[n:]
	return v
}
