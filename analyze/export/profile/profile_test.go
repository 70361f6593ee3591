package profile_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"hindsight/analyze/export/profile"
	"hindsight/analyze/internal/recorded"
	"hindsight/cdr"
)

func build(t *testing.T, trace *cdr.Trace, opts profile.Options) *profile.Profile {
	t.Helper()
	img, err := trace.Space()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Build(t.Context(), trace, img, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sums returns the sums of the columns of a profile, read back.
func sums(t *testing.T, p *profile.Profile) (map[string]int64, []byte) {
	t.Helper()
	var out bytes.Buffer
	if err := p.WritePprof(&out); err != nil {
		t.Fatal(err)
	}
	back, err := pprof.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	sum := map[string]int64{}
	for _, s := range back.Sample {
		for i, v := range s.Value {
			sum[back.SampleType[i].Type] += v
		}
	}
	return sum, out.Bytes()
}

// TestSums checks that columns sum up to what the run executed, whether sampled or
// counted one by one.
func TestSums(t *testing.T) {
	trace := recorded.Example(t, "bank", 1)
	var insts, accesses uint64
	for _, th := range trace.Threads() {
		insts, accesses = insts+trace.Insts(th.ID), accesses+th.Accesses
	}
	for _, n := range []uint64{1 << 40, 1000} {
		got, _ := sums(t, build(t, trace, profile.Options{Samples: n, Races: []profile.Race{{Thread: 1, Stack: []uint64{0x10000}, Dynamic: 7}}}))
		if got["instructions"] != int64(insts) || got["accesses"] != int64(accesses) || got["races"] != 7 || got["lock_wait"] == 0 {
			t.Errorf("%d samples: %v, want %d instructions, %d accesses, 7 races", n, got, insts, accesses)
		}
	}
}

// TestExact checks that each basic block has as many instructions as its executions have,
// if they are counted one by one.
func TestExact(t *testing.T) {
	trace := recorded.Example(t, "fig7", 1)
	for _, th := range trace.Threads() {
		want, got := map[uint64]uint64{}, map[uint64]uint64{}
		for pc, err := range trace.Blocks(th.ID) {
			if err != nil {
				t.Fatal(err)
			}
			want[pc]++
		}
		err := trace.Sample(th.ID, cdr.Instructions, 1, func(pcs []uint64, n uint64) error { got[pcs[0]] += n; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("T%d: %d blocks, want %d", th.ID, len(got), len(want))
		}
		for pc, n := range want {
			if got[pc] == 0 || got[pc]%n != 0 {
				t.Errorf("T%d: %d instructions in %d executions of the block at %#x", th.ID, got[pc], n, pc)
			}
		}
	}
}

// TestFolded checks that lines have the form of folded stacks and sum up to the
// instructions.
func TestFolded(t *testing.T) {
	trace := recorded.Example(t, "bank", 1)
	var out bytes.Buffer
	if err := build(t, trace, profile.Options{}).WriteFolded(&out); err != nil {
		t.Fatal(err)
	}
	var sum, want uint64
	for _, th := range trace.Threads() {
		want += trace.Insts(th.ID)
	}
	for line := range strings.Lines(out.String()) {
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseUint(strings.TrimSpace(line[i+1:]), 10, 64)
		if err != nil || !strings.HasPrefix(line, "T") {
			t.Fatalf("line %q: %v", line, err)
		}
		sum += n
	}
	if sum != want || !strings.Contains(out.String(), ";teller;") {
		t.Errorf("sum %d, want %d:\n%s", sum, want, &out)
	}
}

// TestPprof lets pprof itself read a profile.
func TestPprof(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	_, data := sums(t, build(t, recorded.Example(t, "bank", 1), profile.Options{}))
	file := filepath.Join(t.TempDir(), "bank.pb.gz")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"instructions": "receipt", "lock_wait": "transfer"} {
		out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-sample_index="+column, file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("go tool pprof -top of %s: %v\n%s", column, err, fmt.Sprintf("%.2000s", out))
		}
	}
}
