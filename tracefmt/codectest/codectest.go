// Package codectest drives the codecs of raw traces in tests: those of packages vpc3, ldr
// and app, and of the commands' codecs.
package codectest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// Pack writes a trace to a codec's writer, in pieces of many lengths.
func Pack[W io.WriteCloser](t testing.TB, trace []byte, begin func(io.Writer) (W, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	for rest := trace; len(rest) > 0; {
		n := min(len(rest), 1+len(rest)%4099)
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// maxUnpacked limits the size of an unpacked trace.
const maxUnpacked = 1 << 28

// Unpack reads everything from a codec's reader.
func Unpack[R io.ReadCloser](packed []byte, begin func(io.Reader) (R, error)) ([]byte, error) {
	r, err := begin(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxUnpacked))
}

// Noise returns n random bytes, always the same.
func Noise(n int) []byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(rnd.Uint32())
	}
	return out
}
