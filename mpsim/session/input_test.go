package session

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"hindsight/cdr/recorder"
)

// TestKeptInput passes input to a trace in pieces, until it exceeds the limit.
func TestKeptInput(t *testing.T) {
	var opts recorder.Options
	whole := bytes.Repeat([]byte("hindsight"), inputLimit/9+1000)
	std := Streams{In: bytes.NewReader(whole)}
	keepInputIn(&opts, &std)
	read := func(n int) {
		t.Helper()
		if _, err := io.ReadFull(std.In, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	var kept []byte
	for _, n := range []int{1, 100, 1 << 20} {
		read(n)
		blocks := opts.Extra(false)
		if len(blocks) != 1 {
			t.Fatalf("%d blocks", len(blocks))
		}
		kept = append(kept, blocks[0].Payload...)
	}
	if !bytes.Equal(kept, whole[:len(kept)]) || len(kept) != 101+1<<20 {
		t.Errorf("%d bytes were kept, or others", len(kept))
	}
	if blocks := opts.Extra(false); len(blocks) != 0 {
		t.Errorf("%d blocks without input", len(blocks))
	}
	read(len(whole) - len(kept))
	blocks := slices.Concat(opts.Extra(false), opts.Extra(true))
	if n := len(blocks); n != 1 || len(blocks[0].Payload) != 0 || blocks[0].Thread != 3 {
		t.Errorf("of too much input: %d blocks", n)
	}
}
