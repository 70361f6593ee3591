package tracefmt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestAppendAll writes the same blocks one by one and together. The files must be equal.
func TestAppendAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var payloads [][]byte
	for i := range 40 {
		b := make([]byte, rng.IntN(200_000))
		for j := range b {
			b[j] = byte(rng.IntN(1 + i*i))
			if j > 1000 && rng.IntN(3) > 0 {
				b[j] = b[j-999]
			}
		}
		payloads = append(payloads, b)
	}
	file := func(together bool) []byte {
		var out bytes.Buffer
		w, err := NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var parts []Part
			for i, b := range payloads {
				parts = append(parts, Part{Kind: KindData, Thread: uint32(i), Payload: func() []byte { return b }})
			}
			for !together && len(parts) > 0 {
				if err := w.Append(parts[0].Kind, parts[0].Thread, parts[0].Payload()); err != nil {
					t.Fatal(err)
				}
				parts = parts[1:]
			}
			if err := errors.Join(w.AppendAll(parts), w.Commit(nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if one, all := file(false), file(true); !bytes.Equal(one, all) {
		t.Errorf("%d bytes one by one, %d together", len(one), len(all))
	}
}

// TestAppendAllFails checks that a payload that is too large is an error, and that the
// blocks after it are not written.
func TestAppendAllFails(t *testing.T) {
	big := make([]byte, MaxPayload+1)
	var parts []Part
	for i := range 6 {
		parts = append(parts, Part{Kind: KindData, Thread: uint32(i), Payload: func() []byte {
			if i == 2 {
				return big
			}
			return fmt.Appendf(nil, "part %d", i)
		}})
	}
	var out bytes.Buffer
	w, err := NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AppendAll(parts); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a payload of %d bytes: %v, want %v", len(big), err, ErrTooLarge)
	}
	if len(w.blocks) != 2 {
		t.Errorf("%d blocks were written, want 2", len(w.blocks))
	}
	if err := w.AppendAll([]Part{{Kind: KindCommit, Payload: func() []byte { return nil }}, parts[0]}); err == nil {
		t.Error("a commit block was taken for one of the epoch")
	}
}
