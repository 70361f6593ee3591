package mpsim_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hindsight/mpsim"
	"hindsight/mpsim/hook"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/tracefmt/event"
)

func build(t *testing.T, source, level string) *image.Space {
	t.Helper()
	const compiler = "riscv64-linux-gnu-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		if os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1" {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed", compiler)
	}
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(compiler, level, "-g", "-static", "-pthread", "-o", out, filepath.Join("testdata", source), "-lm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	img, err := image.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// checker is an observer that compares what it receives with what package event promises.
type checker struct {
	blocks  []event.Block
	threads map[event.ThreadID]*progress
	insts   uint64
	events  []event.Event
	by      []event.ThreadID
	hash    uint64
	written map[uint64]int // number of stores to each address
	outcome *event.Outcome
	wrong   []string
	jumps   bool // the program leaves hooked functions in other ways than by returning
	// handlers are signal handlers, which may start at any place.
	handlers map[uint64]bool
}

// progress is the place where a thread is.
type progress struct {
	last    *event.Block
	started bool
	ended   bool
	returns bool // a hidden call has returned since the last block
}

func (c *checker) fail(format string, args ...any) {
	if len(c.wrong) < 10 {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
}

func (c *checker) Define(blocks []event.Block) error {
	for _, b := range blocks {
		if int(b.ID) != len(c.blocks) {
			c.fail("block %d is defined as number %d", b.ID, len(c.blocks))
		}
		c.blocks = append(c.blocks, b)
	}
	return nil
}

func (c *checker) Batch(b *event.Batch) error {
	c.mix(uint64(b.Thread), b.Insts, uint64(len(b.Blocks)), uint64(len(b.Addrs)), uint64(len(b.Events)))
	for _, id := range b.Blocks {
		c.mix(uint64(id))
	}
	c.mix(b.Addrs...)
	for _, e := range b.Events {
		c.mix(uint64(e.At), uint64(e.Kind), uint64(e.Mode), uint64(e.Size), e.PC, e.Obj, e.Arg)
	}
	p := c.threads[b.Thread]
	if p == nil {
		p = new(progress)
		c.threads[b.Thread] = p
	}
	c.insts += b.Insts
	sites, insts, next := 0, uint64(0), 0
	for n := 0; n <= len(b.Blocks); n++ {
		for ; next < len(b.Events) && int(b.Events[next].At) == n; next++ {
			c.event(p, b.Thread, b.Events[next])
		}
		if n == len(b.Blocks) {
			break
		}
		if int(b.Blocks[n]) >= len(c.blocks) {
			c.fail("block %d is not defined", b.Blocks[n])
			return nil
		}
		block := &c.blocks[b.Blocks[n]]
		c.follow(p, b.Thread, block)
		for n, s := range block.Sites {
			if at := sites + n; s.Access == event.Write && at < len(b.Addrs) {
				c.written[b.Addrs[at]]++
			}
		}
		sites += len(block.Sites)
		insts += uint64(block.Insts)
	}
	if next != len(b.Events) {
		c.fail("event out of place")
	}
	if sites != len(b.Addrs) {
		c.fail("%d addresses for %d sites", len(b.Addrs), sites)
	}
	if insts > b.Insts {
		c.fail("%d instructions in the blocks of %d", insts, b.Insts)
	}
	return nil
}

// mix adds values to the hash of everything received.
func (c *checker) mix(values ...uint64) {
	for _, v := range values {
		c.hash = (bits.RotateLeft64(c.hash, 5) ^ v) * 0x9e3779b97f4a7c15
	}
}

func (c *checker) event(p *progress, th event.ThreadID, e event.Event) {
	c.events = append(c.events, e)
	c.by = append(c.by, th)
	if !p.started && e.Kind != event.ThreadStart || p.ended {
		c.fail("thread %d: %v before its start or after its end", th, e.Kind)
	}
	p.started = true
	p.ended = e.Kind == event.ThreadEnd
	if e.Mode&event.Returns != 0 {
		if p.returns {
			c.fail("thread %d: two returns of one call at %#x", th, e.PC)
		}
		p.returns = true
	}
}

// follow checks that the block can follow the previous one.
func (c *checker) follow(p *progress, th event.ThreadID, b *event.Block) {
	last, returned := p.last, p.returns
	p.last, p.returns = b, false
	if last == nil {
		return
	}
	ok := true
	switch last.End {
	case event.EndFall, event.EndAtomic:
		ok = b.PC == last.Next()
	case event.EndBranch:
		ok = b.PC == last.Next() || b.PC == last.Target
	case event.EndJump:
		ok = returned || b.PC == last.Target
	case event.EndCall:
		ok = b.PC == last.Target
		if returned {
			ok = b.PC == last.Next() || c.jumps
		}
	case event.EndCallInd:
		ok = !returned || b.PC == last.Next() || c.jumps
	}
	if !ok && !c.handlers[b.PC] {
		c.fail("thread %d: block at %#x follows the one at %#x (%v to %#x, returned %v)", th, b.PC, last.PC, last.End, last.Target, returned)
	}
}

func (c *checker) Finish(o event.Outcome) error {
	if c.outcome != nil {
		c.fail("finished twice")
	}
	c.outcome = &o
	if c.insts != o.Insts {
		c.fail("%d instructions in batches of %d", c.insts, o.Insts)
	}
	if len(c.threads) != o.Threads {
		c.fail("%d threads of %d", len(c.threads), o.Threads)
	}
	return nil
}

// watch runs a program with the checker.
func watch(t *testing.T, img *image.Space, cfg mpsim.Config, jumps ...bool) (*checker, *mpsim.Result) {
	t.Helper()
	c := &checker{threads: map[event.ThreadID]*progress{}, written: map[uint64]int{}, jumps: len(jumps) > 0, handlers: map[uint64]bool{}}
	for _, name := range []string{"outer", "inner", "jump"} {
		if s, ok := img.Lookup(name); ok {
			c.handlers[s.Addr] = true
		}
	}
	cfg.Image, cfg.Observer = img, c
	cfg.Hooks, cfg.HookAt = hook.New(img)
	m, err := mpsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.wrong {
		t.Error(w)
	}
	return c, res
}

func TestRecordingKeepsItsPromises(t *testing.T) {
	for _, source := range []string{"threads.c", "atomics.c", "floats.c", "code.c"} {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(source+level, func(t *testing.T) {
				img := build(t, source, level)
				watch(t, img, mpsim.Config{Quantum: 3000})
				one, _ := watch(t, img, mpsim.Config{Policy: mpsim.Random, Seed: 5, Quantum: 777})
				old := runtime.GOMAXPROCS(1)
				two, _ := watch(t, img, mpsim.Config{Policy: mpsim.Random, Seed: 5, Quantum: 777})
				runtime.GOMAXPROCS(old)
				if one.hash != two.hash {
					t.Error("two runs with one seed differ")
				}
			})
		}
	}
}

// TestEventsOfThreads checks the events of a program whose calls are known.
func TestEventsOfThreads(t *testing.T) {
	c, res := watch(t, build(t, "threads.c", "-O2"), mpsim.Config{Policy: mpsim.Random, Seed: 3, Quantum: 500})
	if res.Status != 3 || res.Threads != 5 {
		t.Fatalf("%+v", res)
	}
	count := map[event.Kind]int{}
	owner := map[uint64]event.ThreadID{}
	for n, e := range c.events {
		count[e.Kind]++
		switch e.Kind {
		case event.MutexLock:
			if by, held := owner[e.Obj]; held {
				t.Errorf("thread %d locks %#x that thread %d holds", c.by[n], e.Obj, by)
			}
			owner[e.Obj] = c.by[n]
		case event.MutexUnlock:
			delete(owner, e.Obj)
		}
	}
	for kind, want := range map[event.Kind]int{
		event.Create: 4, event.Join: 4, event.ThreadStart: 5, event.StackMap: 5, event.ThreadEnd: 4,
		event.BarrierEnter: 80, event.BarrierLeave: 80, event.SemPost: 4, event.SemWait: 4,
		event.WriteLock: 4, event.ReadLock: 4, event.CondSignal: 4,
	} {
		if count[kind] != want {
			t.Errorf("%v: %d times, want %d", kind, count[kind], want)
		}
	}
	if count[event.MutexLock] != count[event.MutexUnlock] || count[event.MutexLock] < 2005 {
		t.Errorf("%d locks, %d unlocks", count[event.MutexLock], count[event.MutexUnlock])
	}
}

// TestAtomicEvents counts the events of a program whose atomic accesses are known. Each
// iteration of a worker has 5 that write, and the lock's CAS (which counts as a release,
// see storeConditional). A spinning load is an event only if there was something new to
// see.
func TestAtomicEvents(t *testing.T) {
	img := build(t, "atomics.c", "-O2")
	c, _ := watch(t, img, mpsim.Config{Policy: mpsim.Random, Seed: 11, Quantum: 300})
	at := func(name string) (load, store, rmw int, all event.Mode) {
		s, ok := img.Lookup(name)
		if !ok {
			t.Fatal("no symbol", name)
		}
		all = event.Acquire | event.Release
		for _, e := range c.events {
			if e.Obj-s.Addr >= 4 {
				continue
			}
			switch e.Kind {
			case event.AtomicLoad:
				load++
			case event.AtomicStore:
				store++
				all &= e.Mode
			case event.AtomicRMW:
				rmw++
				all &= e.Mode
			}
		}
		return load, store, rmw, all
	}
	if load, store, rmw, all := at("count"); load > 1 || store != 0 || rmw != 1200 || all != event.Acquire|event.Release {
		t.Errorf("count: %d loads, %d stores, %d read-modify-writes, mode %d", load, store, rmw, all)
	}
	if _, store, rmw, all := at("lock"); store != 1200 || rmw != 1200 || all != event.Release {
		t.Errorf("lock: %d stores, %d read-modify-writes, mode %d", store, rmw, all)
	}
	if load, store, rmw, all := at("flag"); load > 2 || load < 1 || store != 1 || rmw != 0 || all != event.Release {
		t.Errorf("flag: %d loads, %d stores, %d read-modify-writes, mode %d", load, store, rmw, all)
	}
}

// TestInterruptedCalls checks that handlers that run in the middle of hooked calls are
// recorded, with their own locks and posts, even if they leave the calls for good.
func TestInterruptedCalls(t *testing.T) {
	img := build(t, "interrupt.c", "-O1")
	for seed := range uint64(4) {
		c, res := watch(t, img, mpsim.Config{Policy: mpsim.Random, Seed: seed, Quantum: 300}, true)
		if res.Status != 0 {
			t.Fatalf("%+v", res)
		}
		for name, want := range map[string]int{"total": 63, "nested": 60} {
			if s, ok := img.Lookup(name); !ok || c.written[s.Addr] != want {
				t.Errorf("seed %d: %s was written %d times, want %d", seed, name, c.written[s.Addr], want)
			}
		}
		count := map[event.Kind]int{}
		for _, e := range c.events {
			count[e.Kind]++
		}
		if count[event.MutexLock] != count[event.MutexUnlock] || count[event.SemPost] != 63 {
			t.Errorf("seed %d: %v", seed, count)
		}
	}
}

// TestLeftForGood checks that a cancelled thread unwinds out of pthread_cond_wait, and that
// what it runs after that is recorded again.
func TestLeftForGood(t *testing.T) {
	img := build(t, "cancel.c", "-O1")
	c, res := watch(t, img, mpsim.Config{MaxInsts: 5_000_000}, true)
	if res.Status != 0 {
		t.Fatalf("%+v", res)
	}
	cleaned, ok := img.Lookup("cleaned")
	if !ok {
		t.Fatal("no symbol")
	}
	if c.written[cleaned.Addr] == 0 {
		t.Error("the cleanup handler was not recorded")
	}
}

func TestDeadlock(t *testing.T) {
	img := build(t, "broken/deadlock.c", "-O1")
	_, res := watch(t, img, mpsim.Config{})
	if len(res.Deadlock) != 3 {
		t.Fatalf("%+v", res)
	}
	for n, want := range []string{"the end of thread T1", "held by thread T2", "held by thread T1"} {
		if w := res.Deadlock[n]; !strings.Contains(w.For, want) || int(w.Thread) != n {
			t.Errorf("thread %d waits for %q, want %q", w.Thread, w.For, want)
		}
	}
	if f := names(img, res.Deadlock[1].Stack); !strings.Contains(f, "left") {
		t.Errorf("stack %s", f)
	}
}

func TestFault(t *testing.T) {
	img := build(t, "broken/crash.c", "-O1")
	_, res := watch(t, img, mpsim.Config{})
	f := res.Fault
	if f == nil || res.Status != 128+linux.SIGSEGV || f.Signal != linux.SIGSEGV || f.Addr != 0 || f.Thread != 1 {
		t.Fatalf("%+v %+v", res, f)
	}
	if got := names(img, f.Stack); !strings.HasPrefix(got, "inner middle worker start_thread") {
		t.Errorf("stack %s", got)
	}
}

func names(img *image.Space, stack []uint64) string {
	var all []string
	for _, pc := range stack {
		s, _ := img.Func(pc)
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func TestLimitAndCancel(t *testing.T) {
	img := build(t, "broken/spin.c", "-O1")
	_, res := watch(t, img, mpsim.Config{MaxInsts: 123456})
	if !res.LimitReached || res.Insts < 123456 || res.Insts > 123456+64 {
		t.Errorf("%+v", res)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m, err := mpsim.New(mpsim.Config{Image: img})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if res, err = m.Run(ctx); err != nil || !res.Interrupted {
		t.Errorf("%+v %v", res, err)
	}
}

var errFull = errors.New("no space")

// full is an observer whose disk fills up after a while.
type full struct {
	checker
	left int
}

func (f *full) Batch(b *event.Batch) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return nil
}

func TestObserverErrorEndsTheRun(t *testing.T) {
	img := build(t, "broken/spin.c", "-O1")
	f := &full{left: 10}
	m, err := mpsim.New(mpsim.Config{Image: img, Observer: f})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	if f.outcome == nil {
		t.Error("not finished")
	}
}
