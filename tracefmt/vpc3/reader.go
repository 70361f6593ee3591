package vpc3

import (
	"io"

	"hindsight/tracefmt/wire"
)

// maxCut limits the compressed bytes of one stream in a chunk. A chunk has little more
// than chunkBytes before compression, and no post-compressor expands data much.
const maxCut = chunkBytes + chunkBytes/4

// Reader decompresses a trace as it is read. For bad input the error is a
// *wire.CorruptError. Memory is bounded: the predictors' tables, the windows of four
// post-compressors and one compressed chunk take less than 96 MB in total.
type Reader struct {
	wire.Stream
	in      *wire.Reader
	profile Profile
	post    Post
	engine  decoder

	header  []byte // of the trace, until it has been returned
	records uint64 // remaining records of the chunk
	batch   []byte
	ended   bool
}

// decoder reads the streams of a profile.
type decoder interface {
	// feed reads the compressed streams of the next chunk, or of the end.
	feed(lengths []uint64) error
	// decode fills whole records, at most as many as the chunk has.
	decode(records []byte) error
	// finish checks that no input remains.
	finish() error
	close()
}

func newDecoder(in *wire.Reader, profile Profile, post Post) (decoder, error) {
	if profile == Mixed {
		return &mixedDecoder{in: in}, nil
	}
	return newPaperDecoder(in, post)
}

// streams returns the number of streams in a chunk of the profile.
func (p Profile) streams() int {
	if p == Mixed {
		return 1
	}
	return numStreams
}

// NewReader reads the head of a compressed trace. The tables are created when the first
// record is read.
func NewReader(r io.Reader) (*Reader, error) {
	z := &Reader{in: wire.NewReader(r, "vpc3")}
	z.Fill = z.fill
	if err := z.in.Head(magic, Version); err != nil {
		return nil, err
	}
	var how [2]byte
	if err := z.in.ReadFull(how[:]); err != nil {
		return nil, err
	}
	z.profile, z.post = Profile(how[0]), Post(how[1])
	if z.profile >= numProfiles || z.post >= numPosts || z.profile == Mixed && z.post != 0 {
		return nil, z.in.Fail(wire.ErrMalformed, "profile %d, post-compressor %d", how[0], how[1])
	}
	n, err := z.in.Uvarint(MaxHeader, "length of the header")
	if err != nil {
		return nil, err
	}
	if z.header, err = z.in.Append(nil, n); err != nil {
		return nil, err
	}
	return z, nil
}

// Profile returns the set of predictors with which the trace was written.
func (z *Reader) Profile() Profile { return z.profile }

// Post returns the post-compressor with which the trace was written.
func (z *Reader) Post() Post { return z.post }

// Close releases the post-compressors. The underlying reader stays open.
func (z *Reader) Close() error {
	if z.engine != nil {
		z.engine.close()
	}
	z.Stop(ErrClosed)
	return nil
}

// fill decodes the next batch of records, or reads the next chunk's head.
func (z *Reader) fill() ([]byte, error) {
	if z.header != nil {
		b := z.header
		z.header = nil
		return b, nil
	}
	if z.ended {
		return nil, io.EOF
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
		return nil, err
	}
	return z.batch[:n*RecordSize], nil
}

// chunk reads the next chunk's head and its compressed streams, or the end of
// the trace.
func (z *Reader) chunk() ([]byte, error) {
	if z.engine == nil {
		var err error
		if z.engine, err = newDecoder(z.in, z.profile, z.post); err != nil {
			return nil, err
		}
	}
	records, err := z.in.Uvarint(chunkRecords, "records of a chunk")
	if err != nil {
		return nil, err
	}
	lengths := make([]uint64, z.profile.streams())
	for i := range lengths {
		if lengths[i], err = z.in.Uvarint(maxCut, "bytes of a stream"); err != nil {
			return nil, err
		}
	}
	if err := z.engine.feed(lengths); err != nil {
		return nil, err
	}
	z.records = records
	if records == 0 {
		return z.end()
	}
	return nil, nil
}

// end reads what follows the last chunk.
func (z *Reader) end() ([]byte, error) {
	if err := z.engine.finish(); err != nil {
		return nil, err
	}
	z.ended = true
	return z.in.Tail(RecordSize)
}
