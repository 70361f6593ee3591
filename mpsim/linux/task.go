package linux

import "fmt"

// Context holds a task's user-visible registers.
type Context struct {
	PC   uint64
	X    [32]uint64
	F    [32]uint64
	FCSR uint32
}

// Numbers of the registers that system calls use.
const (
	regRA = 1
	regSP = 2
	regTP = 4
	regA0 = 10
	regA1 = 11
	regA2 = 12
	regA7 = 17
)

// State says whether a task can run.
type State uint8

const (
	Runnable State = iota
	Blocked
	Dead
)

// WaitKind says what a blocked task waits for.
type WaitKind uint8

const (
	WaitNone WaitKind = iota
	WaitFutex
	WaitSleep
	WaitPipe   // a pipe or an eventfd
	WaitPoll   // one of several files
	WaitSignal // sigsuspend, sigtimedwait, pause
	WaitIPC    // a message queue, or System V semaphores
)

var waitNames = [...]string{"nothing", "futex", "sleep", "pipe", "poll", "signal", "queue"}

func (k WaitKind) String() string {
	if int(k) < len(waitNames) {
		return waitNames[k]
	}
	return "wait?"
}

// Wait describes what a blocked task waits for.
type Wait struct {
	Kind     WaitKind
	Addr     uint64 // of the futex word
	FD       int    // of the pipe or eventfd
	Deadline uint64 // on the clock of Kernel.Now; valid if Timed
	Timed    bool
	Syscall  string // name of the call
}

func (w Wait) String() string {
	switch w.Kind {
	case WaitNone:
		return "nothing"
	case WaitFutex:
		return fmt.Sprintf("futex at %#x", w.Addr)
	case WaitPipe:
		return fmt.Sprintf("%s on file descriptor %d", w.Syscall, w.FD)
	}
	return w.Syscall
}

// Task is a thread of the guest as the kernel sees it.
type Task struct {
	TID      int    // as the guest sees it; MainTID for the main thread
	Name     string // PR_SET_NAME
	State    State
	Wait     Wait   // meaningful while Blocked
	StackLow uint64 // of the stack passed to clone3, or 0
	StackLen uint64

	ctx         *Context
	clearTID    uint64 // set_tid_address, CLONE_CHILD_CLEARTID
	robustHead  uint64
	blocked     sigset
	pending     sigqueue
	restoreMask sigset // the mask to restore if hasRestore
	hasRestore  bool
	altStack    altStack
	affinity    uint64 // mask of processors; 0 means all
	block       blockState
	interrupted interruption
	attention   bool
	own         bool // the program itself created it; see Tracer.Own
}

// blockState says what ends a task's wait, and how.
type blockState struct {
	a0      uint64 // first argument, needed to restart the call
	restart bool   // a signal whose handler has SA_RESTART restarts the call
	timeout int64  // result when the deadline passes

	// expire, if set, is called when the deadline passes and returns the result.
	expire func() int64
	// interrupted, if set, is called when a signal ends the wait.
	interrupted func()
	// retry, if set, retries the call whenever a pipe or similar object has changed. done
	// reports whether there is a result.
	retry func() (ret int64, done bool)

	// partial, if set, returns the result for the work that a call has done when a signal
	// ends it.
	partial func() int64
	holds   *openFile // stays open while the task waits

	own    bool        // the program itself waits for a futex; see Tracer.Own
	futex  *futexQueue // the queue that the task is in
	bitset uint32      // of FUTEX_WAIT_BITSET
	pi     bool        // it waits for a priority-inheriting lock

	sigwait sigset // signals that sigtimedwait waits for
	info    uint64 // address for their siginfo
}

// Pending reports whether the machine must call [Kernel.Deliver] before the task runs.
func (t *Task) Pending() bool { return t.attention }

// Action says what the machine has to do after a call into the kernel.
type Action uint8

const (
	Return    Action = iota // continue at Context.PC
	Block                   // the task sleeps until Kernel.Woken returns it
	Exit                    // the task has ended; others remain
	ExitGroup               // the whole guest has ended
	Clone                   // continue, and start a hart for Outcome.Child
	SigReturn               // continue at Context.PC; all registers may have changed
	Yield                   // continue, but let others run first
)

// Outcome is the kernel's answer to the machine.
type Outcome struct {
	Action Action
	// Child and ChildContext are the new task and its registers, for Clone.
	Child        *Task
	ChildContext Context
	// For ExitGroup, Status is the exit status as a shell shows it, and Signal is the
	// signal that ended the guest, or 0. Message says more if it is not "".
	Status  int
	Signal  int
	Message string
	// Limit is the limit that ended the guest, if one did.
	Limit Limit
}

// Limit is a resource that is limited for a guest.
type Limit uint8

const (
	NoLimit     Limit = iota
	MemoryLimit       // Config.MaxBytes of the space
	ThreadLimit       // Config.MaxTasks
)

// Sleeps reports whether the task sleeps, so that only the passing of time can end its
// wait.
func (t *Task) Sleeps() bool { return t.State == Blocked && t.Wait.Timed && t.Wait.Kind == WaitSleep }
