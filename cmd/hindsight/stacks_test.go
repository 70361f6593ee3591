package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// TestStacks compares the call stacks from a trace with what programs report about
// themselves, at each level of optimisation. stacks.cc has recursion, virtual, inlined
// and tail calls, long jumps, exceptions and signal handlers. leaving.cc leaves frames in
// every way that is not a return: exceptions that are rethrown, nested, out of tail
// calls, out of a task and from landing pads; long jumps over frames of changing size and
// out of handlers on their own stack; switches of contexts; the end and the cancellation
// of threads.
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
	rec, err := recorder.New(&file, recorder.Options{Budget: budget})
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
	told := map[event.ThreadID][]string{} // what each thread reported
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

// hitSite returns the store to hit in probe.
func hitSite(t *testing.T, tr *cdr.Trace, img *image.Space) format.SiteID {
	t.Helper()
	for id := range tr.NumSites() {
		s := tr.Site(format.SiteID(id))
		if f, _ := img.Func(s.PC); f.Name != "probe" || s.Access != event.Write {
			continue
		}
		for addr, err := range tr.Accesses(0, format.SiteID(id)) {
			if err != nil {
				t.Fatal(err)
			}
			if o, _, _ := img.Object(addr); o.Name == "hit" {
				return format.SiteID(id)
			}
			break
		}
	}
	t.Fatal("no store to hit")
	return 0
}

// userNames returns the functions of the user's code on a stack, without probe.
func userNames(img *image.Space, pcs []uint64) (names []string) {
	for i, pc := range pcs {
		if i > 0 {
			pc--
		}
		if !img.User(pc) {
			continue
		}
		for _, f := range img.Frames(pc) {
			name, _, _ := strings.Cut(f.Function, "(")
			name = name[strings.LastIndexByte(name, ' ')+1:] // for a template, the type comes first
			if name != "probe" && !strings.HasPrefix(name, "Scope::") && !strings.HasPrefix(name, "__pthread_cleanup_class") {
				names = append(names, name)
			}
		}
	}
	return names
}

// fits compares a stack with what the program reported. ~ marks what may be missing, and
// ... stands for anything.
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

// folder folds calls, returns and the reported changes of the stack, as the recorder
// does. It requires each return without a report to go where the innermost call expects.
type folder struct {
	blocks  []event.Block
	threads map[event.ThreadID]*folded
	returns int
	told    int
	wrong   []string
}

type folded struct {
	stack   []uint64
	pending bool   // a return whose target is the next block
	expects uint64 // the expected target; 0: no call is open
}

func (f *folder) Define(blocks []event.Block) error {
	f.blocks = append(f.blocks, blocks...)
	return nil
}

func (f *folder) Finish(event.Outcome) error { return nil }

func (f *folder) Batch(b *event.Batch) error {
	t := f.threads[b.Thread]
	if t == nil {
		t = &folded{}
		f.threads[b.Thread] = t
	}
	events := b.Events
	for n := 0; n <= len(b.Blocks); n++ {
		for len(events) > 0 && int(events[0].At) <= n {
			f.event(t, &events[0])
			events = events[1:]
		}
		if n == len(b.Blocks) {
			break
		}
		block := &f.blocks[b.Blocks[n]]
		if t.pending {
			if f.returns++; t.expects != 0 && t.expects != block.PC {
				f.wrong = append(f.wrong, fmt.Sprintf("T%d returns to %#x, expected at %#x", b.Thread, block.PC, t.expects))
			}
			t.pending = false
		}
		switch block.End {
		case event.EndCall, event.EndCallInd:
			t.stack = append(t.stack, block.Next())
		case event.EndReturn:
			t.pop()
		}
	}
	return nil
}

func (t *folded) pop() {
	t.pending, t.expects = true, 0
	if n := len(t.stack); n > 0 {
		t.expects, t.stack = t.stack[n-1], t.stack[:n-1]
	}
}

func (f *folder) event(t *folded, e *event.Event) {
	switch {
	case e.Kind == event.Unwound:
		f.told++
		if t.pending && t.expects != 0 {
			t.stack = append(t.stack, t.expects) // for now
		}
		if t.pending = false; e.Arg > uint64(len(t.stack)) {
			f.wrong = append(f.wrong, fmt.Sprintf("%d of %d frames are left", e.Arg, len(t.stack)))
			return
		}
		t.stack = t.stack[:e.Arg]
	case e.Kind == event.Rewound:
		t.stack = append(t.stack, e.Obj)
	case e.Mode&event.Returns != 0:
		t.pop()
	}
}

// TestStacksFold runs programs of every kind. The reports about call stacks must cover
// everything that calls and returns do not show.
func TestStacksFold(t *testing.T) {
	for _, name := range []string{"bank", "compiler", "interpreter", "sort", "race_detached", "race_semaphore", "race_cond_flag", "mp3d", "water"} {
		data, err := examples.ELF(name)
		if err != nil {
			t.Fatal(err)
		}
		checkFold(t, name, data, 0)
	}
	const cxx = "riscv64-linux-gnu-g++"
	needTools(t, cxx)
	for program, told := range map[string]int{"stacks": 10, "leaving": 100} {
		elf := filepath.Join(t.TempDir(), program)
		args := []string{"-O1", "-static", "-pthread", "-fopenmp", "-o", elf, filepath.Join(sourceDir, "testdata/stacks", program+".cc")}
		if text, err := exec.Command(cxx, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		data, err := os.ReadFile(elf)
		if err != nil {
			t.Fatal(err)
		}
		checkFold(t, program, data, told)
	}
}

func checkFold(t *testing.T, name string, elf []byte, told int) {
	t.Helper()
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{threads: map[event.ThreadID]*folded{}}
	hooks, at := hook.New(img)
	m, err := mpsim.New(mpsim.Config{Image: img, Args: []string{name}, Seed: 3, Stdout: io.Discard, Stderr: io.Discard, Observer: f, Hooks: hooks, HookAt: at, MaxInsts: 30e6})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(f.wrong) > 0 {
		t.Errorf("%s: %d returns go elsewhere: %s", name, len(f.wrong), f.wrong[0])
	}
	if t.Logf("%s: %d returns, %d told", name, f.returns, f.told); f.returns < 100 || f.told < told {
		t.Errorf("%s: %d returns, %d told", name, f.returns, f.told)
	}
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
