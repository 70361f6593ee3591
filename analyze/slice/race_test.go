package slice_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim/asm"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/wet"
)

// example logs a run of an example.
func example(t *testing.T, name string, seed uint64) (*slicetest.Log, *image.Space, string) {
	t.Helper()
	img := cross.Image(t, name)
	l := slicetest.New(img, linux.CallArgs)
	var out bytes.Buffer
	run(t, img, shape{seed: seed, quantum: 30}, &out, l)
	return l, img, out.String()
}

// sourceLine returns the line of a source that holds text, from 1.
func sourceLine(t *testing.T, file, text string) int {
	t.Helper()
	src, err := examples.Source(strings.TrimSuffix(file, ".c"))
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(src), "\n") {
		if strings.Contains(line, text) {
			return n + 1
		}
	}
	t.Fatalf("%s has no line with %q", file, text)
	return 0
}

// resolve finds what a specification names, or fails.
func resolve(t *testing.T, l *slicetest.Log, img *image.Space, spec string) *slice.Target {
	t.Helper()
	target, err := slice.NewResolver(img).Resolve(l, spec)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// access returns the load or store of the target that was executed last.
func access(t *testing.T, l *slicetest.Log, target *slice.Target, write bool) wet.Instance {
	t.Helper()
	var found wet.Instance
	all, err := slice.Instances(l, target, slice.AllThreads, slice.All)
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, i := range all {
		n, err := l.Find(i)
		if err != nil {
			t.Fatal(err)
		}
		if s := l.Statements()[n]; s.Size > 0 && s.Stores == write && n > last {
			last, found = n, i
		}
	}
	if last < 0 {
		t.Fatalf("no access at %s", target.Text)
	}
	return found
}

// TestVerdicts checks what racy values of the examples reach.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, a, b string // the example, and what marks the lines of the accesses
		writes     [2]bool
		want       slice.Verdict
		variable   string
	}{
		{"race_counter", "counter++;", "counter++;", [2]bool{true, false}, slice.ReachesOutput, "counter"},
		{"race_branch", "mode = 1", "if (mode)", [2]bool{true, false}, slice.ReachesControlFlow, ""},
		{"race_same_value", "found_nine = 1", "found_nine = 1", [2]bool{true, true}, slice.ReachesOutput, ""},
		{"fig7", "Subscript = 1", "x = Subscript", [2]bool{true, false}, slice.ReachesControlFlow, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, img, out := example(t, c.name, 1)
			file := c.name + ".c"
			var both [2]wet.Instance
			for n, mark := range []string{c.a, c.b} {
				target := resolve(t, l, img, fmt.Sprintf("%s:%d", file, sourceLine(t, file, mark)))
				both[n] = access(t, l, target, c.writes[n])
			}
			r, err := slice.Race(context.Background(), l, img, both[0], both[1], slice.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := same(indexes(t, l, r.Forward), plainForward(l, t, r.Forward.Criterion())); err != nil {
				t.Error(err)
			}
			if r.Impact.Verdict != c.want {
				t.Errorf("it %v, want that it %v: %+v", r.Impact.Verdict, c.want, r.Impact)
			}
			if r.Impact.OutputBytes > uint64(len(out)) || c.want == slice.ReachesOutput && r.Impact.OutputCalls == 0 {
				t.Errorf("%d bytes of %q", r.Impact.OutputBytes, out)
			}
			if c.variable != "" && !slices.ContainsFunc(r.Impact.Variables, func(v slice.Variable) bool { return v.Name == c.variable }) {
				t.Errorf("%s was not reached: %+v", c.variable, r.Impact.Variables)
			}
			if !r.A.Has(both[0]) || !r.B.Has(both[1]) || r.Common.Len() > min(r.A.Len(), r.B.Len()) {
				t.Errorf("slices of %d, %d and %d instances", r.A.Len(), r.B.Len(), r.Common.Len())
			}
			for i := range r.Parting.Instances() {
				if !r.Common.Has(i) {
					t.Errorf("the slices part at %+v, which is not in both", i)
				}
			}
			if r.Parting.Len() == 0 || r.Parting.Len() > r.Common.Len() {
				t.Errorf("they part at %d instances", r.Parting.Len())
			}
			t.Logf("part at %d; %+v; %d, %d, %d in common", r.Parting.Len(), r.Impact, r.A.Len(), r.B.Len(), r.Common.Len())
		})
	}
}

func plainForward(l *slicetest.Log, t *testing.T, criterion []wet.Instance) map[int]bool {
	t.Helper()
	var from []int
	for _, i := range criterion {
		n, err := l.Find(i)
		if err != nil {
			t.Fatal(err)
		}
		from = append(from, n)
	}
	return plain(l, from, slice.Options{Direction: slice.Forward, Kinds: slice.Data}, l.Instance, l)
}

