package cfg

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

const prefix = "riscv64-linux-gnu-"

func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(prefix + name)
	if err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatalf("%s%s is required: %v", prefix, name, err)
		}
		t.Skipf("needs %s%s", prefix, name)
	}
	return path
}

func build(t testing.TB, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.out")
	cmd := exec.Command(tool(t, "gcc"), append(args, "-o", out)...)
	cmd.Dir = "testdata"
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	return out
}

func program(t testing.TB, path string) *Program {
	t.Helper()
	img, err := image.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return New(img)
}

var levels = []string{"-O0", "-O1", "-O2", "-O3", "-Os"}

// TestRealPrograms checks every function of whole static programs, including the C
// library.
func TestRealPrograms(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			p := program(t, build(t, level, "-static", "-pthread", "switch.c"))
			blocks, cut := 0, 0
			for i := range uint32(p.NumFuncs()) {
				f := p.Func(i)
				checkFunction(t, p, f)
				blocks += len(f.Blocks())
				for _, b := range f.Blocks() {
					for _, e := range b.Succs {
						if e.Cut && !e.Back && !b.cuts() {
							cut++
						}
					}
				}
			}
			t.Logf("%d functions, %d blocks, %d edges cut for the number of paths", p.NumFuncs(), blocks, cut)
		})
	}
}

// checkFunction checks that the blocks tile the function, that each agrees with package
// rv, and that direct targets are beginnings of blocks.
func checkFunction(t *testing.T, p *Program, f *Function) {
	t.Helper()
	blocks := f.Blocks()
	pc := f.Start
	for i := range blocks {
		b := &blocks[i]
		if b.PC != pc || b.Insts == 0 || b.Insts > rv.MaxBlock {
			t.Errorf("%s: block %d at %#x with %d instructions, want at %#x", f.Name(), i, b.PC, b.Insts, pc)
		}
		pc = b.Next()
		if r, ok := p.At(b.PC); !ok || r != (Ref{f.Index, uint32(i)}) {
			t.Errorf("%s: At(%#x) = %v, %v", f.Name(), b.PC, r, ok)
		}
		scan := rv.Scan(b.PC, p.img.Reader(), int(b.Insts))
		if scan.Bytes != b.Bytes || len(scan.Insts) != int(b.Insts) || scan.End != b.End {
			t.Errorf("%s: block at %#x is %d bytes %v, Scan says %d bytes %v", f.Name(), b.PC, b.Bytes, b.End, scan.Bytes, scan.End)
		}
		// What the simulator runs from here must consist of whole blocks of ours.
		if full := rv.Scan(b.PC, p.img.Reader(), 0); b.PC+uint64(full.Bytes) < f.End {
			if _, ok := p.At(b.PC + uint64(full.Bytes)); !ok {
				t.Errorf("%s: the simulator's block at %#x ends inside one of ours", f.Name(), b.PC)
			}
		}
		if b.Target >= f.Start && b.Target < f.End {
			if _, ok := p.At(b.Target); !ok {
				t.Errorf("%s: target %#x begins no block", f.Name(), b.Target)
			}
		}
		if b.Succs == nil && !b.Leaves {
			t.Errorf("%s: block at %#x goes nowhere", f.Name(), b.PC)
		}
		if !slices.IsSortedFunc(b.Succs, func(a, b Succ) int { return int(a.To) - int(b.To) }) {
			t.Errorf("%s: successors of %#x are not in order", f.Name(), b.PC)
		}
		for _, e := range b.Succs {
			if val, cut, ok := b.Succ(e.PC); !ok || val != e.Val || cut != e.Cut || blocks[e.To].PC != e.PC {
				t.Errorf("%s: Succ(%#x) = %d, %v, %v", f.Name(), e.PC, val, cut, ok)
			}
		}
	}
	if pc < f.End-2 && pc != f.End {
		t.Errorf("%s: blocks end at %#x of %#x", f.Name(), pc, f.End)
	}
}

