package vpc3

import (
	"fmt"
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
	model   model
	streams [numStreams]unpacker
	cuts    [numStreams][]byte
	buffers [numStreams][]byte

	header  uint64 // bytes of the header still to come
	records uint64 // of the chunk still to come
	out     []byte // decoded, not yet handed out
	batch   []byte
	ended   bool
	err     error
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
	if z.profile >= numProfiles || z.post >= numPosts {
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
	for _, s := range z.streams {
		if s != nil {
			s.close()
		}
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
	if err := z.need(n); err != nil {
		return err
	}
	z.model.decode(z.batch[:n*RecordSize], &z.buffers)
	z.out = z.batch[:n*RecordSize]
	return nil
}

// need reads from the streams what n records take.
func (z *Reader) need(n int) error {
	for i, width := range [numStreams / 2]int{4, 8} {
		ids, none := 2*i, byte(pcNone)
		if i == 1 {
			none = edNone
		}
		if err := z.take(ids, n); err != nil {
			return err
		}
		missed := 0
		for _, id := range z.buffers[ids] {
			if id >= none {
				if id > none {
					return z.in.Fail(wire.ErrMalformed, "predictor %d in stream %d", id, ids)
				}
				missed++
			}
		}
		if err := z.take(ids+1, missed*width); err != nil {
			return err
		}
	}
	return nil
}

// take reads n bytes of a stream into its buffer.
func (z *Reader) take(stream, n int) error {
	if cap(z.buffers[stream]) < n {
		z.buffers[stream] = make([]byte, max(n, batchRecords))
	}
	b := z.buffers[stream][:n]
	z.buffers[stream] = b
	if n == 0 {
		return nil
	}
	if _, err := io.ReadFull(z.streams[stream], b); err != nil {
		return z.damaged(stream, err)
	}
	return nil
}

func (z *Reader) damaged(stream int, err error) error {
	return z.in.Fail(wire.ErrMalformed, "stream %d, in the chunk that ends here: %v", stream, err)
}

// chunk reads the next chunk's head and its compressed streams, or the end of
// the trace.
func (z *Reader) chunk() error {
	if z.model == nil {
		var err error
		if z.model, err = newModel(z.profile); err != nil {
			return err
		}
		for i := range z.streams {
			if z.streams[i], err = newUnpacker(z.post); err != nil {
				return err
			}
		}
	}
	records, err := z.in.Uvarint(chunkRecords, "records of a chunk")
	if err != nil {
		return err
	}
	var lengths [numStreams]uint64
	for i := range lengths {
		if lengths[i], err = z.in.Uvarint(maxCut, "bytes of a stream"); err != nil {
			return err
		}
	}
	for i, n := range lengths {
		if err := z.streams[i].settle(); err != nil {
			return z.damaged(i, err)
		}
		left := z.streams[i].left()
		if len(left) > maxLeft {
			return z.in.Fail(wire.ErrMalformed, "%d bytes of stream %d belong to no record", len(left), i)
		}
		if z.cuts[i], err = z.in.Append(append(z.cuts[i][:0], left...), n); err != nil {
			return err
		}
		z.streams[i].feed(z.cuts[i])
	}
	z.records = records
	if records == 0 {
		return z.end()
	}
	return nil
}

// maxLeft is how many compressed bytes a chunk may leave unread: the marks of
// empty blocks.
const maxLeft = 64

// end reads what stands behind the last chunk.
func (z *Reader) end() error {
	for i, s := range z.streams {
		var b [1]byte
		if n, err := s.Read(b[:]); n != 0 || err != io.EOF {
			return z.damaged(i, fmt.Errorf("does not end with the trace (%v)", err))
		}
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
