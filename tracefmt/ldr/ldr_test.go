package ldr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"hindsight/tracefmt/codectest"
	"hindsight/tracefmt/wire"
)

// traceWriter builds block-leader traces.
type traceWriter struct{ b []byte }

func (t *traceWriter) block(leader uint64, data ...uint64) {
	t.b = binary.LittleEndian.AppendUint64(t.b, leader|leaderBit)
	for _, d := range data {
		t.b = binary.LittleEndian.AppendUint64(t.b, d)
	}
}

// vectors returns the trace of the abstract's first example, a[j] = b[j] * c[j], with an
// additional constant reference.
func vectors(n int) []byte {
	var t traceWriter
	t.block(0x1000, 0x7ff0)
	for j := range uint64(n) {
		t.block(0x1010, 0x20000+4*j, 0x30000+4*j, 0x7ff8, 0x10000+4*j)
	}
	t.block(0x1020)
	return t.b
}

// searches returns the trace of its second example, a[j] = d[bsearch(a[j])].
func searches(n int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var t traceWriter
	for j := range uint64(n) {
		t.block(0x1000, 0x10000+4*j)
		key, lo, hi := rnd.Uint64N(1024), uint64(0), uint64(1024)
		for lo+1 < hi {
			mid := (lo + hi) / 2
			t.block(0x2000, 0x40000+4*mid)
			if key < mid {
				hi = mid
				t.block(0x2010)
			} else {
				lo = mid
				t.block(0x2020)
			}
		}
		t.block(0x1010, 0x50000+8*lo, 0x10000+4*j)
	}
	return t.b
}

// matrices returns the trace of a triple loop.
func matrices(n uint64) []byte {
	var t traceWriter
	for i := range n {
		t.block(0x1000)
		for j := range n {
			t.block(0x1010, 0x7f00)
			for k := range n {
				t.block(0x1020, 0x10000+8*(i*n+k), 0x80000+8*(k*n+j))
			}
			t.block(0x1030, 0x100000+8*(i*n+j))
		}
		t.block(0x1040)
	}
	return t.b
}

// walk returns the trace of a random walk over a small graph with random data.
func walk(n int, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var t traceWriter
	x := uint64(0)
	for range n {
		data := make([]uint64, x%4)
		for i := range data {
			if rnd.IntN(3) > 0 {
				data[i] = 0x5000 + x*64
			} else {
				data[i] = rnd.Uint64() >> 1
			}
		}
		t.block(0x1000+16*x, data...)
		if rnd.IntN(4) > 0 {
			x = (x + 1) % 13
		} else {
			x = rnd.Uint64N(13)
		}
	}
	return t.b
}

func traces() map[string][]byte {
	return map[string][]byte{
		"empty":       nil,
		"short":       {1, 2, 3},
		"no leader":   make([]byte, 8*1000),
		"leaders":     bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, 1000),
		"vectors":     vectors(5000),
		"searches":    searches(300),
		"matrices":    matrices(20),
		"walk":        walk(20000, 1),
		"noise":       codectest.Noise(8*20000 + 5),
		"wild window": walk(100, 7),
	}
}

func pack(t testing.TB, trace []byte, opts Options) []byte {
	t.Helper()
	return codectest.Pack(t, trace, func(w io.Writer) (*Writer, error) { return NewWriter(w, opts) })
}

func unpack(packed []byte) ([]byte, error) { return codectest.Unpack(packed, NewReader) }

func TestRoundTrip(t *testing.T) {
	for name, trace := range traces() {
		for _, opts := range []Options{{}, {Plain: true}, {Window: 1}, {Window: 7, Plain: true}, {Window: maxWindow}} {
			got, err := unpack(pack(t, trace, opts))
			if err != nil || !bytes.Equal(got, trace) {
				t.Errorf("%s %+v: %d bytes became %d, %v", name, opts, len(trace), len(got), err)
			}
		}
	}
}

