package sequitur

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"hindsight/examples/cross"
	"hindsight/tracefmt/codectest"
	"hindsight/tracefmt/wire"
)

func pack(t testing.TB, in []byte, widths ...int) []byte {
	t.Helper()
	return codectest.Pack(t, in, func(w io.Writer) (*Writer, error) { return NewWriter(w, widths) })
}

func unpack(b []byte) ([]byte, error) { return codectest.Unpack(b, NewReader) }

func TestRoundTrip(t *testing.T) {
	for name, in := range map[string][]byte{
		"empty": nil, "short": {1, 2, 3}, "zeros": make([]byte, 100003),
		"period": bytes.Repeat([]byte("abcdefghijkl12345678"), 999), "noise": codectest.Noise(50001),
	} {
		for _, widths := range [][]int{{1}, {4}, {8}, {4, 8}, {3, 5, 7}} {
			got, err := unpack(pack(t, in, widths...))
			if err != nil || !bytes.Equal(got, in) {
				t.Errorf("%s %v: %d bytes became %d, %v", name, widths, len(in), len(got), err)
			}
		}
	}
}

func TestChunks(t *testing.T) {
	if !cross.Long() {
		t.Skip("a million distinct values: set HINDSIGHT_LONG=1")
	}
	in := make([]byte, 0, 8*(maxValues+1000))
	for i := range maxValues + 1000 {
		in = append(in, byte(i), byte(i>>8), byte(i>>16), 0, 0, 0, 0, 1)
	}
	got, err := unpack(pack(t, in, 8))
	if err != nil || !bytes.Equal(got, in) {
		t.Errorf("%d bytes became %d, %v", len(in), len(got), err)
	}
}

func TestColumns(t *testing.T) {
	for _, widths := range [][]int{nil, {0}, {9}, make([]int, 17)} {
		if _, err := NewWriter(io.Discard, widths); err == nil {
			t.Errorf("%v was taken", widths)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(pack(f, bytes.Repeat([]byte("abcdefghijkl"), 50), 4, 8))
	f.Add(pack(f, []byte{1, 2, 3}, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := unpack(b)
		var e *wire.CorruptError
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
	})
}
