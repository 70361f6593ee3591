package linux

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

// Config says what the guest finds. The zero value is a process without arguments,
// environment, files or input, whose output is discarded.
type Config struct {
	Args []string // argv; empty means {"program"}
	Env  []string // "NAME=value"
	Seed uint64   // of everything that looks random to the guest
	CPUs int      // processors that the guest sees; 0 means 8, at most 64

	Stdin io.Reader // nil: empty
	// StdinLines makes a read of Stdin end after a newline, for a terminal. Otherwise a
	// read returns as many bytes as requested, so that what the guest sees does not depend
	// on how the input arrives.
	StdinLines     bool
	Stdout, Stderr io.Writer // nil: discarded

	// Root is a directory of the host that the guest sees as "/"; "" means none.
	// Nothing outside it can be reached, not even by symbolic links. It is only read.
	Root string
	// Writable lets the guest write anywhere. What it writes is in memory; see
	// Kernel.Written.
	Writable bool
	// Over is a directory whose files hide those of Root; "" means none.
	Over string
	// Under are directories whose files are visible, read-only, where Root has none.
	Under []string
	// Objects are files that the guest finds at their paths, whatever Root contains: the
	// program's own shared objects, or those of a run that is repeated.
	Objects map[string]vfs.Object

	// Contents, if not nil, caches host files that earlier runs loaded.
	Contents *vfs.Contents

	// MaxTasks bounds the number of threads that are alive at the same time; 0 means
	// DefaultMaxTasks. Creating one more ends the guest.
	MaxTasks int
	// MaxTempBytes bounds the size of the files in the guest's own /tmp; 0 means 256
	// MiB.
	MaxTempBytes int64

	// Tracer, if not nil, is told what the guest's calls order.
	Tracer Tracer
	// Loaded, if not nil, is called once for each shared object that is loaded.
	Loaded func(*image.Image)
}

// Process and thread ids are constants. Each further thread has the next number after the
// main thread's.
const (
	MainTID   = 1000
	ParentPID = 1
)

// DefaultMaxTasks is the limit of a Config that sets none.
const DefaultMaxTasks = 4096

// ErrProgram wraps the reasons why a program cannot be loaded.
var ErrProgram = errors.New("program cannot be loaded")

// Unsupported is an unsupported system call and how often the guest made it.
type Unsupported struct {
	Name  string
	Count uint64
}

// aProcess follows the name of a call that would have created a process.
const aProcess = " of a process"

// Advice says what a user can do, "" if nothing in general.
func (u Unsupported) Advice() string {
	switch {
	case strings.HasSuffix(u.Name, aProcess):
		return "a run is one process, in which fork, posix_spawn, system and popen fail; run the other program separately"
	case strings.HasPrefix(u.Name, "execve"):
		return "a run is one program; run the other program separately"
	}
	return ""
}

// Kernel is the system call layer of one guest process. The package comment says how it is
// used.
type Kernel struct {
	cfg   Config
	space *mem.Space
	rng   *rand.PCG

	now   uint64  // virtual time
	busy  uint64  // the part of it during which instructions ran
	tasks []*Task // the live ones, in order of creation
	next  int     // tid of the next task
	woken []*Task

	futexes map[uint64]*futexQueue
	signals signalState
	itimer  itimer
	timers  []*posixTimer
	files   fileTable
	vfs     *vfs.FS
	process processState
	images  imageState
	network network
	ipc     ipcState

	unsupported []Unsupported
	dying       *Outcome // set when the guest must end

	// See state.go.
	acting             *Task
	contents           map[uint64]uint64
	cells, signalsSent uint64
	ends               map[uint64]int64 // of files that the run has written, by inode number

	// See trace.go.
	quiet    bool // the kernel's accesses to guest memory are not the program's
	promised []handle
	timerFDs []*timerFD
	cleared  map[uint64]handle // by address: the ends of the threads that cleared their ids there

	trampoline uint64
}

// Close releases the host files that the guest left open.
func (k *Kernel) Close() error {
	for fd := range k.files.slots {
		k.files.close(int32(fd))
	}
	return k.vfs.Close()
}

// Written returns what the guest wrote to files.
func (k *Kernel) Written() vfs.Written { return k.vfs.Written() }

// Settled reports whether no waiting call has done part of its work. Only the call itself
// knows which part; all other state of the kernel is in its own values.
func (k *Kernel) Settled() bool {
	for _, t := range k.tasks {
		if t.State == Blocked && t.block.partial != nil {
			return false
		}
	}
	return true
}

// Tasks returns the live tasks, in order of creation. The slice belongs to the kernel.
func (k *Kernel) Tasks() []*Task { return k.tasks }

