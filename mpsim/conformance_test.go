package mpsim

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// conformanceSeeds returns the number of programs. HINDSIGHT_CONFORMANCE=n requests more.
func conformanceSeeds(t *testing.T) int {
	text := os.Getenv("HINDSIGHT_CONFORMANCE")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HINDSIGHT_CONFORMANCE=%q is not a number of programs", text)
	}
	return n
}

// TestConformance runs generated programs under qemu and here, in several ways. All
// registers and fcsr must be equal after every few instructions, and so must the memory at
// the end. Together the programs execute every operation except ebreak, which
// TestTrapsAgainstQemu covers, and those that qemu does not know.
func TestConformance(t *testing.T) {
	need(t, compiler)
	need(t, qemu)
	const chunks = 250
	executed := make(map[rv.Op]int)
	for seed := range uint64(conformanceSeeds(t)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			program := conformanceProgram(seed, chunks)
			elf := assemble(t, source(program, seed))
			want := runQemu(t, elf, "")
			if len(want.stdout) != chunks*recordBytes+blockBytes {
				t.Fatalf("qemu: status %d, %d bytes written\n%s", want.status, len(want.stdout), want.stderr)
			}
			img := load(t, elf)
			seen := coverage{img, executed}
			for way, cfg := range map[string]Config{
				"plain":     {},
				"recorded":  {Observer: seen},
				"quantum=1": {Quantum: 1},
				"random":    {Policy: Random, Seed: seed, Quantum: 50, Observer: seen},
			} {
				cfg.Image = img
				res, got := run(t, cfg)
				if got.status != want.status {
					t.Errorf("%s: status %d, qemu %d: %s %v", way, got.status, want.status, res.Message, res.Fault)
				}
				compareRecords(t, way, program, got.stdout, want.stdout)
			}
		})
	}
	for op := rv.OpInvalid + 1; op < rv.NumOps; op++ {
		if executed[op] == 0 && op != rv.OpEBREAK && !beyondQemu(op) {
			t.Errorf("no program executed %v", op)
		}
	}
}

func assemble(t *testing.T, text string) string {
	t.Helper()
	gcc := need(t, compiler)
	dir := t.TempDir()
	src, elf := filepath.Join(dir, "program.S"), filepath.Join(dir, "program")
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gcc, "-march=rv64gc_zba_zbb_zbc_zbs_zfhmin_zihintpause", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,--no-relax", "-o", elf, src)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	return elf
}

// coverage is an observer that counts the operations of executed blocks.
type coverage struct {
	img      *image.Space
	executed map[rv.Op]int
}

func (c coverage) Define(blocks []event.Block) error {
	for _, b := range blocks {
		code := c.img.Code(b.PC, int(b.Bytes))
		for len(code) >= 2 {
			word := uint32(binary.LittleEndian.Uint16(code))
			if len(code) >= 4 {
				word = binary.LittleEndian.Uint32(code)
			}
			i, ok := rv.Decode(word)
			if !ok || int(i.Len) > len(code) {
				return fmt.Errorf("block at %#x: %#x is no instruction", b.PC, word)
			}
			c.executed[i.Op]++
			code = code[i.Len:]
		}
	}
	return nil
}

func (coverage) Batch(*event.Batch) error   { return nil }
func (coverage) Finish(event.Outcome) error { return nil }

// compareRecords reports the first chunk that differs, with its code.
func compareRecords(t *testing.T, way string, program []chunk, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d bytes written, qemu %d", way, len(got), len(want))
		return
	}
	word := func(s string, at int) uint64 { return binary.LittleEndian.Uint64([]byte(s[at : at+8])) }
	for n, c := range program {
		var diff []string
		for r := range 64 {
			at := n*recordBytes + recordOut + 8*r
			if g, w := word(got, at), word(want, at); g != w {
				diff = append(diff, fmt.Sprintf("%s = %#x, qemu %#x", registerName(r), g, w))
			}
		}
		if diff == nil {
			continue
		}
		var before []string
		for r := range 64 {
			before = append(before, fmt.Sprintf("%s=%#x", registerName(r), word(want, n*recordBytes+8*r)))
		}
		t.Errorf("%s: chunk %d:\n%s\ncode:\n\t%s\nbefore: %s", way, n, strings.Join(diff, "\n"),
			strings.Join(c.lines, "\n\t"), strings.Join(before, " "))
		return
	}
	for at := len(program) * recordBytes; at < len(want); at += 8 {
		if g, w := word(got, at), word(want, at); g != w {
			t.Errorf("%s: memory block at %#x: %#x, qemu %#x", way, at-len(program)*recordBytes, g, w)
			return
		}
	}
}

func registerName(r int) string {
	switch {
	case r == 0:
		return "fcsr"
	case r < 32:
		return fmt.Sprintf("x%d", r)
	}
	return fmt.Sprintf("f%d", r-32)
}
