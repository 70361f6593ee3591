package vpc3

import (
	"io"

	"hindsight/tracefmt/wire"
)

// maxCut bounds the compressed bytes of one stream in a chunk: a chunk makes
// little more than chunkBytes before compression, and no post-compressor
// expands much.
const maxCut = chunkBytes + chunkBytes/4

// Reader decompresses a trace as it is read. Bad input gives a *wire.Error.
// Memory is bounded: the predictors' tables, the windows of four
// post-compressors and one compressed chunk, under 96 MB in all.
type Reader struct {
	in      *wire.Reader
	profile Profile
	post    Post
	engine  decoder

	header  uint64 // bytes of the header still to come
	records uint64 // of the chunk still to come
	out     []byte // decoded, not yet handed out
	batch   []byte
	ended   bool
	err     error
}

// decoder is what reads the streams of a profile.
type decoder interface {
	// feed reads the compressed streams of the next chunk, or of the end.
	feed(lengths []uint64) error
	// decode fills whole records, no more than the chunk has.
	decode(records []byte) error
	// finish checks that nothing is left.
	finish() error
	close()
}

func newDecoder(in *wire.Reader, profile Profile, post Post) (decoder, error) {
	if profile == Mixed {
		return &mixedDecoder{in: in}, nil
	}
	return newPaperDecoder(in, post)
}

// streams is how many streams a chunk of the profile has.
func (p Profile) streams() int {
	if p == Mixed {
		return 1
	}
	return numStreams
}

// NewReader reads the head of a compressed trace. The tables are made when the
// first record is wanted.
func NewReader(r io.Reader) (*Reader, error) {
	z := &Reader{in: wire.NewReader(r, "vpc3")}
	var head [len(magic) + 3]byte
	if err := z.in.ReadFull(head[:]); err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, z.in.Fail(wire.ErrMagic, "starts with %q", head[:len(magic)])
	}
	if head[4] != Version {
		return nil, z.in.Fail(wire.ErrVersion, "version %d, this program reads %d", head[4], Version)
	}
	z.profile, z.post = Profile(head[5]), Post(head[6])
	if z.profile >= numProfiles || z.post >= numPosts || z.profile == Mixed && z.post != 0 {
		return nil, z.in.Fail(wire.ErrMalformed, "profile %d, post-compressor %d", head[5], head[6])
	}
	var err error
	if z.header, err = z.in.Uvarint(MaxHeader, "length of the header"); err != nil {
		return nil, err
	}
	z.out = make([]byte, z.header)
	return z, z.in.ReadFull(z.out)
}

// Profile is the set of predictors that the trace was written with.
func (z *Reader) Profile() Profile { return z.profile }

// Post is the post-compressor that the trace was written with.
func (z *Reader) Post() Post { return z.post }

// Read gives the trace, header and tail included.
func (z *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, z.err
	}
	for len(z.out) == 0 {
		if z.err != nil {
			return 0, z.err
		}
		z.err = z.fill()
	}
	n := copy(p, z.out)
	z.out = z.out[n:]
	return n, nil
}

// Close releases the post-compressors. The underlying reader stays open.
func (z *Reader) Close() error {
	if z.engine != nil {
		z.engine.close()
	}
	z.out, z.err = nil, ErrClosed
	return nil
}

// fill makes the next batch of records, or reads the next chunk's head.
func (z *Reader) fill() error {
	if z.ended {
		return io.EOF
	}
	if z.records == 0 {
		return z.chunk()
	}
	n := int(min(z.records, batchRecords))
	z.records -= uint64(n)
	if z.batch == nil {
		z.batch = make([]byte, batchRecords*RecordSize)
	}
	if err := z.engine.decode(z.batch[:n*RecordSize]); err != nil {
		return err
	}
	z.out = z.batch[:n*RecordSize]
	return nil
}

// chunk reads the next chunk's head and its compressed streams, or the end of
// the trace.
func (z *Reader) chunk() error {
	if z.engine == nil {
		var err error
		if z.engine, err = newDecoder(z.in, z.profile, z.post); err != nil {
			return err
		}
	}
	records, err := z.in.Uvarint(chunkRecords, "records of a chunk")
	if err != nil {
		return err
	}
	lengths := make([]uint64, z.profile.streams())
	for i := range lengths {
		if lengths[i], err = z.in.Uvarint(maxCut, "bytes of a stream"); err != nil {
			return err
		}
	}
	if err := z.engine.feed(lengths); err != nil {
		return err
	}
	z.records = records
	if records == 0 {
		return z.end()
	}
	return nil
}

// end reads what stands behind the last chunk.
func (z *Reader) end() error {
	if err := z.engine.finish(); err != nil {
		return err
	}
	n, err := z.in.Uvarint(RecordSize-1, "bytes of a partial record")
	if err != nil {
		return err
	}
	if z.out, err = z.in.Append(nil, n); err != nil {
		return err
	}
	if end, err := z.in.AtEnd(); err != nil {
		return err
	} else if !end {
		return z.in.Fail(wire.ErrMalformed, "bytes behind the end")
	}
	z.ended = true
	return nil
}
