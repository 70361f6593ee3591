package hook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// guest is a thread driven by hand: its memory, its arguments and the events it emitted.
type guest struct {
	id     event.ThreadID
	args   []uint64
	memory map[uint64]uint64
	log    *[]string
}

func (g *guest) ID() event.ThreadID { return g.id }
func (g *guest) TID() int           { return int(g.id) }
func (g *guest) Handle() uint64     { return 1 }
func (g *guest) Exiting() bool      { return false }
func (g *guest) Arg(n int) uint64 {
	if n < len(g.args) {
		return g.args[n]
	}
	return 0
}
func (g *guest) Load(addr uint64, _ int) (uint64, bool) { v, ok := g.memory[addr]; return v, ok }
func (g *guest) Func() uint64                           { return 0 }

func (g *guest) SP() uint64 { return 0 }

func (g *guest) TP() uint64 { return 0 }

func (g *guest) Emit(kind event.Kind, obj, arg uint64) {
	*g.log = append(*g.log, fmt.Sprintf("T%d %v %d %d", g.id, kind, obj, arg))
}

func (g *guest) EmitSized(kind event.Kind, _ uint32, obj, arg uint64)  { g.Emit(kind, obj, arg) }
func (g *guest) EmitAs(_ event.Mode, kind event.Kind, obj, arg uint64) { g.Emit(kind, obj, arg) }
func (g *guest) Return(int) (uint64, bool)                             { return 0, false }
func (g *guest) CallPC() uint64                                        { return 0 }

func (g *guest) Carries(_, _ uint64) {}
func (g *guest) Atomically(a mpsim.AtomicCall) {
	*g.log = append(*g.log, fmt.Sprintf("T%d %v of %d bytes at %d, %d or %d", g.id, a.Kind, a.Size, a.Addr, a.Mode, a.Else))
}
func (g *guest) AtomicallyDone(bool)                       {}
func (g *guest) EmitStrand(kind event.Kind, strand uint64) { g.Emit(kind, strand, 0) }

func (g *guest) EmitAtomic(kind event.Kind, mode event.Mode, addr uint64, size uint32) {
	*g.log = append(*g.log, fmt.Sprintf("T%d %v %d %d %d", g.id, kind, mode, addr, size))
}

// process drives hooks without a machine.
type process struct {
	t     *testing.T
	state *State
	log   []string
	mem   map[uint64]uint64
}

func newProcess(t *testing.T) *process {
	return &process{t: t, state: NewState(), mem: map[uint64]uint64{}}
}

func (p *process) find(name string) *Func {
	p.t.Helper()
	for i := range Table {
		if slices.Contains(Table[i].Names, name) {
			return &Table[i]
		}
	}
	p.t.Fatalf("%s is not hooked", name)
	return nil
}

// begin enters a function. The caller ends the call with end.
func (p *process) begin(id event.ThreadID, name string, args ...uint64) *Call {
	p.t.Helper()
	c := &Call{Thread: &guest{id, args, p.mem, &p.log}}
	if f := p.find(name); f.Begin != nil {
		f.Begin(p.state, c)
	}
	return c
}

func (p *process) end(c *Call, name string, result uint64) {
	p.t.Helper()
	if f := p.find(name); f.End != nil {
		f.End(p.state, c, result)
	}
}

func (p *process) call(id event.ThreadID, result uint64, name string, args ...uint64) {
	p.t.Helper()
	p.end(p.begin(id, name, args...), name, result)
}

// said checks and clears the events emitted so far.
func (p *process) said(want ...string) {
	p.t.Helper()
	if !slices.Equal(p.log, want) {
		p.t.Errorf("emitted\n\t%s\nwant\n\t%s", strings.Join(p.log, "\n\t"), strings.Join(want, "\n\t"))
	}
	p.log = nil
}

// Error numbers, and -1.
const notPermitted, busy, invalid, timedOut, interrupted = 1, 16, 22, 110, ^uint64(0)