// TestAbstract checks what the abstract says of its examples. A loop over vectors takes a
// few numbers, however long it is. In the search, the reference to a is loop-varying, and
// the rest is not reduced.
func TestAbstract(t *testing.T) {
	short, long := len(pack(t, vectors(100), Options{Plain: true})), len(pack(t, vectors(10000), Options{Plain: true}))
	if long > short+8 || long > 120 {
		t.Errorf("100 iterations take %d bytes, 10,000 take %d", short, long)
	}
	nest := len(pack(t, matrices(24), Options{Plain: true}))
	if nest > 250 {
		t.Errorf("a triple loop of 24³ iterations takes %d bytes", nest)
	}
	trace := searches(1000)
	if n := len(pack(t, trace, Options{Plain: true})); n > len(trace)/4 {
		t.Errorf("searches: %d of %d bytes", n, len(trace))
	}
}

func TestFlush(t *testing.T) {
	trace := append(walk(3000, 5), 1, 2, 3)
	for _, opts := range []Options{{}, {Plain: true}} {
		var out bytes.Buffer
		w, err := NewWriter(&out, opts)
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(5, 6))
		for rest := trace; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(900))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(iotest.HalfReader(&out))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(iotest.OneByteReader(r))
		if err != nil || !bytes.Equal(got, trace) {
			t.Errorf("%+v: %d bytes became %d, %v", opts, len(trace), len(got), err)
		}
	}
}

// TestTableReset uses traces with more shapes than the table holds.
func TestTableReset(t *testing.T) {
	var tr traceWriter
	for i := range uint64(3 * maxShapes) {
		tr.block(0x1000+4*i, i)
	}
	trace := slices.Concat(tr.b, walk(60000, 3))
	got, err := unpack(pack(t, trace, Options{}))
	if err != nil || !bytes.Equal(got, trace) {
		t.Errorf("%d bytes became %d, %v", len(trace), len(got), err)
	}
}

func TestDamage(t *testing.T) {
	for _, opts := range []Options{{}, {Plain: true}} {
		packed := pack(t, append(matrices(9), walk(2000, 1)...), opts)
		for i := range 50 {
			_, err := unpack(packed[:len(packed)*i/50])
			var e *wire.CorruptError
			if !errors.As(err, &e) {
				t.Errorf("%+v cut at %d/50: %v", opts, i, err)
			}
		}
		rnd := rand.New(rand.NewPCG(7, 8))
		for range 300 {
			bad := bytes.Clone(packed)
			bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
			_, err := unpack(bad)
			var e *wire.CorruptError
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%+v flipped: %v", opts, err)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, opts := range []Options{{Window: -1}, {Window: maxWindow + 1}} {
		if _, err := NewWriter(io.Discard, opts); err == nil {
			t.Errorf("%+v was taken", opts)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(pack(f, vectors(20), Options{Plain: true}))
	f.Add(pack(f, matrices(4), Options{Plain: true}))
	f.Add(pack(f, walk(50, 1), Options{Plain: true}))
	f.Add(pack(f, walk(50, 1), Options{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b))
		if err == nil {
			_, err = io.Copy(io.Discard, io.LimitReader(r, 1<<22))
			r.Close()
		}
		var e *wire.CorruptError
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(vectors(20), 5)
	f.Add(walk(60, 1), 100)
	f.Fuzz(func(t *testing.T, b []byte, window int) {
		got, err := unpack(pack(t, b, Options{Plain: true, Window: 1 + window&0xff}))
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d bytes became %d, %v", len(b), len(got), err)
		}
	})
}

func BenchmarkLDR(b *testing.B) {
	for name, trace := range map[string][]byte{"matrices": matrices(80), "searches": searches(20000), "walk": walk(400000, 1)} {
		packed := pack(b, trace, Options{})
		b.Run("op=pack/trace="+name, func(b *testing.B) {
			b.SetBytes(int64(len(trace)))
			for b.Loop() {
				pack(b, trace, Options{})
			}
			b.ReportMetric(float64(len(trace))/float64(len(packed)), "ratio")
		})
		b.Run("op=unpack/trace="+name, func(b *testing.B) {
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
