package app

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"hindsight/tracefmt/codectest"
	"hindsight/tracefmt/wire"
)

func packLeaders(t testing.TB, s Shell, o Options, trace []byte) []byte {
	t.Helper()
	return codectest.Pack(t, trace, func(w io.Writer) (*LeadersWriter, error) { return NewLeadersWriter(w, s, o) })
}

func unpackLeaders(packed []byte) ([]byte, error) { return codectest.Unpack(packed, NewLeadersReader) }

// leadersOf returns the trace of a walk with a data word here and there.
func leadersOf(rng *rand.Rand, pcs []uint64, data int) (trace []byte) {
	for _, pc := range pcs {
		trace = binary.LittleEndian.AppendUint64(trace, pc|leaderBit)
		for data > 0 && rng.IntN(100) < data {
			trace = binary.LittleEndian.AppendUint64(trace, rng.Uint64()>>1)
		}
	}
	return trace
}

// evenShell returns a shell whose blocks have even addresses.
func evenShell(rng *rand.Rand) mapShell {
	even := mapShell{}
	for pc, b := range randomShell(rng) {
		c := Block{Kind: b.Kind, Return: 2 * b.Return, Func: b.Func}
		for _, t := range b.Targets {
			c.Targets = append(c.Targets, 2*t)
		}
		even[2*pc] = c
	}
	return even
}

// TestLeaders checks that any trace is restored without the program, and that a trace
// that follows the program's control flow takes little space.
func TestLeaders(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s, o := evenShell(rng), randomOptions(rng)
		o.Functions = nil
		data := []int{0, 30, 90}[seed%3]
		trace := leadersOf(rng, walk(rng, s, 5000, 3), data)
		trace = append(trace, trace[:seed%8]...)
		packed := packLeaders(t, s, o, trace)
		if got, err := unpackLeaders(packed); err != nil || !bytes.Equal(got, trace) {
			t.Fatalf("seed %d: %d bytes, want %d: %v", seed, len(got), len(trace), err)
		}
		if data == 0 && o.Checkpoint == 0 && len(packed) > len(trace)/4 {
			t.Errorf("seed %d: %d bytes of %d", seed, len(packed), len(trace))
		}
	}
}

// TestLeadersWords packs, in bounded memory, a trace without leaders and one in which
// leaders are rare.
func TestLeadersWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	trace := make([]byte, 12<<20)
	for i := range trace {
		trace[i] = byte(rng.IntN(4))
	}
	for _, every := range []int{0, 1 << 20} {
		for i := 0; every > 0 && i+8 < len(trace); i += every {
			binary.LittleEndian.PutUint64(trace[i:], 0x1000|leaderBit)
		}
		if got, err := unpackLeaders(packLeaders(t, mapShell{}, Options{}, trace)); err != nil || !bytes.Equal(got, trace) {
			t.Fatalf("every %d: %d bytes: %v", every, len(got), err)
		}
	}
}

// TestLeadersDamage checks that every truncation and many changed bytes lead to an error
// or to the same trace.
func TestLeadersDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	s := evenShell(rng)
	trace := leadersOf(rng, walk(rng, s, 300, 3), 20)
	packed := packLeaders(t, s, Options{Local: 2, Global: 2}, trace)
	for i := range packed {
		if _, err := unpackLeaders(packed[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
		bad := bytes.Clone(packed)
		bad[i] ^= 1 << rng.IntN(8)
		if got, err := unpackLeaders(bad); err == nil && !bytes.Equal(got, trace) {
			t.Errorf("byte %d changed: another trace and no error", i)
		}
	}
}

func FuzzLeadersReader(f *testing.F) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 6))
		s := evenShell(rng)
		f.Add(packLeaders(f, s, Options{Local: 2, Global: 2, Scheme: Scheme(seed % 2)}, leadersOf(rng, walk(rng, s, 100, 5), int(seed)*20)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e *wire.CorruptError
		r, err := NewLeadersReader(bytes.NewReader(data))
		if err == nil {
			defer r.Close()
			_, err = io.Copy(io.Discard, io.LimitReader(r, 64<<20))
		}
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%v is no *wire.CorruptError", err)
		}
	})
}

func FuzzLeaders(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3, 4, 5, 6, 0x80, 1, 2})
	f.Fuzz(func(t *testing.T, shell uint64, trace []byte) {
		s := evenShell(rand.New(rand.NewPCG(shell, 0)))
		if got, err := unpackLeaders(packLeaders(t, s, Options{Local: 1, Global: 1}, trace)); err != nil || !bytes.Equal(got, trace) {
			t.Fatalf("%x, want %x: %v", got, trace, err)
		}
	})
}
