package vpc3

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"hindsight/examples/cross"
	"hindsight/tracefmt/codectest"
	"hindsight/tracefmt/wire"
)

// record appends one PC/ED pair.
func record(dst []byte, pc uint32, ed uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, pc)
	return binary.LittleEndian.AppendUint64(dst, ed)
}

// loops returns n records of nested loops over two arrays with a gather through an index,
// as real programs have.
func loops(n int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var out []byte
	index := make([]uint64, 5000)
	for i := range index {
		index[i] = rnd.Uint64N(4096)
	}
	for i := 0; len(out) < n*RecordSize; i++ {
		row := uint64(i%37) * 800
		for j := uint64(0); j < 100; j++ {
			out = record(out, 0x10400, 0x7fff0000+row+8*j)
			out = record(out, 0x10404, 0x55500000+800*j+row/100)
			if j%3 == 0 {
				out = record(out, 0x10410, 0x66000000+8*index[(uint64(i)*100+j)%5000])
			}
		}
		out = record(out, 0x10440, 0x7ffeff00)
	}
	return out[:n*RecordSize]
}

func pack(t testing.TB, trace []byte, opts Options) []byte {
	t.Helper()
	return codectest.Pack(t, trace, func(w io.Writer) (*Writer, error) { return NewWriter(w, opts) })
}

func unpack(packed []byte) ([]byte, error) { return codectest.Unpack(packed, NewReader) }

func traces() map[string][]byte {
	all := map[string][]byte{
		"empty":    nil,
		"one":      record(nil, 1, 2),
		"zeros":    make([]byte, 1200),
		"loops":    loops(60000),
		"noise":    codectest.Noise(50000),
		"ones":     bytes.Repeat([]byte{0xff}, 12*5000),
		"tail":     append(loops(100), 1, 2, 3),
		"few":      {1, 2, 3},
		"sawtooth": nil,
	}
	var saw []byte
	for i := range 30000 {
		saw = record(saw, uint32(i*4)<<(i%7), uint64(i%97)<<(i%61))
	}
	all["sawtooth"] = saw
	return all
}

