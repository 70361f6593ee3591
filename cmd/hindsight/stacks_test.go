package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/cdr"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// TestStacks compares the call stacks that a trace gives with what programs say
// of themselves, at each level of optimisation. stacks.cc has recursion, virtual,
// inlined and tail calls, long jumps, exceptions and signal handlers; leaving.cc
// leaves frames in every way that is no return: exceptions that are thrown on,
// nested, out of tail calls, out of a task and from landing pads, long jumps over
// frames of changing size and out of handlers on a stack of their own, switches
// of contexts, the end and the cancellation of threads.
func TestStacks(t *testing.T) {
	const cxx = "riscv64-linux-gnu-g++"
	needTools(t, cxx)
	for program, levels := range map[string][]string{
		"stacks":  {"-O0", "-O1", "-O2", "-O3", "-Os -msave-restore"},
		"leaving": {"-O0", "-O2", "-Os -msave-restore"},
	} {
		for _, level := range levels {
			t.Run(program+level, func(t *testing.T) {
				elf := filepath.Join(t.TempDir(), program)
				args := append(strings.Fields(level), "-g", "-static", "-pthread", "-fopenmp", "-o", elf, filepath.Join(sourceDir, "testdata/stacks", program+".cc"))
				if text, err := exec.Command(cxx, args...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				for _, budget := range []uint64{0, 128 << 10} { // one epoch, and many
					checkStacks(t, elf, budget)
				}
			})
		}
	}
}

func checkStacks(t *testing.T, elf string, budget uint64) {
	t.Helper()
	img, err := image.Load(elf)
	if err != nil {
		t.Fatal(err)
	}
	var file, said bytes.Buffer
	rec, err := cdr.NewRecorder(&file, cdr.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{Image: img, Args: []string{elf}, Seed: 1, Stdout: &said, Stderr: &said, Observer: rec, Hooks: hooks, HookAt: at})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := m.Run(context.Background()); err != nil || res.Status != 0 {
		t.Fatalf("%+v, %v: %s", res, err, said.Bytes())
	}
	tr, err := cdr.OpenReaderAt(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if budget != 0 && tr.Info().Epochs < 2 {
		t.Errorf("%d epochs", tr.Info().Epochs)
	}
	site := hitSite(t, tr, img)
	told := map[event.ThreadID][]string{} // what each thread said
	count, wrong := 0, 0
	for line := range strings.Lines(said.String()) {
		var thread event.ThreadID
		if n, _ := fmt.Sscanf(line, "stack %d", &thread); n == 1 {
			told[thread] = append(told[thread], line)
			count++
		}
	}
	if count < 60 || len(told) < 2 {
		t.Fatalf("%d stacks of %d threads", count, len(told))
	}
	for thread, lines := range told {
		for i, line := range lines {
			pcs, err := tr.AccessStack(thread, site, uint64(i))
			if err != nil {
				t.Fatalf("stack %d of thread %d: %v", i, thread, err)
			}
			if got, want := userNames(img, pcs), strings.Fields(line)[2:]; !fits(got, want) {
				if wrong++; wrong < 4 {
					t.Errorf("stack %d of thread %d is\n%.300s\nwant\n%.300s", i, thread, strings.Join(got, " "), strings.Join(want, " "))
				}
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d stacks are wrong", wrong, count)
	}
}

// hitSite is the store to hit in probe.
func hitSite(t *testing.T, tr *cdr.Trace, img *image.Image) cdr.SiteID {
	t.Helper()
	for id := range tr.NumSites() {
		s := tr.Site(cdr.SiteID(id))
		if f, _ := img.Func(s.PC); f.Name != "probe" || s.Access != event.Write {
			continue
		}
		for addr, err := range tr.Accesses(0, cdr.SiteID(id)) {
			if err != nil {
				t.Fatal(err)
			}
			if o, _, _ := img.Object(addr); o.Name == "hit" {
				return cdr.SiteID(id)
			}
			break
		}
	}
	t.Fatal("no store to hit")
	return 0
}

// userNames are the functions of the user's code on a stack, without probe.
func userNames(img *image.Image, pcs []uint64) (names []string) {
	for i, pc := range pcs {
		if i > 0 {
			pc--
		}
		if !img.User(pc) {
			continue
		}
		for _, f := range img.Frames(pc) {
			name, _, _ := strings.Cut(f.Function, "(")
			name = name[strings.LastIndexByte(name, ' ')+1:] // of a template the type comes first
			if name != "probe" && !strings.HasPrefix(name, "Scope::") && !strings.HasPrefix(name, "__pthread_cleanup_class") {
				names = append(names, name)
			}
		}
	}
	return names
}

// fits compares a stack with what the program said; ~ marks what may be
// missing, and what stands at ... does not matter.
func fits(got, want []string) bool {
	for _, w := range want {
		name, optional := strings.CutPrefix(w, "~")
		switch {
		case w == "...":
			return true
		case len(got) > 0 && got[0] == name:
			got = got[1:]
		case !optional:
			return false
		}
	}
	return len(got) == 0
}

func TestFits(t *testing.T) {
	for _, tt := range []struct {
		got, want string
		ok        bool
	}{{"a b", "a b", true}, {"a b", "a ~x b", true}, {"a x b", "a ~x b", true}, {"a x", "a ...", true}, {"a", "a b", false}, {"a b", "a", false}, {"b a", "a b", false}} {
		if ok := fits(strings.Fields(tt.got), strings.Fields(tt.want)); ok != tt.ok {
			t.Error(fmt.Sprint(tt))
		}
	}
}