// TestSwitches checks that each switch has all of its successors. The source says how
// many distinct targets each has.
func TestSwitches(t *testing.T) {
	flags := [][]string{{"-fPIC", "-O2"}, {"-mcmodel=medlow", "-fno-pie", "-no-pie", "-O2"}, {"-mcmodel=medany", "-O1"}}
	for _, level := range levels {
		flags = append(flags, []string{level})
	}
	for _, fl := range flags {
		t.Run(strings.Join(fl, " "), func(t *testing.T) {
			path := build(t, append(slices.Clone(fl), "-fno-inline", "-static", "switch.c")...)
			p := program(t, path)
			for name, least := range map[string]int{"checked": 6, "looped": 6, "masked": 7, "negative": 5, "table": 4} {
				s, ok := p.img.Lookup(name)
				if !ok {
					t.Fatalf("no %s", name)
				}
				f, indirect := p.FuncAt(s.Addr), 0
				for i, b := range f.Blocks() {
					insts := p.Insts(Ref{f.Index, uint32(i)})
					if b.End != event.EndIndirect || insts[len(insts)-1].Rs1 == 6 && name != "table" {
						continue // a tail call jumps through t1
					}
					indirect++
					if len(b.Succs) < least || b.Leaves {
						t.Errorf("%s: the jump in block %#x has %d successors, want at least %d (leaves %v)", name, b.PC, len(b.Succs), least, b.Leaves)
					}
				}
				if indirect == 0 {
					t.Logf("%s: no indirect jump", name)
				}
			}
		})
	}
}

// TestLibrarySwitches checks how many indirect jumps of the C library are resolved.
func TestLibrarySwitches(t *testing.T) {
	p := program(t, build(t, "-O2", "-static", "-pthread", "switch.c"))
	known, all := 0, 0
	for i := range uint32(p.NumFuncs()) {
		for _, b := range p.Func(i).Blocks() {
			if b.End == event.EndIndirect {
				if all++; len(b.Succs) > 0 {
					known++
				}
			}
		}
	}
	t.Logf("%d of %d indirect jumps (tail calls among them) have known targets", known, all)
	if known < 20 {
		t.Error("too few")
	}
}

var objdumpLine = regexp.MustCompile(`^ *([0-9a-f]+):\t([0-9a-f ]+)\t(\S+)\s*(.*)$`)