// Unsupported returns the guest's unsupported calls, in the order in which they were first
// made.
func (k *Kernel) Unsupported() []Unsupported { return k.unsupported }

// Trampoline returns the address of the page that signal handlers return to.
func (k *Kernel) Trampoline() uint64 { return k.trampoline }

// Woken returns the tasks that became runnable since the last call, in that order. The
// slice belongs to the caller.
func (k *Kernel) Woken() []*Task {
	w := k.woken
	k.woken = nil
	return w
}

// call is one system call in progress.
type call struct {
	*Kernel
	t    *Task
	ctx  *Context
	nr   uint64
	name string
	arg  [6]uint64
	out  Outcome
	// unsignalled says that a write to a pipe without readers sends no signal.
	unsignalled bool
}

// Syscall executes the system call that ctx requests. ctx must be the task's own and stay
// at its address for the task's life. Its PC is after the ecall.
func (k *Kernel) Syscall(t *Task, ctx *Context) Outcome {
	t.ctx = ctx
	c := call{Kernel: k, t: t, ctx: ctx, nr: ctx.X[regA7]}
	copy(c.arg[:], ctx.X[regA0:regA0+6])
	var ret int64
	k.onBehalf(t, func() { ret = c.dispatch() })
	k.quiet = false
	k.retryIO()
	if k.dying != nil {
		return *k.dying
	}
	switch c.out.Action {
	case Block:
		t.block.a0 = c.arg[0]
		if k.deliverable(t) != 0 {
			k.interrupt(t)
		}
		if t.State == Blocked {
			return c.out
		}
		// It did not sleep after all, so remove it from the woken tasks.
		k.unwake(t)
		c.out.Action = Return
	case Exit, ExitGroup:
		return c.out
	case SigReturn:
	default:
		ctx.X[regA0] = uint64(ret)
	}
	if t.Pending() {
		if out := k.Deliver(t, ctx); out.Action == ExitGroup {
			return out
		}
	}
	return c.out
}

// dispatch finds the call in the table and executes it.
func (c *call) dispatch() int64 {
	if c.nr < uint64(len(table)) {
		e := &table[c.nr]
		c.name = e.name
		if e.do != nil {
			return e.do(c)
		}
		if e.name != "" {
			c.note(e.name)
			return -ENOSYS
		}
	}
	c.note("syscall " + utoa(c.nr))
	return -ENOSYS
}

// note records an unsupported call.
func (k *Kernel) note(name string) {
	for i := range k.unsupported {
		if k.unsupported[i].Name == name {
			k.unsupported[i].Count++
			return
		}
	}
	if len(k.unsupported) < maxUnsupported {
		k.unsupported = append(k.unsupported, Unsupported{name, 1})
	}
}

// maxUnsupported bounds the list of unsupported calls.
const maxUnsupported = 512

// sleep makes the task wait. The handler must return what sleep returns.
func (c *call) sleep(w Wait, b blockState) int64 {
	w.Syscall = c.name
	c.t.Wait, c.t.block = w, b
	c.t.State = Blocked
	c.out.Action = Block
	return 0
}

// wake ends a task's wait with result ret.
func (k *Kernel) wake(t *Task, ret int64) {
	if t.State != Blocked {
		return
	}
	k.dequeue(t)
	t.State = Runnable
	held := t.block.holds
	t.Wait, t.block = Wait{}, blockState{}
	if held != nil {
		k.files.release(held)
	}
	t.ctx.X[regA0] = uint64(ret)
	k.woken = append(k.woken, t)
}

// unwake removes a running task from the list of woken tasks.
func (k *Kernel) unwake(t *Task) {
	for i, w := range k.woken {
		if w == t {
			k.woken = append(k.woken[:i], k.woken[i+1:]...)
			return
		}
	}
}

// end ends the guest, whatever else happens.
func (k *Kernel) end(out Outcome) {
	if k.dying == nil {
		out.Action = ExitGroup
		k.dying = &out
	}
}

// fault converts a failed access to the guest's memory to an error number.
func (k *Kernel) fault(f *mem.Fault) int64 {
	if f == nil {
		return 0
	}
	if f.Cause == mem.OverLimit {
		k.end(limitOutcome(f))
	}
	return -EFAULT
}

// limitOutcome returns the outcome of a guest that needs more memory than allowed.
func limitOutcome(f *mem.Fault) Outcome {
	return Outcome{Action: ExitGroup, Status: 128 + SIGKILL, Signal: SIGKILL, Message: "stopped: " + f.Error(), Limit: MemoryLimit}
}