func eachOptions(yield func(Options) bool) {
	for profile := range numProfiles {
		for post := range numPosts {
			if profile == Mixed && post != 0 {
				continue
			}
			for _, header := range []int{0, 13} {
				if header != 0 && post != 0 {
					continue
				}
				if !yield(Options{Profile: profile, Post: post, Header: header}) {
					return
				}
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for name, trace := range traces() {
		for opts := range eachOptions {
			got, err := unpack(pack(t, trace, opts))
			if err != nil || !bytes.Equal(got, trace) {
				t.Fatalf("%s %+v: %d bytes became %d, %v", name, opts, len(trace), len(got), err)
			}
		}
	}
}

// TestPieces checks that the pieces in which a trace is written or read make no
// difference, and that a flush only changes the chunks.
func TestPieces(t *testing.T) {
	trace := append(loops(9000), 7)
	for opts := range eachOptions {
		want := pack(t, trace, opts)
		var out, flushed bytes.Buffer
		w, _ := NewWriter(&out, opts)
		f, _ := NewWriter(&flushed, opts)
		rnd := rand.New(rand.NewPCG(5, 6))
		for rest := trace; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(3000))
			if k, err := w.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			if _, err := f.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			if err := f.Flush(); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if w.Close() != nil || f.Close() != nil {
			t.Fatal("close")
		}
		if opts.Post == Store && !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%+v: written in pieces, other bytes", opts)
		}
		for _, b := range [][]byte{out.Bytes(), flushed.Bytes()} {
			r, err := NewReader(iotest.HalfReader(bytes.NewReader(b)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(iotest.OneByteReader(r))
			if err != nil || !bytes.Equal(got, trace) {
				t.Errorf("%+v: %d bytes became %d, %v", opts, len(trace), len(got), err)
			}
		}
	}
}

// TestFlushShows checks that what was written before a flush can be read before more is
// written.
func TestFlushShows(t *testing.T) {
	pr, pw := io.Pipe()
	trace := loops(1000)
	go func() {
		w, _ := NewWriter(pw, Options{})
		_, _ = w.Write(trace[:6000])
		_ = w.Flush()
		<-make(chan struct{}) // nothing more follows
	}()
	r, err := NewReader(pr)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 6000)
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, trace[:6000]) {
		t.Fatal(err)
	}
}

func TestManyChunks(t *testing.T) {
	if !cross.Long() {
		t.Skip("makes 60 MB: set HINDSIGHT_LONG=1")
	}
	regular := loops(chunkRecords + 12345)
	wild := append(append(loops(1000), codectest.Noise(12*400000)...), loops(50000)...) // chunks that end because of their bytes
	for _, opts := range []Options{{}, {Post: Bzip2}, {Post: Store}, {Profile: Mixed}} {
		trace := regular
		if opts.Post == Store {
			trace = wild
		}
		got, err := unpack(pack(t, trace, opts))
		if err != nil || !bytes.Equal(got, trace) {
			t.Errorf("%+v: %d bytes became %d, %v", opts, len(trace), len(got), err)
		}
	}
}

func TestDamage(t *testing.T) {
	trace := append(loops(20000), codectest.Noise(3000)...)
	for _, opts := range []Options{{Header: 5}, {Header: 5, Post: Bzip2}, {Header: 5, Post: Store}, {Header: 5, Profile: Mixed}} {
		post := fmt.Sprintf("%v %v", opts.Profile, opts.Post)
		packed := pack(t, trace, opts)
		for i := range 50 {
			cut := packed[:len(packed)*i/50]
			_, err := unpack(cut)
			var e *wire.CorruptError
			if !errors.As(err, &e) {
				t.Errorf("%v cut at %d: %v", post, len(cut), err)
			}
		}
		rnd := rand.New(rand.NewPCG(7, 8))
		for range 60 {
			bad := bytes.Clone(packed)
			bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
			_, err := unpack(bad) // may go unnoticed, because package packed has the checksum
			var e *wire.CorruptError
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%v flipped: %v", post, err)
			}
		}
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"other":   {[]byte("GZIP...."), wire.ErrMagic},
		"version": {[]byte("VPC3\x63\x00\x00\x00"), wire.ErrVersion},
		"post":    {[]byte("VPC3\x02\x00\x09\x00"), wire.ErrMalformed},
		"header":  {[]byte("VPC3\x02\x00\x00\xff\xff\xff\x7f"), wire.ErrTooLarge},
	} {
		if _, err := unpack(c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, opts := range []Options{{Header: -1}, {Header: MaxHeader + 1}, {Post: 9}, {Profile: 99}, {Profile: Mixed, Post: Bzip2}, {Profile: Mixed, Level: 3}} {
		if _, err := NewWriter(io.Discard, opts); err == nil {
			t.Errorf("%+v was taken", opts)
		}
	}
	for p := range numPosts {
		if q, ok := ParsePost(fmt.Sprint(p)); !ok || q != p {
			t.Errorf("%v", p)
		}
	}
}

// readAnything reads input that may not be a compressed trace. It must return an error of
// the format, or none.
func readAnything(t *testing.T, b []byte) {
	r, err := NewReader(bytes.NewReader(b))
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(r, 1<<22))
		r.Close()
	}
	var e *wire.CorruptError
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
}

func BenchmarkVPC3(b *testing.B) {
	for name, trace := range map[string][]byte{"loops": loops(1 << 20), "noise": codectest.Noise(4 << 20)} {
		for _, opts := range []Options{{}, {Post: Bzip2}, {Profile: Mixed}} {
			packed := pack(b, trace, opts)
			tag := fmt.Sprintf("profile=%v/post=%v/trace=%s", opts.Profile, opts.Post, name)
			b.Run("op=pack/"+tag, func(b *testing.B) {
				b.SetBytes(int64(len(trace)))
				for b.Loop() {
					pack(b, trace, opts)
				}
				b.ReportMetric(float64(len(trace))/float64(len(packed)), "ratio")
			})
			b.Run("op=unpack/"+tag, func(b *testing.B) {
				b.SetBytes(int64(len(trace)))
				for b.Loop() {
					r, err := NewReader(bytes.NewReader(packed))
					if err != nil {
						b.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, r); err != nil {
						b.Fatal(err)
					}
					r.Close()
				}
			})
		}
	}
}