// TestLikeObjdump compares the instruction boundaries and the direct targets with the
// output of objdump.
func TestLikeObjdump(t *testing.T) {
	path := build(t, "-O2", "-static", "-pthread", "switch.c")
	p := program(t, path)
	out, err := exec.Command(tool(t, "objdump"), "-d", "-M", "no-aliases", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	branches := 0
	for line := range bytes.Lines(out) {
		m := objdumpLine.FindStringSubmatch(strings.TrimRight(string(line), "\n"))
		if m == nil {
			continue
		}
		pc, _ := strconv.ParseUint(m[1], 16, 64)
		r, ok := p.Find(pc)
		if !ok {
			t.Fatalf("%#x is in no block", pc)
		}
		op := strings.TrimPrefix(m[3], "c.")
		if !strings.HasPrefix(op, "b") && op != "j" && op != "jal" {
			continue
		}
		args := strings.Split(strings.Fields(m[4])[0], ",")
		target, err := strconv.ParseUint(args[len(args)-1], 16, 64)
		if err != nil {
			continue
		}
		branches++
		b := p.Block(r)
		in := p.Insts(r)
		if last := b.Next() - uint64(in[len(in)-1].Len); last != pc || b.Target != target {
			t.Errorf("%#x: objdump says %s to %#x; our block ends with %#x to %#x", pc, op, target, last, b.Target)
		}
		if f := p.FuncAt(target); f != nil && f.Index == r.Func {
			if _, ok := p.At(target); !ok {
				t.Errorf("target %#x begins no block", target)
			}
		}
	}
	if branches < 10000 {
		t.Errorf("only %d branches", branches)
	}
}

// TestPathsOfProgram decodes path numbers of a real program and walks the paths again.
func TestPathsOfProgram(t *testing.T) {
	p := program(t, build(t, "-O2", "-static", "-pthread", "switch.c"))
	paths := 0
	for i := range uint32(p.NumFuncs()) {
		for n := range p.Func(i).Blocks() {
			start := Ref{i, uint32(n)}
			total := p.NumPaths(start)
			for _, id := range []uint64{0, 1, total / 3, total / 2, total - 1} {
				if id >= total {
					continue
				}
				refs, err := p.Decode(start, id)
				if err != nil {
					t.Fatal(err)
				}
				sum := uint64(0)
				for k := 1; k < len(refs); k++ {
					val, cut, ok := p.Block(refs[k-1]).Succ(p.Block(refs[k]).PC)
					if !ok || cut {
						t.Fatalf("%v: %v → %v: cut %v, ok %v", start, refs[k-1], refs[k], cut, ok)
					}
					sum += val
				}
				if paths++; sum != id || refs[0] != start {
					t.Fatalf("path %d from %v walks to %d", id, start, sum)
				}
			}
			if _, err := p.Decode(start, total); !errors.Is(err, ErrPath) {
				t.Fatalf("number %d from %v: %v", total, start, err)
			}
		}
	}
	t.Logf("%d paths", paths)
}

// TestDeadEnds checks that control does not continue after a call of abort, so that what
// the check guards depends on it.
func TestDeadEnds(t *testing.T) {
	p := program(t, build(t, "-O1", "-static", "-fno-reorder-blocks", "switch.c"))
	s, ok := p.img.Lookup("guarded")
	if !ok {
		t.Fatal("no guarded")
	}
	abort, _ := p.img.Lookup("abort")
	f, calls := p.FuncAt(s.Addr), 0
	for i, b := range f.Blocks() {
		if b.End != event.EndCall {
			continue
		}
		if b.Target == abort.Addr {
			calls++
			if len(b.Succs) != 0 || !b.Leaves {
				t.Errorf("the call of abort at %#x goes on", b.PC)
			}
		} else if len(b.Succs) != 1 || b.Succs[0].Kind != Return || !b.Succs[0].Cut {
			t.Errorf("the call at %#x leads to %+v", b.PC, b.Succs)
		} else if len(f.ControlDependence(b.Succs[0].To)) == 0 && i > 0 {
			t.Errorf("the code behind the call at %#x does not depend on the check", b.PC)
		}
	}
	if calls == 0 {
		t.Error("no call of abort")
	}
}

// TestSites compares the sites of blocks with the instructions.
func TestSites(t *testing.T) {
	p := program(t, build(t, "-O1", "-static", "switch.c"))
	s, _ := p.img.Lookup("looped")
	f, sites := p.FuncAt(s.Addr), 0
	for i := range f.Blocks() {
		for _, site := range p.Sites(Ref{f.Index, uint32(i)}) {
			sites++
			if r, ok := p.Find(site.PC); !ok || r.Block != uint32(i) {
				t.Errorf("site %+v is not in block %d", site, i)
			}
		}
	}
	if sites == 0 {
		t.Error("no sites")
	}
	for _, r := range []Ref{{1 << 30, 0}, {f.Index, 1 << 30}} {
		if p.Block(r) != nil || p.Sites(r) != nil || p.Insts(r) != nil || p.NumPaths(r) != 0 {
			t.Errorf("%v names something", r)
		}
	}
}

// FuzzProgram analyses all code of damaged executables.
func FuzzProgram(f *testing.F) {
	data, err := os.ReadFile("../../mpsim/image/testdata/tiny.elf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, off := range []int{0x150, 0x160, 0x170, 0x180, 0x190, 0x1a0} { // in its code
		b := bytes.Clone(data)
		b[off] ^= 0x55
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := image.Parse(data)
		if err != nil {
			return
		}
		p := New(img)
		for i := range uint32(p.NumFuncs()) {
			f := p.Func(i)
			f.PostDominators()
			for n := range f.Blocks() {
				r := Ref{i, uint32(n)}
				p.Sites(r)
				if _, err := p.Decode(r, p.NumPaths(r)-1); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