func TestLocks(t *testing.T) {
	p := newProcess(t)
	p.call(1, 0, "pthread_mutex_lock", 8)
	p.call(2, busy, "pthread_mutex_trylock", 8)
	p.said("T1 lock 8 0")
	waiting := p.begin(2, "pthread_mutex_lock", 8)
	if got := p.find("pthread_mutex_lock").Waits(p.state, waiting); got != "mutex 0x8 held by thread T1" {
		t.Errorf("waits for %q", got)
	}
	p.call(1, 0, "pthread_mutex_unlock", 8)
	p.end(waiting, "pthread_mutex_lock", 0)
	p.said("T1 unlock 8 0", "T2 lock 8 0")

	p.call(1, 0, "pthread_rwlock_rdlock", 16)
	p.call(1, 0, "pthread_rwlock_rdlock", 16)
	p.call(1, 0, "pthread_rwlock_unlock", 16)
	p.call(1, 0, "pthread_rwlock_unlock", 16)
	p.call(1, 0, "pthread_rwlock_wrlock", 16)
	p.call(1, 0, "pthread_rwlock_unlock", 16)
	p.said("T1 read-lock 16 0", "T1 read-lock 16 0", "T1 read-unlock 16 0", "T1 read-unlock 16 0",
		"T1 write-lock 16 0", "T1 write-unlock 16 0")
}

// TestBarrier checks that a thread that is early for the next generation is not confused
// with one that leaves the last generation late.
func TestBarrier(t *testing.T) {
	p := newProcess(t)
	p.call(0, 0, "pthread_barrier_init", 8, 0, 2)
	p.said(fmt.Sprintf("T0 init 8 %d", event.BarrierEnter), "T0 range-write 8 32")
	a := p.begin(1, "pthread_barrier_wait", 8)
	b := p.begin(2, "pthread_barrier_wait", 8)
	p.end(a, "pthread_barrier_wait", 0)
	again := p.begin(1, "pthread_barrier_wait", 8)
	p.end(b, "pthread_barrier_wait", interrupted) // PTHREAD_BARRIER_SERIAL_THREAD
	b = p.begin(2, "pthread_barrier_wait", 8)
	p.end(again, "pthread_barrier_wait", 0)
	p.end(b, "pthread_barrier_wait", 0)
	p.said("T1 barrier-enter 8 0", "T2 barrier-enter 8 0", "T1 barrier-leave 8 0", "T1 barrier-enter 8 1",
		"T2 barrier-leave 8 0", "T2 barrier-enter 8 1", "T1 barrier-leave 8 1", "T2 barrier-leave 8 1")
}

func TestCondition(t *testing.T) {
	p := newProcess(t)
	p.mem[16+mutexOwner] = 1 // T1 holds the mutex
	p.call(1, timedOut, "pthread_cond_timedwait", 8, 16, 0)
	p.call(2, 0, "pthread_cond_signal", 8)
	p.said("T1 cond-wait 8 16", "T1 unlock 16 0", "T1 lock 16 0", "T2 cond-signal 8 0")
	p.mem[100+8] = 1e9 // no time
	p.call(1, invalid, "pthread_cond_timedwait", 8, 16, 100)
	p.said("T1 range-read 100 16")
	p.mem[16+mutexKind] = kindChecked
	p.call(2, notPermitted, "pthread_cond_wait", 8, 16) // does not hold it
	p.said("T2 cond-wait 8 16")
	left := p.begin(1, "pthread_cond_wait", 8, 16)
	p.mem[16+mutexOwner] = 2
	p.find("pthread_cond_wait").Abandon(p.state, left) // by a long jump
	p.said("T1 cond-wait 8 16", "T1 unlock 16 0")
}

// TestFailedUnlocks checks that failing calls, and the inner ones of nested calls, order
// nothing.
func TestFailedUnlocks(t *testing.T) {
	p := newProcess(t)
	for _, kind := range []uint64{kindChecked, kindRecursive, kindRobust, kindInherit, kindRobust | kindInherit | kindRecursive} {
		p.mem = map[uint64]uint64{8 + mutexKind: kind, 8 + mutexCount: 1, 8 + mutexOwner: 1, 8: 1}
		p.call(2, notPermitted, "pthread_mutex_unlock", 8)
		p.said()
		p.call(1, 0, "pthread_mutex_unlock", 8)
		p.said("T1 unlock 8 0")
	}
	p.mem = map[uint64]uint64{8 + mutexOwner: 1}
	p.call(2, 0, "pthread_mutex_unlock", 8) // a plain mutex does not check who unlocks it
	p.said("T2 unlock 8 0")

	p.mem = map[uint64]uint64{8 + mutexKind: kindRecursive, 8 + mutexCount: 2, 8 + mutexOwner: 1}
	p.call(1, 0, "pthread_mutex_lock", 8)
	p.call(1, 0, "mtx_unlock", 8)
	p.said()
	p.call(1, busy, "pthread_mutex_destroy", 8)
	p.said()
}

