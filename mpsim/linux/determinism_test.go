package linux

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim/mem"
)

// TestSameCallsSameResults makes the same random calls in two kernels with the same seed
// and compares everything that the guest can see.
func TestSameCallsSameResults(t *testing.T) {
	for seed := range uint64(60) {
		var want, wantOut []byte
		for try := range 2 {
			r := rand.New(rand.NewPCG(seed, 9))
			var out bytes.Buffer
			g := newGuestIn(t, Config{
				Seed: seed, MaxTasks: 8, MaxTempBytes: 1 << 20, Stdin: bytes.NewReader(make([]byte, 1000)), Stdout: &out,
			}, mem.New(mem.Config{MaxBytes: 4 << 20}))
			for i, n := range []string{"/tmp/a", "/tmp/b", "/dev/urandom", "/proc/self/maps", "/", "/proc/cpuinfo", "/tmp"} {
				g.str(g.data+uint64(8+i)*64, n)
			}
			calls := make([]byte, 1500)
			for i := range calls {
				calls[i] = byte(r.Uint32())
			}
			playCalls(g, calls)
			got := visible(t, g)
			if try == 0 {
				want, wantOut = got, out.Bytes()
			} else if !bytes.Equal(got, want) || !bytes.Equal(out.Bytes(), wantOut) {
				t.Fatalf("seed %d: two runs differ", seed)
			}
		}
	}
}

// visible returns the registers of all tasks and all of the guest's memory.
func visible(t *testing.T, g *guest) []byte {
	t.Helper()
	var out []byte
	for v := range g.space.VMAs() {
		out = append(out, v.Prot.String()+v.Name...)
		if v.Prot&mem.Read == 0 || v.Hole || v.Len() > 1<<23 {
			continue
		}
		b := make([]byte, v.Len())
		if f := g.space.Read(v.Start, b); f != nil && f.Cause != mem.OverLimit {
			t.Fatal(f)
		}
		out = append(out, b...)
	}
	for _, task := range g.k.Tasks() {
		if task.ctx != nil {
			for _, x := range task.ctx.X {
				out = append(out, utoa(x)+" "...)
			}
		}
	}
	return out
}
