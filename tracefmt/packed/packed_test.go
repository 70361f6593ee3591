package packed

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"hindsight/tracefmt/wire"
)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func store(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }

func restore(_ Head, r io.Reader) (io.ReadCloser, error) { return io.NopCloser(r), nil }

func pack(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Head{Codec: "store", Params: map[string]string{"a": "1", "b": "x"}}, store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Size() != int64(out.Len()) || w.Length() != uint64(len(b)) {
		t.Fatalf("size %d of %d, length %d of %d", w.Size(), out.Len(), w.Length(), len(b))
	}
	return out.Bytes()
}

func unpack(b []byte) (Head, []byte, error) {
	r, err := NewReader(iotest.HalfReader(bytes.NewReader(b)), restore)
	if err != nil {
		return Head{}, nil, err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	return r.Head(), got, err
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, frameSize - 1, frameSize, frameSize + 1, 5 * frameSize / 2} {
		in := []byte(strings.Repeat("abc", n/3+1))[:n]
		head, got, err := unpack(pack(t, in))
		if err != nil || !bytes.Equal(got, in) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
		if head.Codec != "store" || len(head.Params) != 2 || head.Params["b"] != "x" {
			t.Errorf("head %+v", head)
		}
	}
}

// TestDamage flips each bit and cuts at each length. Every change must be noticed.
func TestDamage(t *testing.T) {
	good := pack(t, []byte(strings.Repeat("hello", 40)))
	check := func(what string, i int, bad []byte) {
		_, _, err := unpack(bad)
		var e *wire.CorruptError
		if !errors.As(err, &e) {
			t.Errorf("%s at %d: %v", what, i, err)
		}
	}
	for i := range good {
		check("cut", i, good[:i])
		bad := bytes.Clone(good)
		bad[i] ^= 1 << rand.IntN(8)
		check("flipped", i, bad)
	}
	check("longer", 0, append(bytes.Clone(good), 0))
}

func TestBadHeads(t *testing.T) {
	for _, h := range []Head{
		{}, {Codec: "UPPER"}, {Codec: strings.Repeat("a", 33)},
		{Codec: "a", Params: map[string]string{"k": "with space"}},
		{Codec: "a", Params: map[string]string{"k=": "v"}},
		{Codec: "a", Params: map[string]string{"": "v"}},
		{Codec: "a", Params: map[string]string{"k": strings.Repeat("v", 5000)}},
	} {
		if _, err := NewWriter(io.Discard, h, store); err == nil {
			t.Errorf("%+v was taken", h)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(pack(f, []byte("hello")))
	f.Add([]byte("HPAK\x01\x05store\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, got, err := unpack(b)
		var e *wire.CorruptError
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		if len(got) > len(b) {
			t.Fatal("grew")
		}
	})
}