func TestSemaphore(t *testing.T) {
	p := newProcess(t)
	p.call(1, 0, "sem_post", 8)
	p.call(2, 0, "sem_wait", 8)
	p.call(2, interrupted, "sem_trywait", 8)
	p.said("T1 sem-post 8 0", "T2 sem-wait 8 0")
	p.mem[8] = semaphoreMax
	p.call(1, interrupted, "sem_post", 8)
	p.said()
	p.call(1, 0, "sem_post", 8) // somebody took one in the meantime
	p.said("T1 sem-post 8 0")
}

func TestJoin(t *testing.T) {
	p := newProcess(t)
	p.mem[100] = 7777 // where pthread_create stores the handle
	p.state.Created(p.begin(0, "pthread_create", 100, 0, 0, 0), 3, 9999)
	p.said("T0 range-write 100 8")
	p.call(0, timedOut, "pthread_timedjoin_np", 7777, 0, 0)
	p.said()
	p.call(0, 0, "pthread_join", 7777, 200)
	p.said("T0 join 3 0", "T0 range-write 200 8")
	p.call(0, 0, "pthread_join", 7777, 0) // already joined: the handle may belong to another thread now
	p.said()
	p.state.mainPointer = 5000
	p.call(3, 0, "pthread_join", 5000-(9999-7777), 0)
	p.said("T3 join 0 0")
}

func TestHeap(t *testing.T) {
	p := newProcess(t)
	p.call(1, 64, "malloc", 24)
	p.call(1, 128, "calloc", 3, 5)
	p.call(1, 0, "malloc", 1<<60)
	p.said("T1 alloc 64 24", "T1 alloc 128 15")
	p.call(1, 256, "realloc", 64, 48) // moved
	p.said("T1 free 64 24", "T1 alloc 256 48")
	p.call(1, 0, "realloc", 256, 1<<60) // failed: the block stays allocated
	p.said("T1 free 256 48", "T1 alloc 256 48")
	p.call(1, 512, "realloc", 0, 8) // a malloc
	p.said("T1 alloc 512 8")
	p.mem[100] = 1024
	p.call(1, 0, "posix_memalign", 100, 64, 32)
	p.call(2, 0, "free", 1024)
	p.call(2, 0, "free", 0)
	p.call(2, 0, "free", 4096) // not ours
	p.said("T1 range-write 100 8", "T1 alloc 1024 32", "T2 free 1024 32", "T2 free 4096 0")
	p.call(1, mmapFailed, "mmap", 0, 4096)
	p.call(1, 8192, "mmap", 0, 4096)
	p.call(1, 0, "munmap", 8192, 4096)
	p.said("T1 map 8192 4096", "T1 unmap 8192 4096")
}

// TestReferenceCount checks that each thread that drops a reference releases when the call
// begins, and that the last one acquires.
func TestReferenceCount(t *testing.T) {
	p := newProcess(t)
	const less = 1<<64 - 1
	p.call(1, 1, "_ZN9__gnu_cxx18__exchange_and_addEPVii", 64, 1)
	p.call(1, 2, "_ZN9__gnu_cxx18__exchange_and_addEPVii", 64, less)
	p.call(1, 1, "_ZN9__gnu_cxx18__exchange_and_addEPVii", 64, less)
	p.said("T1 atomic-rmw 0 64 4", "T1 atomic-rmw 2 64 4", "T1 atomic-rmw 2 64 4", "T1 atomic-load 1 64 4")
}

// TestTable checks that no function is hooked twice.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Table {
		if len(f.Names) == 0 {
			t.Error("a row without names")
		}
		for _, name := range f.Names {
			if seen[name] {
				t.Errorf("%s stands in two rows", name)
			}
			seen[name] = true
		}
	}
}
