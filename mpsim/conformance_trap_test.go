package mpsim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/mpsim/rv"
)

// trapPrologue is C code whose handler records the signal and skips the instruction.
const trapPrologue = `#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
static volatile int signo, code, here;
static uint64_t block[64];
static void handler(int s, siginfo_t *info, void *u)
{
	ucontext_t *c = u;
	unsigned long pc = c->uc_mcontext.__gregs[0];
	signo = s;
	code = info->si_code;
	here = (unsigned long)info->si_addr == pc;
	c->uc_mcontext.__gregs[0] = pc + ((*(uint16_t *)pc & 3) == 3 ? 4 : 2);
}
#define TRY(n, text) signo = code = here = 0; \
	asm volatile("mv t1,%0\n\tli t0,77\n\t" text "\n\tfsrmi 0\n" :: "r"(block) \
		: "memory", "t0", "t1", "t2", "t3", "a0", "a1", "ft0"); \
	printf("%d: signal %d code %d here %d\n", n, signo, code, here);
int main(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigaction(SIGILL, &a, 0);
	sigaction(SIGTRAP, &a, 0);
	sigaction(SIGBUS, &a, 0);
	asm volatile(".option norvc");
`

// traps returns instructions that a user program cannot execute, and similar ones that it
// can.
func traps() []string {
	list := []string{
		"ebreak", ".option push\n\t.option rvc\n\tc.ebreak\n\t.option pop",
		".word 0xffffffff", ".word 0x00000000", ".half 0x0000",
		".half 0x2001",     // c.addiw x0
		".half 0x6001",     // c.lui x0, 0
		".half 0x6881",     // c.lui x17, 0
		".half 0x6101",     // c.addi16sp 0
		".half 0x4002",     // c.lwsp x0
		".half 0x6002",     // c.ldsp x0
		".half 0x8002",     // c.jr x0
		".half 0x9000",     // quadrant 0, reserved
		".half 0x9d7d",     // quadrant 1, reserved
		".half 0x9d79",     // the same
		".word 0x5a100053", // fsqrt.d with a second operand
		".word 0x0203129b", // slliw by 32
		".word 0x161322af", // lr.w with a second operand
		".word 0x0000705b", // no major opcode
		".word 0xe0002053", // similar to fclass.s
		".word 0x04000053", // fadd in half precision
		"csrr t0,0x123", "csrw cycle,t0", "csrw 0xc01,x0", "csrr t0,mstatus", "csrr t0,sstatus",
		"csrrs t0,cycle,x0\n\tli t0,0",
		"mret", "sret", "wfi",
		"csrwi frm,5\n\tcsrr t0,frm\n\tfsgnj.d ft0,ft0,ft0", // nothing is rounded, so no trap
		"csrwi frm,7\n\tfcvt.d.w ft0,t0",
		"csrwi frm,5\n\tfadd.d ft0,ft0,ft0,rne",
		"csrwi frm,5\n\tfmin.d ft0,ft0,ft0",
		"addi t1,t1,1\n\tamoadd.w t0,t2,(t1)", "addi t1,t1,4\n\tamoswap.d t0,t2,(t1)",
		"addi t1,t1,2\n\tlr.w t0,(t1)", "addi t1,t1,4\n\tlr.d t0,(t1)",
	}
	for op := rv.OpFMADDS; op < rv.NumOps; op++ {
		// Reserved and dynamic rounding modes of every operation that rounds. The registers
		// are f0 and x0.
		word, ok := rounding(op)
		if !ok {
			continue
		}
		for rm := uint32(5); rm <= 6; rm++ {
			list = append(list, fmt.Sprintf(".word %#x", word|rm<<12))
		}
		for frm := 4; frm <= 7; frm++ {
			list = append(list, fmt.Sprintf("csrwi frm,%d\n\t.word %#x", frm, word|7<<12))
		}
	}
	return list
}

// rounding returns the encoding of an operation with a rounding mode field. All other
// fields are zero.
func rounding(op rv.Op) (uint32, bool) {
	for major := uint32(0x43); major <= 0x53; major += 4 {
		for f7 := range uint32(128) {
			for rs2 := range uint32(4) {
				word := major | f7<<25 | rs2<<20
				a, ok := rv.Decode(word | 7<<12)
				b, same := rv.Decode(word | 1<<12)
				if ok && same && a.Op == op && b.Op == op && a.RM == 7 {
					return word, true
				}
			}
		}
	}
	return 0, false
}

// TestTrapsAgainstQemu checks that what is illegal under qemu is illegal here, with the
// same signal, code and address.
func TestTrapsAgainstQemu(t *testing.T) {
	var b strings.Builder
	b.WriteString(trapPrologue)
	list := traps()
	for n, text := range list {
		fmt.Fprintf(&b, "\tTRY(%d, %q)\n", n, text)
	}
	b.WriteString("\treturn 0;\n}\n")
	src := filepath.Join(t.TempDir(), "traps.c")
	if err := os.WriteFile(src, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	program := compile(t, src)
	want := runQemu(t, program, "")
	res, got := run(t, Config{Image: load(t, program)})
	if got.status != want.status {
		t.Errorf("status %d, qemu %d: %s", got.status, want.status, res.Message)
	}
	w, g := strings.Split(want.stdout, "\n"), strings.Split(got.stdout, "\n")
	if len(w) != len(list)+1 {
		t.Fatalf("qemu tried %d of %d", len(w)-1, len(list))
	}
	for n := range list {
		if n >= len(g) || g[n] != w[n] {
			t.Errorf("%q: got %q, qemu %q", list[n], g[min(n, len(g)-1)], w[n])
		}
	}
	t.Logf("%d instructions, %d with a signal", len(list), strings.Count(want.stdout, "\n")-strings.Count(want.stdout, "signal 0 "))
}
