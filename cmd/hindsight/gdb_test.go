package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/examples"
	"hindsight/examples/cross"
	"hindsight/mpsim/session"
)

// recordedExample returns the trace of a run of an example.
func recordedExample(t *testing.T, name string, seed int) string {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, name), filepath.Join(dir, name+".hst")
	if err := os.WriteFile(program, elf, 0o700); err != nil {
		t.Fatal(err)
	}
	if status, _, text := invoke("run", "--seed", fmt.Sprint(seed), "-o", file, program); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	return file
}

// gdbScript runs a Python script in gdb on a trace, and returns its output.
func gdbScript(t *testing.T, file, script string) string {
	t.Helper()
	needTools(t, "gdb-multiarch")
	at := filepath.Join(t.TempDir(), "script.py")
	if err := os.WriteFile(at, []byte("import gdb\ngdb.execute('set pagination off')\n"+script), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	status := run([]string{"gdb", "--gdb", "gdb-multiarch", file, "--", "-nx", "-batch", "-x", at}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if status != 0 || strings.Contains(errs.String(), "Traceback") || strings.Contains(errs.String(), "Error") {
		t.Fatalf("status %d\n%s\n%s", status, out.String(), errs.String())
	}
	return out.String()
}

// told returns the values of lines "NAME: VALUE" that a script printed.
func told(t *testing.T, out, name string) []string {
	t.Helper()
	var values []string
	for _, m := range regexp.MustCompile(`(?m)^`+name+`: (.*)$`).FindAllStringSubmatch(out, -1) {
		values = append(values, m[1])
	}
	if len(values) == 0 {
		t.Fatalf("no %q in:\n%s", name, out)
	}
	return values
}

// TestGDBRace stops at both sides of a race, prints them, and goes back to the write that
// the later one overwrites, by the index of the trace and by running.
func TestGDBRace(t *testing.T) {
	out := gdbScript(t, recordedExample(t, "bank", 3), `
import re
def now(): return re.search(r"time ([\d,]+)", gdb.execute("monitor when", to_string=True))[1].replace(",", "")
def tell(side):
    f = gdb.selected_frame()
    print("side: %s %s %s %s" % (side, gdb.selected_thread().name, f.name(), f.older().name()))
    print("time: " + now())
gdb.execute("race R1 1"); tell(1)
gdb.execute("race R1 2"); tell(2)
insn = gdb.execute("x/i $pc", to_string=True)
reg, base = re.search(r"s?[dw]\s+(\w+),-?\d+\((\w+)\)", insn).groups()
print("instruction: " + insn.strip())
gdb.execute("watch balance")
gdb.execute("reverse-continue")
print("indexed: " + now())
gdb.execute("delete")  # gdb would compare with the value there
gdb.execute("race R1 2")
gdb.execute("watch balance")
gdb.execute("break *0x10000")  # nothing is ever there
gdb.execute("reverse-continue")
print("found: " + now())
gdb.execute("delete")
text = gdb.execute("lastwrite balance", to_string=True)
gdb.execute("race R1 2")
text = gdb.execute("lastwrite balance", to_string=True)
print("last: " + re.search(r"time (\d+)", text)[1])
print("sum: %d" % sum(int(gdb.parse_and_eval("balance[%d]" % i)) for i in range(8)))
for command in ("set var balance[0] = 1", "set var $a0 = 1", "print transfer(1,2,3)"):
    try:
        gdb.execute(command)
        print("refused: no")
    except gdb.error as e:
        print("refused: " + str(e))
`)
	sides, times := told(t, out, "side"), told(t, out, "time")
	if len(sides) != 2 || sides[0] == sides[1] {
		t.Errorf("sides %q", sides)
	}
	before, _ := strconv.Atoi(times[0])
	after, _ := strconv.Atoi(times[1])
	if before >= after || before == 0 {
		t.Errorf("times %v", times)
	}
	indexed, found, last := told(t, out, "indexed")[0], told(t, out, "found")[0], told(t, out, "last")[0]
	if indexed != found || indexed != last {
		t.Errorf("the write before was at %s by a watchpoint, %s beside a breakpoint, %s by lastwrite", indexed, found, last)
	}
	for _, text := range told(t, out, "refused") {
		if text == "no" {
			t.Errorf("something could be changed:\n%s", out)
		}
	}
}

// TestGDBOrder steps single threads of a run and compares the order of the threads with
// the schedule of the run, and stepping backward with stepping forward.
func TestGDBOrder(t *testing.T) {
	file := recordedExample(t, "race_counter", 5)
	out := gdbScript(t, file, `
import re
def now(): return int(re.search(r"time ([\d,]+)", gdb.execute("monitor when", to_string=True))[1].replace(",", ""))
def here(): return "%d %d %s %#x" % (now(), gdb.selected_thread().ptid[1] or gdb.selected_thread().ptid[2], gdb.selected_thread().name, int(gdb.parse_and_eval("$pc")))
gdb.execute("race R1 1")
on = [here()]
for i in range(60):
    threads = sorted(gdb.selected_inferior().threads(), key=lambda t: t.num)
    if i % 10 == 9:
        threads[i // 10 % len(threads)].switch()
    try:
        gdb.execute("stepi", to_string=True)
    except gdb.error as e:
        break
    on.append(here())
    print("step: " + on[-1])
back = []
gdb.execute("reverse-stepi", to_string=True)
print("back: " + here())
gdb.execute("stepi", to_string=True)
print("again: " + here())
print("there: " + on[-1])
`)
	trace, err := cdr.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	again, std, done, err := new(session.Rerun).Run(context.Background(), trace)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	again.Trail = true
	res, err := again.Simulate(t.Context(), std, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := func(at uint64) int {
		for _, s := range res.Schedule.Steps {
			if at < s.Count {
				return int(s.Thread)
			}
			at -= s.Count
		}
		return -1
	}
	for _, step := range told(t, out, "step") {
		var at uint64
		var id int
		if _, err := fmt.Sscanf(step, "%d %d", &at, &id); err != nil {
			t.Fatal(err)
		}
		if want := runs(at - 1); want != id-1 {
			t.Errorf("step %q: in the run it is T%d that executes instruction %d", step, want, at-1)
		}
	}
	if again, there := told(t, out, "again")[0], told(t, out, "there")[0]; again != there {
		t.Errorf("on %q, back and on again %q", there, again)
	}
}

// compiled compiles a C program or shared object without optimisation.
func compiled(t *testing.T, output, source string, flags ...string) {
	t.Helper()
	needTools(t, cross.Compiler)
	if err := os.WriteFile(output+".c", []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O0", "-g", "-pthread", "-o", output, output + ".c"}, flags...)
	if out, err := exec.CommandContext(t.Context(), cross.Compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// recordedSource compiles a C program and records a run of it.
func recordedSource(t *testing.T, name, source string, status int, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	compiled(t, program, source, "-static")
	trace := program + ".hst"
	if got, _, text := invoke(append([]string{"run", "-o", trace, program}, args...)...); got != status {
		t.Fatalf("status %d: %s", got, text)
	}
	return trace
}

// TestGDBCrash checks that a run that a signal ended stops with the signal at the
// faulting instruction, that continuing leads to the end of the history, and that going
// backward still works. Events of gdb's Python API report the stops.
func TestGDBCrash(t *testing.T) {
	out := gdbScript(t, recordedSource(t, "steps", steps, 139, "crash"), `
def stopped(e):
    print("event: %s %s" % (type(e).__name__, getattr(e, "stop_signal", "")))
gdb.events.stop.connect(stopped)
gdb.execute("continue")
f = gdb.selected_frame()
print("line: %s %d" % (f.name(), f.find_sal().line))
print("nowhere: %s" % gdb.parse_and_eval("(long)nowhere"))
print("threads: %d" % len(gdb.selected_inferior().threads()))
gdb.execute("continue")
gdb.Breakpoint("twice")
gdb.execute("reverse-continue")
f = gdb.selected_frame()
print("back: %s %s" % (f.name(), f.read_var("n")))
print("symbol: %s" % f.function().symtab.filename.split("/")[-1])
gdb.execute("reverse-finish")
print("caller: %s" % gdb.selected_frame().name())
print("memory: %d" % len(gdb.selected_inferior().read_memory(gdb.parse_and_eval("&total"), 4)))
`)
	want := map[string]string{
		"line": "main " + strconv.Itoa(lineOf(steps, "*nowhere = total")), "nowhere": "0", "threads": "1",
		"back": "twice 6", "symbol": "steps.c", "caller": "worker", "memory": "4",
	}
	for name, value := range want {
		if got := told(t, out, name)[0]; got != value {
			t.Errorf("%s: %s, want %s", name, got, value)
		}
	}
	if events := told(t, out, "event"); events[0] != "SignalEvent SIGSEGV" || !strings.HasPrefix(events[2], "BreakpointEvent") {
		t.Errorf("events %q", events)
	}
}

const long = `
volatile long sum;
long untouched;
int main(void)
{
	for (long i = 0; i < 12000000; i++)
		sum += i;
	return 0;
}
`

// TestGDBInterrupt checks that Ctrl-C ends a long reverse-continue, and that the run can
// be examined where it stops.
func TestGDBInterrupt(t *testing.T) {
	out := gdbScript(t, recordedSource(t, "long", long, 0), `
import os, re, signal, threading
def now(): return int(re.search(r"time ([\d,]+)", gdb.execute("monitor when", to_string=True))[1].replace(",", ""))
gdb.execute("goto end")
print("end: %d" % now())
signals = []
gdb.events.stop.connect(lambda e: signals.append(getattr(e, "stop_signal", "none")))
gdb.execute("rwatch untouched")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    gdb.execute("reverse-continue")
except KeyboardInterrupt:
    pass
print("signal: %s" % signals)
print("stands: %d" % now())
print("frame: %s" % gdb.selected_frame().name())
gdb.execute("delete")
gdb.execute("goto begin")
print("begin: %d" % now())
`)
	if got := told(t, out, "signal")[0]; got != "['SIGINT']" {
		t.Errorf("stopped by %s", got)
	}
	if told(t, out, "begin")[0] != "0" || told(t, out, "end")[0] == "0" {
		t.Errorf("%s", out)
	}
}

// loads is a program whose threads have thread-local variables in the executable, in a
// shared object of the executable, and in a shared object that the threads load.
const loads = `#include <dlfcn.h>
#include <pthread.h>

__thread int one = 1;
__thread long two[4];
static int shared;
extern int count(int n);

static void *work(void *arg)
{
	one += (int)(long)arg;
	two[1] = 2 * one;
	int n = count(5);
	void *h = dlopen("./plugin.so", RTLD_NOW);
	int (*f)(int) = (int (*)(int))dlsym(h, "plug");
	n += f(3);
	n += f(4);
	shared += n;
	return 0;
}

int main(void)
{
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
`

// TestGDBLibraries checks that gdb knows the shared objects of a dynamically linked
// program from the beginning, including those that are loaded later and after a jump to a
// race, and that it reads the thread-local variables of each.
func TestGDBLibraries(t *testing.T) {
	dir := t.TempDir()
	compiled(t, filepath.Join(dir, "libcount.so"), "__thread int counted = 100; int count(int n) { return counted += n; }", "-shared", "-fPIC")
	compiled(t, filepath.Join(dir, "plugin.so"), "__thread int plugged = 1000; int plug(int n) {\nreturn plugged += n; }", "-shared", "-fPIC")
	compiled(t, filepath.Join(dir, "loads"), loads, "-L"+dir, "-lcount", "-Wl,-rpath,$ORIGIN")
	trace := filepath.Join(dir, "loads.hst")
	if status, _, text := invoke("run", "-o", trace, filepath.Join(dir, "loads")); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	out := gdbScript(t, trace, `
def libraries():
    return " ".join(sorted(o.filename.split("/")[-1] for o in gdb.objfiles() if ".so" in o.filename))
def value(text):
    try:
        return str(gdb.parse_and_eval(text))
    except gdb.error as e:
        return "none"
print("libraries: " + libraries())
gdb.Breakpoint("plug")
gdb.execute("continue")
me = gdb.selected_thread()
f = gdb.selected_frame()
print("frames: %s %s" % (f.name(), f.older().name()))
before = value("plugged")
gdb.execute("delete")
gdb.execute("finish")
print("values: %s %s %s %s" % (value("one - (long)arg"), value("two[1] / one"), value("counted"), value("plugged")))
print("before: " + before)
gdb.execute("watch plugged")
gdb.execute("continue")
print("watched: %s" % value("plugged"))
gdb.execute("delete")
gdb.execute("race R1 1")
print("race: %s %s" % (gdb.selected_frame().name(), gdb.selected_frame().older().is_valid()))
print("later: " + libraries())
gdb.execute("goto begin")
print("begin: " + libraries())
`)
	for name, value := range map[string]string{
		"values": "1 2 105 1003", "watched": "1007", "race": "work True", "frames": "plug work",
	} {
		if got := told(t, out, name)[0]; got != value {
			t.Errorf("%s: %s, want %s", name, got, value)
		}
	}
	all := told(t, out, "libraries")[0]
	for _, name := range []string{"libcount.so", "plugin.so", "libc.so.6", "ld-linux"} {
		if !strings.Contains(all, name) {
			t.Errorf("no %s in %s", name, all)
		}
	}
	if later, begin := told(t, out, "later")[0], told(t, out, "begin")[0]; later != all || begin != all {
		t.Errorf("the shared objects are\n%s\n%s\n%s", all, later, begin)
	}
}
