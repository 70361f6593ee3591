package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// program writes an example's executable to a folder.
func program(t *testing.T, name string) string {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, elf, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// quietly runs a command whose status does not matter, and returns its output.
func quietly(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return status, out.String(), err.String()
}

// TestWetAgain checks that a whole execution trace that is built in a rerun equals the
// one that is recorded directly, however the run was recorded.
func TestWetAgain(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		flags   []string
		args    []string
	}{
		"plain":     {"race_counter", nil, nil},
		"pct":       {"bank", []string{"--sched", "pct", "--depth", "3", "--seed", "9"}, nil},
		"rr":        {"race_counter", []string{"--sched", "rr", "--quantum", "77"}, nil},
		"arch":      {"race_counter", []string{"--arch"}, nil},
		"shared":    {"bank", []string{"--keep", "shared"}, nil},
		"block":     {"race_counter", []string{"--alphabet", "block"}, nil},
		"app":       {"bank", []string{"--control", "app"}, nil},
		"stopped":   {"bank", []string{"--max-instructions", "100000"}, nil},
		"arguments": {"sort", []string{"--env", "LANG=C"}, []string{"-n", "50"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, dir := program(t, c.program), t.TempDir()
			direct, plain, again := filepath.Join(dir, "direct.hst"), filepath.Join(dir, "plain.hst"), filepath.Join(dir, "again.hst")
			record := func(out, mode string) {
				args := append(append([]string{"run", "-o", out, "--record", mode}, c.flags...), file)
				if _, _, said := quietly(append(args, c.args...)...); !strings.Contains(said, "MIPS") {
					t.Fatal(said)
				}
			}
			record(direct, "wet")
			record(plain, "cdr")
			if status, _, said := quietly("wet", "-o", again, plain); status != 0 {
				t.Fatal(said)
			}
			a, err := os.ReadFile(direct)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(again)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a, b) {
				t.Errorf("recorded directly it has %d bytes, by making the run again %d", len(a), len(b))
			}
			if status, _, said := quietly("info", "--verify", again); status != 0 {
				t.Error(said)
			}
		})
	}
}

// TestWetOtherRun checks that a rerun that differs is an error and leaves no file,
// whether blocks or only steps can be compared.
func TestWetOtherRun(t *testing.T) {
	file, dir := program(t, "bank"), t.TempDir()
	one, two, longer := filepath.Join(dir, "one.hst"), filepath.Join(dir, "two.hst"), filepath.Join(dir, "longer.hst")
	hindsight(t, 0, "run", "-o", one, file)
	hindsight(t, 0, "run", "--seed", "2", "-o", two, file)
	hindsight(t, 0, "run", "--epoch-memory", "8K", "-o", longer, file)
	open := func(file string) *cdr.Trace {
		tr, err := cdr.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tr.Close() })
		return tr
	}
	if err := session.CheckSame(open(one), one, two, nil); err == nil {
		t.Error("another seed's run counts as the same")
	}
	if err := session.CheckSame(open(one), one, longer, nil); err != nil {
		t.Errorf("the same run in other epochs: %v", err)
	}
	if err := session.SameSteps(open(one), open(two)); err == nil {
		t.Error("another seed's steps count as the same")
	}
	if status, _, said := quietly("wet", "--max-instructions", "1000", one); status != exitError || !strings.Contains(said, "is not the run in the trace") {
		t.Errorf("status %d: %s", status, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "one.wet.hst")); err == nil {
		t.Error("a file stays behind")
	}
}

// TestWetWindow compares the graph of a part of a run with that of the whole run: what a
// thread executed in the window must be there too, with the same values.
func TestWetWindow(t *testing.T) {
	file, dir := program(t, "bank"), t.TempDir()
	plain, whole, part := filepath.Join(dir, "plain.hst"), filepath.Join(dir, "whole.hst"), filepath.Join(dir, "part.hst")
	hindsight(t, 0, "run", "-o", plain, file)
	hindsight(t, 0, "wet", "-o", whole, plain)
	hindsight(t, 0, "wet", "--from", "90000", "--to", "160000", "-o", part, plain)
	a, b := openGraph(t, whole), openGraph(t, part)
	if n, all := b.Counts().Stmts, a.Counts().Stmts; n < 50000 || n > 110000 || all < 200000 {
		t.Fatalf("the window has %d of %d statements", n, all)
	}
	compared := 0
	for _, th := range b.Threads() {
		if th.Times < 2 {
			continue
		}
		want := valuesOf(t, a, th.ID)
		got := valuesOf(t, b, th.ID)
		at := strings.Index(want, got)
		if at < 0 {
			t.Errorf("T%d: its values in the window are not among those of the whole run", th.ID)
		}
		compared += len(got)
	}
	if compared < 100000 {
		t.Errorf("only %d bytes were compared", compared)
	}
}

func openGraph(t *testing.T, file string) *wet.Graph {
	t.Helper()
	g, err := wet.Open(file, wet.OpenOptions{Evaluate: eval.Inst})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// valuesOf returns all instructions of a thread with their values, in order, without what
// happened outside.
func valuesOf(t *testing.T, g *wet.Graph, th event.ThreadID) string {
	t.Helper()
	var b bytes.Buffer
	for e, err := range g.Forward(th, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n := g.Node(e.Node)
		if n.Kind != wet.NodePath {
			continue
		}
		for s := range n.Stmts {
			v, _, err := g.Value(wet.Instance{Thread: th, Node: e.Node, Stmt: uint32(s), K: e.K})
			if err != nil {
				t.Fatal(err)
			}
			if n.Stmts[s].Inst.Defs().Regs == 0 {
				v = 0
			}
			b.Write([]byte{byte(n.Stmts[s].PC), byte(n.Stmts[s].PC >> 8), byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), ';'})
		}
	}
	return b.String()
}
