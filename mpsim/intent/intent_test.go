package intent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// levels are the optimisation levels at which the meanings must be found.
var levels = []string{"-O0", "-O1", "-O2"}

// compiled is a program of testdata.
type compiled struct {
	*Code
	source []string // by line, from 0
}

func compile(t *testing.T, level string) *compiled {
	t.Helper()
	gcc, err := exec.LookPath("riscv64-linux-gnu-gcc")
	if err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatal(err)
		}
		t.Skip("riscv64-linux-gnu-gcc is not installed")
	}
	source, out := filepath.Join("testdata", "meaning.c"), filepath.Join(t.TempDir(), "meaning")
	if text, err := exec.Command(gcc, "-g", level, "-fopenmp", "-static", "-o", out, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	img, err := image.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	return &compiled{New(img), strings.Split(string(text), "\n")}
}

// each visits the instructions of a function with the text of their lines.
func (c *compiled) each(t *testing.T, function string, visit func(pc uint64, i rv.Inst, line string)) {
	t.Helper()
	f, ok := c.img.Lookup(function)
	if !ok {
		t.Fatalf("no function %s", function)
	}
	for pc := f.Addr; pc < f.Addr+f.Size; {
		i, ok := c.at(pc)
		if !ok {
			t.Fatalf("%#x is no instruction", pc)
		}
		if s, ok := c.img.Statement(pc); ok && s.Line > 0 && int(s.Line) <= len(c.source) {
			visit(pc, i, c.source[s.Line-1])
		}
		pc += uint64(i.Len)
	}
}

// TestMeaning compiles testdata/meaning.c at each level.
func TestMeaning(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			c := compile(t, level)
			t.Run("accesses", c.accesses)
			t.Run("fences", c.fenced)
			t.Run("reductions", c.reductions)
		})
	}
}

// accesses checks plain loads and stores against the marks in the source.
func (c *compiled) accesses(t *testing.T) {
	found := map[string]bool{}
	c.each(t, "accesses", func(pc uint64, i rv.Inst, line string) {
		access, size, ok := i.Mem()
		if !ok || i.Atomic() {
			return
		}
		switch atomic, plain := c.Atomic(pc), c.Plain(pc); {
		case strings.Contains(line, "is atomic"):
			if atomic {
				found[line] = true
			}
		case atomic:
			t.Errorf("%#x is atomic:%s", pc, line)
		case strings.Contains(line, "is plain") && access == event.Write && size == 4:
			found[line] = found[line] || plain
		case strings.Contains(line, "is open") && access == event.Write && size == 1:
			found[line] = found[line] || !plain
		}
	})
	if len(found) != 4 {
		t.Errorf("%d of 4 marked lines are as marked: %v", len(found), found)
	}
	for line, as := range found {
		if !as {
			t.Errorf("not as marked:%s", line)
		}
	}
}

// fenced checks which fences belong to an access.
func (c *compiled) fenced(t *testing.T) {
	c.each(t, "fences", func(pc uint64, i rv.Inst, line string) {
		if access, _, ok := i.Mem(); !ok || access != event.Read {
			return
		}
		f := remember(c.Code, c.fences, pc, c.findFence)
		switch {
		case strings.Contains(line, "its own fence") && f == apart,
			strings.Contains(line, "a fence apart") && f == own,
			strings.Contains(line, "no fence") && f != none:
			t.Errorf("%#x: fence %d:%s", pc, f, line)
		}
	})
}

// reductions checks that the update of a reduction's result does not make the variable
// atomic, but that omp atomic does.
func (c *compiled) reductions(t *testing.T) {
	combined := map[string]bool{}
	for _, f := range c.img.Main.Symbols() {
		if !strings.HasPrefix(f.Name, "reduces._omp_fn.") {
			continue
		}
		c.each(t, f.Name, func(pc uint64, i rv.Inst, _ string) {
			if !i.Atomic() {
				return
			}
			for _, name := range []string{"sum", "mean", "most", "count"} {
				object := c.object(t, name)
				if c.Combines(pc, object.Addr) {
					combined[name] = true
				}
			}
		})
	}
	if !combined["sum"] || !combined["mean"] || !combined["most"] || combined["count"] {
		t.Errorf("results of reductions: %v", combined)
	}
}

func (c *compiled) object(t *testing.T, name string) image.Symbol {
	t.Helper()
	for _, s := range c.img.Main.Objects() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no variable %s", name)
	return image.Symbol{}
}
