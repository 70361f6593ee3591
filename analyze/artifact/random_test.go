package artifact

import (
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/examples/cross"
)

// compile builds a C program; the test is skipped when there is no compiler.
func compile(t *testing.T, source, level string) []byte {
	t.Helper()
	if _, err := osexec.LookPath(cross.Compiler); err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatal(err)
		}
		t.Skipf("no RISC-V compiler: %v", err)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "program")
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(cross.Compiler, "-g", "-static", "-pthread", "-std=gnu11", "-w", level, "-o", out, "program.c")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, source)
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return elf
}

// generator writes C programs at random: threads that move values between
// shared and private variables and arrays, with and without locks, through
// arithmetic, memory, branches, loops, calls and library functions.
type generator struct {
	rng   *rand.Rand
	out   strings.Builder
	depth int
	funcs int // functions that may be called
	loops int
}

const prologue = `#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>

long S[8];          /* shared, racy */
int I[4];           /* shared, racy, narrow */
unsigned char B[16];
long L[8];          /* shared, behind the lock */
long *P = S;        /* a racy pointer */
atomic_long Z;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
typedef long (*fn)(long, long *);
`

func (g *generator) program() string {
	g.out.WriteString(prologue)
	for range 3 {
		fmt.Fprintf(&g.out, "\n__attribute__((noinline)) static long f%d(long x, long *q)\n{\n\tlong y = 1, p[8] = {x};\n", g.funcs)
		g.statements(2)
		g.out.WriteString("\treturn y + p[x & 7];\n}\n")
		g.funcs++
	}
	g.out.WriteString("\nstatic fn table[3] = {f0, f1, f2};\n")
	for i := range 2 {
		fmt.Fprintf(&g.out, "\nstatic void *work%d(void *arg)\n{\n\tlong x = (long)arg, y = 2, p[8] = {3, 1}, *q = p;\n", i)
		g.statements(16)
		g.out.WriteString("\tS[y & 7] = x;\n\treturn (void *)y;\n}\n")
	}
	g.out.WriteString(`
int main(void)
{
	pthread_t a, b;
	for (int i = 0; i < 8; i++)
		L[i] = i;
	pthread_create(&a, NULL, work0, (void *)1);
	long x = S[1] & 3;
	pthread_create(&b, NULL, work1, (void *)x);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
`)
	return g.out.String()
}

func (g *generator) statements(n int) {
	g.depth++
	for range n {
		g.statement()
	}
	g.depth--
}

func (g *generator) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("\t", g.depth))
	fmt.Fprintf(&g.out, format+"\n", args...)
}

func (g *generator) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

func (g *generator) index() string {
	return g.pick("x & 7", "y & 7", "0", "1", "2", "(x + y) & 7", "S[0] & 7", "p[1] & 7")
}

func (g *generator) statement() {
	v := g.pick("x", "y")
	choice := g.rng.IntN(24)
	if g.depth > 3 && choice >= 16 {
		choice -= 16
	}
	switch choice {
	case 0, 1:
		g.line("%s = S[%s];", v, g.index())
	case 2, 3:
		g.line("S[%s] = %s;", g.index(), v)
	case 4:
		g.line("%s = I[%s & 3];", v, g.pick("x", "y", "1"))
	case 5:
		g.line("I[%s & 3] = %s;", g.pick("x", "0"), v)
	case 6:
		g.line("p[%s] = %s;", g.index(), v)
	case 7:
		g.line("%s = p[%s];", v, g.index())
	case 8:
		g.line("x = %s;", g.pick("x * 3 + y", "x ^ y", "x + 1", "5", "y >> 1", "(long)((double)x * 0.5)", "x > y ? x : y"))
	case 9:
		g.line("y = %s;", g.pick("y - x", "y + 1", "7", "x & y", "x % 5", "(int)x + (char)y"))
	case 10:
		g.line("B[%s & 15] = %s;", v, g.pick("x", "y", "9"))
	case 11:
		g.line("%s = B[%s];", v, g.index())
	case 12:
		g.line("memcpy(p, %s, %s);", g.pick("L", "p + 4", "S"), g.pick("8", "24", "32"))
	case 13:
		g.line("%s = *%s;", v, g.pick("P", "q", "(P + 1)", "(int *)q"))
	case 14:
		g.line("%s", g.pick("P = S + (x & 3);", "q = p + (y & 7);", "*q = x;", "*(short *)p = y;", "p[2] = Z; Z = x;"))
	case 15:
		g.line("{ long *h = malloc(32); h[%s & 3] = x; y += h[1]; free(h); }", v)
	case 16, 17:
		g.line("if (%s) {", g.pick("x & 1", "S[2] > 3", "y == p[0]", "I[1]", "x < y && S[3]"))
		g.statements(1 + g.rng.IntN(2))
		if g.rng.IntN(2) == 0 {
			g.line("} else {")
			g.statements(1)
		}
		g.line("}")
	case 18, 19:
		g.loops++
		g.line("for (long i%d = 0; i%d < %s; i%d++) {", g.loops, g.loops, g.pick("3", "(x & 3)", "(S[1] & 3)", "5"), g.loops)
		g.statements(1 + g.rng.IntN(2))
		if g.rng.IntN(3) == 0 {
			g.line("\tif (%s) break;", g.pick("x & 4", "S[4]"))
		}
		g.line("}")
	case 20:
		g.line("pthread_mutex_lock(&m);")
		g.line("%s", g.pick("L[x & 7] = y;", "x = L[y & 7];", "L[1] += x;", "S[1] = L[x & 7];"))
		g.statements(1)
		g.line("pthread_mutex_unlock(&m);")
	case 21:
		g.line("switch (%s & 7) { case 0: x = 3; break; case 1: S[0] = y; break; case 2: y = S[5]; break; case 3: x++; case 4: p[3] = 2; break; case 5: y = 9; }", v)
	default:
		if g.funcs == 0 {
			g.line("y = x;")
		} else if g.funcs == 3 && g.rng.IntN(2) == 0 {
			g.line("%s = table[(unsigned long)%s %% 3](x, p);", v, g.pick("x", "S[0]", "y"))
		} else {
			g.line("%s = f%d(%s, p);", v, g.rng.IntN(g.funcs), g.pick("x", "y", "S[1]"))
		}
	}
}

// TestRandomPrograms compares the walk back with the tracker that carries
// labels forward on random programs at all levels of optimisation.
func TestRandomPrograms(t *testing.T) {
	n := 10
	if !cross.Long() {
		n = 3
	}
	if s := os.Getenv("HINDSIGHT_RANDOM_PROGRAMS"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	compared, depend := 0, 0
	for i := range n {
		level := []string{"-O0", "-O1", "-O2", "-O3", "-Os"}[i%5]
		t.Run(fmt.Sprintf("%d%s", i, level), func(t *testing.T) {
			g := &generator{rng: rand.New(rand.NewPCG(uint64(i), 11))}
			source := g.program()
			elf := compile(t, source, level)
			defer func() {
				if t.Failed() {
					t.Log(source)
				}
			}()
			for seed := range uint64(2) {
				c, d := compareForward(t, elf, nil, seed)
				compared, depend = compared+c, depend+d
			}
		})
	}
	t.Logf("%d accesses compared, %d depend on racy reads", compared, depend)
}