// TestResolve checks what specifications mean in a program with debug information.
func TestResolve(t *testing.T) {
	l, img, _ := example(t, "race_branch", 1)
	r := slice.NewResolver(img)
	line := sourceLine(t, "race_branch.c", "total = 100;")
	total, _ := img.Lookup("total")
	for _, c := range []struct {
		spec, name string
		code       bool
		addr, size uint64
	}{
		{fmt.Sprintf("race_branch.c:%d", line), "", true, 0, 0},
		{fmt.Sprintf("race_branch.c:%d:total", line), "total", true, 0, 0},
		{"configure", "configure", true, 0, 0},
		{"total", "total", false, total.Addr, 4},
		{"total+2", "total+2", false, total.Addr + 2, 2},
		{fmt.Sprintf("%#x", total.Addr), "total", false, total.Addr, 4},
	} {
		target, err := r.Resolve(l, c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		if target.Name != c.name || len(target.PCs) > 0 != c.code || target.Addr != c.addr || target.Size != c.size {
			t.Errorf("%s is %+v", c.spec, target)
		}
		for _, pc := range target.PCs {
			if frames := img.Frames(pc); frames[0].Function != "configure" {
				t.Errorf("%s has code of %s", c.spec, frames[0].Function)
			}
		}
	}
	for _, c := range []struct{ spec, candidate, reason string }{
		{fmt.Sprintf("race_branch.c:%d", sourceLine(t, "race_branch.c", "int mode, total")), fmt.Sprintf("race_branch.c:%d", line-1), "nothing was executed"},
		{"race_brunch.c:5", "race_branch.c", "no"},
		{fmt.Sprintf("race_branch.c:%d:result", line), "total", "no instruction"},
		{"totl", "total", "no function or variable"},
		{"total+4", "", "4 bytes"},
		{"0x1", "", ""},
		{"0xzz", "", "no address"},
		{"", "", "no function"},
	} {
		target, err := r.Resolve(l, c.spec)
		if c.spec == "0x1" { // any address is valid
			if err != nil || target.Size != 1 {
				t.Errorf("%s is %+v, %v", c.spec, target, err)
			}
			continue
		}
		var e *slice.SpecError
		if !errors.As(err, &e) || target != nil {
			t.Errorf("%s is %+v, %v", c.spec, target, err)
			continue
		}
		if c.candidate != "" && !slices.Contains(e.Candidates, c.candidate) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", c.spec, err)
		}
	}
}

// TestLocals checks that a local variable on a line means the instructions that use or
// write it. (The example keeps its variables in registers.)
func TestLocals(t *testing.T) {
	l, img, _ := example(t, "fig7", 1)
	for _, c := range []struct {
		line, name string
		want       rv.Op
	}{
		{"int x = Subscript;", "x", rv.OpLW},
		{"result[0] = x;", "x", rv.OpSW},
		{"result[1] = y;", "result", rv.OpSW},
	} {
		target := resolve(t, l, img, fmt.Sprintf("fig7.c:%d:%s", sourceLine(t, "fig7.c", c.line), c.name))
		ops := map[rv.Op]int{}
		for _, pc := range target.PCs {
			site := l.Sites(pc)[0]
			ops[l.Node(site.Node).Stmts[site.Stmt].Inst.Op]++
		}
		if ops[c.want] != 1 || len(target.PCs) != 1 {
			t.Errorf("%s on the line %q: %v", c.name, c.line, ops)
		}
	}
	var e *slice.SpecError
	_, err := slice.NewResolver(img).Resolve(l, fmt.Sprintf("fig7.c:%d:q", sourceLine(t, "fig7.c", "result[0] = x;")))
	if !errors.As(err, &e) || !slices.Contains(e.Candidates, "x") || !slices.Contains(e.Candidates, "result") {
		t.Errorf("q: %v", err)
	}
}

// FuzzResolve checks that any text is a target or an error.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"f0", "shared+8", "0x10000", "a.c:3", "a.c:3:x", "::", "shared+0xfffffffffffffffff", "a:99999999999999999999", "+", "malloc+4"} {
		f.Add(s)
	}
	l, img := logged(f, randomShape(1))
	r := slice.NewResolver(img)
	f.Fuzz(func(t *testing.T, spec string) {
		target, err := r.Resolve(l, spec)
		var e *slice.SpecError
		switch {
		case err == nil && (target == nil || len(target.PCs) == 0 && target.Size == 0):
			t.Errorf("%q is nothing: %+v", spec, target)
		case err != nil && (!errors.As(err, &e) || target != nil):
			t.Errorf("%q: %v", spec, err)
		}
	})
}

// TestLeftOver checks that a value in a register that write(2) does not use does not
// count as output.
func TestLeftOver(t *testing.T) {
	for _, c := range []struct {
		reg  uint8 // that the loaded value is in when write is called
		want slice.Verdict
	}{{13, slice.DiesUnused}, {12, slice.ReachesOutput}} {
		p := &asm.Program{}
		p.Func("_start")
		data := p.Data("data", []byte{4, 0, 0, 0, 0, 0, 0, 0})
		p.Li(5, data)
		p.Li(12, 3)
		load := p.PC()
		p.Imm(rv.OpLD, c.reg, 5, 0)
		p.Li(10, 1)
		p.Li(11, data)
		p.Li(17, 64)
		p.Op(rv.OpECALL, 0, 0, 0)
		p.Li(c.reg, 0)
		p.Li(10, 0)
		p.Li(17, 94)
		p.Op(rv.OpECALL, 0, 0, 0)
		elf, err := p.ELF()
		if err != nil {
			t.Fatal(err)
		}
		img, err := image.Parse(elf)
		if err != nil {
			t.Fatal(err)
		}
		l := slicetest.New(img, linux.CallArgs)
		run(t, img, shape{quantum: 100}, nil, l)
		racy, err := slice.Nth(l, 0, load, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, m, err := slice.Poisoned(context.Background(), l, img, racy, racy)
		if err != nil || m.Verdict != c.want {
			t.Errorf("x%d: it %v, %v; want that it %v: %+v", c.reg, m.Verdict, err, c.want, m)
		}
	}
}
