package fpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/examples/cross"
)

// tool returns the path of a program of the RISC-V toolchain. Without it, the test is
// skipped, or fails if the environment says that it must be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
		t.Fatalf("%s is required: %v", name, err)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

const oraclePrologue = `#include <stdint.h>
#include <stdio.h>
struct in { uint64_t op, rm, fl, v[3]; };
struct out { uint64_t r, fl; };
#define CASE(n, insn) case n: asm volatile( \
	"fsrm %2\n\tfsflags %3\n\tfmv.d.x ft0,%4\n\tfmv.d.x ft1,%5\n\tfmv.d.x ft2,%6\n\tmv t0,%4\n\t" insn \
	: "=r"(o.r), "=r"(o.fl) : "r"(i.rm), "r"(i.fl), "r"(i.v[0]), "r"(i.v[1]), "r"(i.v[2]) \
	: "ft0", "ft1", "ft2", "ft3", "t0", "t1"); break;
#define F "\n\tfmv.x.d t1,ft3\n\tfrflags t0\n\tmv %0,t1\n\tmv %1,t0"
#define X "\n\tfrflags t0\n\tmv %0,t1\n\tmv %1,t0"
int main(void)
{
	struct in i; struct out o;
	while (fread(&i, sizeof i, 1, stdin) == 1) {
		switch (i.op) {
`

const oracleEpilogue = `		default: return 2;
		}
		if (fwrite(&o, sizeof o, 1, stdout) != 1) return 3;
	}
	return 0;
}
`

func oracle(t *testing.T, ops []operation) string {
	t.Helper()
	gcc := tool(t, "riscv64-linux-gnu-gcc")
	var src strings.Builder
	src.WriteString(oraclePrologue)
	for n, o := range ops {
		end := "X"
		if strings.Contains(o.asm, "ft3") {
			end = "F"
		}
		asm := o.asm
		if strings.HasPrefix(asm, "fcvt.s.w") || strings.HasPrefix(asm, "fcvt.s.l") || strings.HasPrefix(asm, "fcvt.d.l") {
			asm += ",dyn"
		}
		fmt.Fprintf(&src, "\t\tCASE(%d, %q %s)\n", n, asm, end)
	}
	src.WriteString(oracleEpilogue)
	dir := t.TempDir()
	c, elf := filepath.Join(dir, "oracle.c"), filepath.Join(dir, "oracle")
	if err := os.WriteFile(c, []byte(src.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-O1", "-static", "-o", elf, c).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return elf
}

type try struct {
	op, rm, fl uint64
	v          [3]uint64
}

// TestAgainstQemu runs every operation on the same operands here and in a program under
// qemu. Results and accrued flags must be equal.
func TestAgainstQemu(t *testing.T) {
	qemu := tool(t, "qemu-riscv64-static")
	ops := operations()
	elf := oracle(t, ops)
	each := 10_000
	if !cross.Long() {
		each = 1000
	}
	r := rand.New(rand.NewPCG(3, 4))
	var tries []try
	for n := range ops {
		for range each {
			x := try{op: uint64(n), v: ops[n].operands(r)}
			if r.IntN(2) == 0 {
				x.rm = uint64(r.IntN(5))
			}
			if r.IntN(2) == 0 {
				x.fl = uint64(r.IntN(32))
			}
			tries = append(tries, x)
		}
	}
	var in, out bytes.Buffer
	if err := binary.Write(&in, binary.LittleEndian, tries); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(qemu, elf)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	want := make([]struct{ R, Fl uint64 }, len(tries))
	if err := binary.Read(&out, binary.LittleEndian, want); err != nil {
		t.Fatal(err)
	}
	failed := make(map[uint64]int)
	for n, x := range tries {
		fl := uint8(x.fl)
		got := ops[x.op].fast(x.v[0], x.v[1], x.v[2], uint8(x.rm), &fl)
		if got == want[n].R && uint64(fl) == want[n].Fl {
			continue
		}
		if failed[x.op]++; failed[x.op] <= 3 {
			t.Errorf("%s %x rm %d flags %x: got %#x flags %x, qemu %#x flags %x",
				ops[x.op].asm, x.v, x.rm, x.fl, got, fl, want[n].R, want[n].Fl)
		}
	}
	t.Logf("%d operations, %d tries", len(ops), len(tries))
}
