package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hindsight/tracefmt/wire"
)

func TestDecodeRejects(t *testing.T) {
	for _, c := range []struct {
		name   string
		src    []byte
		limits Limits
		want   error
	}{
		{"nothing", nil, Limits{}, wire.ErrTruncated},
		{"version", []byte{2, 0, 0}, Limits{}, wire.ErrVersion},
		{"method", []byte{1, 13, 0}, Limits{}, wire.ErrMalformed},
		{"no length", []byte{1, 0}, Limits{}, wire.ErrTruncated},
		{"length of more than 64 bits", append([]byte{1, 0}, bytes.Repeat([]byte{0xff}, 11)...), Limits{}, wire.ErrMalformed},
		{"default limit", []byte{1, 0, 0x81, 0x80, 0x80, 0x20, 0, 0, 0}, Limits{}, wire.ErrTooLarge},
		{"own limit", []byte{1, 0, 11, 0, 0, 0}, Limits{Values: 10}, wire.ErrTooLarge},
		{"small table", []byte{1, 7, 0, 3, 0, 0, 0, 0, 0}, Limits{}, wire.ErrMalformed},
		{"large table", []byte{1, 7, 0, 13, 0, 0, 0, 0, 0}, Limits{}, wire.ErrMalformed},
		{"form of codes", []byte{1, 1, 1, 2, 0, 1, 1, 5}, Limits{}, wire.ErrMalformed},
		{"form of numbers", []byte{1, 1, 1, 1, 0, 1, 2, 5}, Limits{}, wire.ErrMalformed},
		{"run beyond the end", []byte{1, 1, 1, 1, 2, 1, 1, 5}, Limits{}, wire.ErrMalformed},
		{"hit before any miss", []byte{1, 1, 1, 1, 1, 0, 1}, Limits{}, wire.ErrMalformed},
		{"misses that are not there", []byte{1, 1, 1, 1, 0, 2, 1, 5, 5}, Limits{}, wire.ErrMalformed},
		{"misses left out", []byte{1, 1, 1, 1, 0, 0, 1}, Limits{}, wire.ErrMalformed},
		{"width", []byte{1, 0, 1, 0, 0, 65, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Limits{}, wire.ErrMalformed},
		{"bits end", []byte{1, 0, 3, 0, 0, 8, 1, 1}, Limits{}, wire.ErrTruncated},
		{"numbers end", []byte{1, 0, 3, 1, 1, 1}, Limits{}, wire.ErrTruncated},
		{"length whose bits overflow", append(binary.AppendUvarint([]byte{1, 0}, 1<<58), 0, 0, 64), Limits{Values: 1 << 60}, wire.ErrTooLarge},
		{"huge plain stream without numbers", append(binary.AppendUvarint([]byte{1, 0}, 1<<47), 1), Limits{Values: 1 << 60}, wire.ErrTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := Decode(c.src, c.limits); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestDecodeTruncated(t *testing.T) {
	for _, sm := range samples(100) {
		for m := range numMethods {
			enc := NewWith(m, sm.values).AppendBinary(nil)
			for n := range enc {
				if _, _, err := Decode(enc[:n], Limits{}); !errors.Is(err, wire.ErrTruncated) {
					t.Fatalf("%s, %v: %d of %d bytes: %v", sm.name, m, n, len(enc), err)
				}
			}
		}
	}
}

// FuzzDecode checks that any bytes lead to an error, or to a stream that is the same in
// both directions and after it is written again.
func FuzzDecode(f *testing.F) {
	for _, sm := range samples(60) {
		for m := range numMethods {
			f.Add(NewWith(m, sm.values).AppendBinary(nil))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, rest, err := Decode(src, Limits{Values: 1 << 14})
		if err != nil {
			return
		}
		if len(rest) > len(src) {
			t.Fatal("more is left than there was")
		}
		values := slices.Collect(s.All())
		checkWalks(t, s, values, rand.New(rand.NewPCG(s.n, 1)))
		again, rest, err := Decode(s.AppendBinary(nil), Limits{Values: 1 << 14})
		if err != nil || len(rest) != 0 {
			t.Fatalf("written again: %v, %d bytes left", err, len(rest))
		}
		if !slices.Equal(slices.Collect(again.All()), values) {
			t.Fatal("written again, values differ")
		}
	})
}

// FuzzRoundTrip decodes values from bytes, with a width and a repetition given by the
// first two bytes, and tries every method and the choice.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{1, 4, 1, 2, 3, 1, 2, 3, 1, 2, 3})
	f.Add([]byte{8, 200, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1})
	f.Add([]byte{2, 30, 0, 1, 0, 2, 0, 3, 0, 5})
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) < 2 || len(src) > 1<<10 {
			return
		}
		width, repeat := int(src[0]%8)+1, int(src[1]%40)+1
		var once, values []uint64
		for b := src[2:]; len(b) > 0; b = b[min(width, len(b)):] {
			var w [8]byte
			copy(w[:], b[:min(width, len(b))])
			once = append(once, binary.LittleEndian.Uint64(w[:]))
		}
		for range repeat {
			values = append(values, once...)
		}
		for m := range numMethods + 1 {
			s := New(values)
			if m < numMethods {
				s = NewWith(m, values)
			}
			back, rest, err := Decode(s.AppendBinary(nil), Limits{})
			if err != nil || len(rest) != 0 {
				t.Fatalf("%v: %v, %d bytes left", m, err, len(rest))
			}
			checkWalks(t, back, values, rand.New(rand.NewPCG(uint64(len(values)), 2)))
			if n := s.Method().order(); n > 0 && len(values) <= 300 && len(values) > 0 {
				sameStates(t, s, newMachine(n, int(s.bits), symbolsOf(s.Method(), values)))
			}
		}
	})
}
