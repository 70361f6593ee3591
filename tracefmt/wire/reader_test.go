package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

func TestUvarint(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 1 << 32, math.MaxUint64} {
		r := NewReader(bytes.NewReader(binary.AppendUvarint(nil, v)), "test")
		if got, err := r.Uvarint(math.MaxUint64, "it"); err != nil || got != v {
			t.Errorf("%d: got %d, %v", v, got, err)
		}
	}
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"empty":    {nil, ErrTruncated},
		"cut":      {[]byte{0x80}, ErrTruncated},
		"too long": {bytes.Repeat([]byte{0xff}, 11), ErrMalformed},
		"limit":    {[]byte{11}, ErrTooLarge},
	} {
		_, err := NewReader(bytes.NewReader(c.in), "test").Uvarint(10, "it")
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		var e *CorruptError
		if !errors.As(err, &e) || e.Format != "test" {
			t.Errorf("%s: %v is no *CorruptError", name, err)
		}
	}
}

func TestAppendAllocatesWhatArrives(t *testing.T) {
	in := strings.Repeat("x", 3*step)
	r := NewReader(iotest.OneByteReader(strings.NewReader(in)), "test")
	got, err := r.Append([]byte("a"), uint64(len(in)))
	if err != nil || string(got) != "a"+in {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if r.Offset() != int64(len(in)) {
		t.Errorf("offset %d", r.Offset())
	}
	got, err = NewReader(strings.NewReader("abc"), "test").Append(nil, 1<<62)
	if !errors.Is(err, ErrTruncated) || cap(got) > 2*step {
		t.Errorf("%v, capacity %d", err, cap(got))
	}
}

func TestSourceErrorStays(t *testing.T) {
	bad := errors.New("disk on fire")
	_, err := NewReader(iotest.ErrReader(bad), "test").ReadByte()
	if !errors.Is(err, bad) || errors.Is(err, ErrTruncated) {
		t.Errorf("%v", err)
	}
}
