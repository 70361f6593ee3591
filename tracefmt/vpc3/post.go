package vpc3

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	dsbzip2 "github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/zstd"
)

// Post is the post-compressor of the streams.
type Post uint8

const (
	// Zstd compresses each stream with one long-lived window.
	Zstd Post = iota
	// Bzip2 is what the paper uses. Each stream of each chunk is independent.
	Bzip2
	// Store leaves the streams as they are.
	Store
	numPosts
)

func (p Post) String() string {
	switch p {
	case Zstd:
		return "zstd"
	case Bzip2:
		return "bzip2"
	case Store:
		return "store"
	}
	return fmt.Sprintf("post-%d", uint8(p))
}

// ParsePost returns the post-compressor with a name.
func ParsePost(name string) (Post, bool) {
	for p := range numPosts {
		if p.String() == name {
			return p, true
		}
	}
	return 0, false
}

// zstdWindow limits the memory of a decoder for each stream.
const zstdWindow = 4 << 20

// packer compresses one stream. cut returns the bytes that a decoder needs, after those
// of the earlier cuts, to read everything written so far. They are valid until the next
// call.
type packer interface {
	io.Writer
	cut(last bool) ([]byte, error)
}

func newPacker(p Post, level int) (packer, error) {
	switch p {
	case Zstd:
		z := new(zstdPacker)
		l := zstd.SpeedBetterCompression
		if level != 0 {
			l = zstd.EncoderLevelFromZstd(level)
		}
		enc, err := zstd.NewWriter(&z.out, zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("vpc3: %w", err)
		}
		z.enc = enc
		return z, nil
	case Bzip2:
		return new(bzip2Packer), nil
	case Store:
		return new(storePacker), nil
	}
	return nil, fmt.Errorf("vpc3: unknown post-compressor %d", p)
}

type zstdPacker struct {
	enc  *zstd.Encoder
	out  bytes.Buffer
	some bool // something was written since the last cut
}

func (z *zstdPacker) Write(p []byte) (int, error) {
	z.some = z.some || len(p) > 0
	return z.enc.Write(p)
}

func (z *zstdPacker) cut(last bool) ([]byte, error) {
	var err error
	if last {
		err = z.enc.Close()
	} else if z.some {
		err = z.enc.Flush()
	}
	z.some = false
	b := z.out.Bytes()
	z.out.Reset()
	return b, err
}

type bzip2Packer struct {
	enc  *dsbzip2.Writer
	out  bytes.Buffer
	some bool
}

func (z *bzip2Packer) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !z.some {
		z.some = true
		var err error
		if z.enc == nil {
			z.enc, err = dsbzip2.NewWriter(&z.out, &dsbzip2.WriterConfig{Level: dsbzip2.BestCompression})
		} else {
			err = z.enc.Reset(&z.out)
		}
		if err != nil {
			return 0, err
		}
	}
	return z.enc.Write(p)
}

func (z *bzip2Packer) cut(bool) ([]byte, error) {
	var err error
	if z.some {
		err = z.enc.Close()
	}
	z.some = false
	b := z.out.Bytes()
	z.out.Reset()
	return b, err
}

type storePacker struct{ out bytes.Buffer }

func (s *storePacker) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s *storePacker) cut(bool) ([]byte, error) {
	b := s.out.Bytes()
	s.out.Reset()
	return b, nil
}

// unpacker reads one stream back. feed supplies the next bytes.
type unpacker interface {
	io.Reader
	feed(b []byte)
	settle() error // all of the input should have been read
	left() []byte  // compressed bytes that were not read: the mark of an empty block, if any
	close()
}

func newUnpacker(p Post) (unpacker, error) {
	switch p {
	case Zstd:
		return new(zstdUnpacker), nil
	case Bzip2:
		return new(bzip2Unpacker), nil
	case Store:
		return new(storeUnpacker), nil
	}
	return nil, fmt.Errorf("vpc3: unknown post-compressor %d", p)
}

// segment is the compressed input of one stream.
type segment struct{ b []byte }

func (s *segment) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.b)
	s.b = s.b[n:]
	return n, nil
}

func (s *segment) feed(b []byte) { s.b = b }

func (s *segment) left() []byte { return s.b }

func (*segment) settle() error { return nil }

// ReadByte is there so that decoders need no buffer of their own.
func (s *segment) ReadByte() (byte, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	b := s.b[0]
	s.b = s.b[1:]
	return b, nil
}

type storeUnpacker struct{ segment }

func (*storeUnpacker) close() {}

type zstdUnpacker struct {
	segment
	dec *zstd.Decoder
}

func (z *zstdUnpacker) Read(p []byte) (int, error) {
	if z.dec == nil {
		dec, err := zstd.NewReader(&z.segment, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow*2))
		if err != nil {
			return 0, err
		}
		z.dec = dec
	}
	return z.dec.Read(p)
}

func (z *zstdUnpacker) close() {
	if z.dec != nil {
		z.dec.Close()
	}
}

type bzip2Unpacker struct {
	segment
	dec io.Reader
}

func (z *bzip2Unpacker) Read(p []byte) (int, error) {
	if z.dec == nil {
		if len(z.b) == 0 {
			return 0, io.EOF
		}
		z.dec = bzip2.NewReader(&z.segment)
	}
	return z.dec.Read(p)
}

func (z *bzip2Unpacker) feed(b []byte) {
	z.b, z.dec = b, nil
}

// settle reads to the end, where the checksum is.
func (z *bzip2Unpacker) settle() error {
	var b [1]byte
	n, err := z.Read(b[:])
	if n != 0 {
		return errors.New("holds more than the records take")
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (*bzip2Unpacker) close() {}
