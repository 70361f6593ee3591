package slice_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/analyze/slice/slicetest"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/rv"
	"hindsight/wet"
)

// TestLeaving is TestExamples for frames that are left by exceptions and long
// jumps.
func TestLeaving(t *testing.T) {
	const compiler = "riscv64-linux-gnu-g++"
	if _, err := exec.LookPath(compiler); err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed", compiler)
	}
	for _, level := range []string{"-O0", "-O2"} {
		t.Run(level, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "leaving")
			if text, err := exec.Command(compiler, level, "-g", "-static", "-o", out, "testdata/leaving.cc").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			img, err := image.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			l, r := slicetest.New(img, linux.CallArgs), newRecording(t, img, 20000)
			if res := run(t, img, shape{seed: 5, quantum: 300}, nil, l, r); res.Fault != nil {
				t.Fatalf("%+v", res)
			}
			a, err := slicetest.Align(r.open(t, wet.OpenOptions{}), l)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Check(); err != nil {
				t.Fatal(err)
			}
			compareSlices(t, a, rand.New(rand.NewPCG(22, 22)), 6)
			// The first exception alone takes a million instructions of the library.
			r = newRecording(t, img, 1<<20)
			cfg := mpsim.Config{Image: img, Args: []string{"leaving", "throw"}, Observer: r}
			cfg.Hooks, cfg.HookAt = hook.New(img)
			m, err := mpsim.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := m.Run(context.Background()); err != nil || res.Status != 0 {
				t.Fatal(err, res)
			}
			checkMakers(t, r.open(t, wet.OpenOptions{}), img)
		})
	}
}

// checkMakers checks that what catcher does depends on its own branches, or on main's
// call of it, and never on its call of the function that threw.
func checkMakers(t *testing.T, g *wet.Graph, img *image.Space) {
	t.Helper()
	in := func(pc uint64) string {
		f, _ := img.Func(pc)
		name, _, _ := strings.Cut(f.Demangled(), "(")
		return name
	}
	found := 0
	for n := range g.NumNodes() {
		node := g.Node(wet.NodeID(n))
		for stmt := range node.Stmts {
			if node.Kind != wet.NodePath || in(node.Stmts[stmt].PC) != "catcher" {
				continue
			}
			for k := range g.Executions(0, wet.NodeID(n)) {
				for d, err := range g.Deps(wet.Instance{Node: wet.NodeID(n), Stmt: uint32(stmt), K: k}) {
					if err != nil {
						t.Fatal(err)
					}
					if d.Kind != wet.DepControl {
						continue
					}
					found++
					from := g.Node(d.From.Node).Stmts[d.From.Stmt]
					calls := from.Inst.Op == rv.OpJAL || from.Inst.Op == rv.OpJALR
					if want := map[bool]string{true: "main", false: "catcher"}[calls]; in(from.PC) != want {
						t.Errorf("%#x in catcher is control dependent on %#x in %s", node.Stmts[stmt].PC, from.PC, in(from.PC))
					}
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d control dependences", found)
	}
}
