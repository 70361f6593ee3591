package mpsim

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"hindsight/mpsim/image"
	"hindsight/mpsim/intent"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Machine is a run in progress. See the package comment.
type Machine struct {
	cfg    Config
	space  *mem.Space
	kernel *linux.Kernel
	sched  scheduler
	code   codeCache
	rec    *recorder // nil: nothing is recorded
	values bool      // are recorded too

	harts    []*Hart // that are alive, in order of their ids
	hartOf   map[*linux.Task]*Hart
	threads  event.ThreadID
	versions map[uint64]version // of granules with atomic variables
	authors  map[uint64]author  // of places in the code
	intent   *intent.Code
	// objectPages are the pages in which versions has granules.
	objectPages map[uint64]struct{}

	// See fiber.go.
	fiberHooks FiberHooks // nil: there are none
	fibers     map[uint64]*fiber

	// See calls.go.
	switchers []span
	exit      span
	starter   uint64            // where the functions of threads return to, in a C library that does not name it
	suspended map[frame][]frame // stacks that are not on a hart, by their innermost frame

	// See orders.go.
	calling *Hart  // that the kernel does something for
	place   uint64 // where it is
	handles uint64 // given out

	// See steer.go, follow.go and trail.go.
	breaks breaks // nil: there are none
	trail  trail
	last   *Hart // that ran last
	begun  bool
	paused bool

	trampoline uint64 // where signal handlers return to
	clock      uint64 // nanoseconds when the stretch began, of a replay
	watch      *watches
	covered    codeSet    // code that was decoded, if asked for
	warm       *knowledge // of earlier runs; nil: there is none

	hang        hanging
	kept        bool // there are checkpoints: see rewound.go
	ended       bool
	result      Result
	interrupted atomic.Bool
}

// New loads the program of cfg. Errors wrap [ErrConfig] or linux.ErrProgram.
func New(cfg Config) (*Machine, error) {
	switch {
	case cfg.Image == nil:
		return nil, fmt.Errorf("%w: no image", ErrConfig)
	case cfg.Policy > Coverage:
		return nil, fmt.Errorf("%w: unknown policy %d", ErrConfig, cfg.Policy)
	case cfg.Quantum < 0 || cfg.Quantum > maxQuantum:
		return nil, fmt.Errorf("%w: quantum %d", ErrConfig, cfg.Quantum)
	case cfg.Depth < 0 || cfg.Depth > maxDepth:
		return nil, fmt.Errorf("%w: depth %d: want 1 to %d", ErrConfig, cfg.Depth, maxDepth)
	}
	m := &Machine{
		cfg:      cfg,
		space:    mem.New(mem.Config{MaxBytes: cfg.MaxMemory}),
		versions: map[uint64]version{},
		intent:   intent.New(cfg.Image),

		objectPages: map[uint64]struct{}{},
		hartOf:      map[*linux.Task]*Hart{},
		code:        codeCache{pages: map[uint64]*codePage{}, known: map[uint64][]*block{}},
	}
	if cfg.Hooks != nil {
		m.code.hooks = maps.Clone(cfg.HookAt)
		if m.fiberHooks, _ = cfg.Hooks.(FiberHooks); m.fiberHooks != nil {
			m.fibers = map[uint64]*fiber{}
		}
	}
	guest := cfg.kernel()
	guest.Tracer, guest.Loaded = m, m.loaded
	kernel, task, ctx, err := linux.New(guest, m.space, cfg.Image)
	if err != nil {
		return nil, err
	}
	m.kernel, m.trampoline = kernel, kernel.Trampoline()
	m.sched.init(&cfg)
	m.trail.on = cfg.Trail
	m.code.generation = m.space.CodeGeneration()
	if m.cfg.Observer == nil && cfg.Schedule.Counts() {
		m.cfg.Observer = event.Tee()
	}
	if m.cfg.Observer != nil {
		m.rec = newRecorder(m.cfg.Observer)
		m.rec.user = cfg.Image.User
		m.values = m.rec.values
		m.rec.acting = m.actingFor
	}
	if m.rec != nil || cfg.Journal != nil {
		m.space.Watch(m.touched)
	}
	m.warmUp(cfg.Warm)
	for _, img := range cfg.Image.Images() {
		m.takeUp(img)
	}
	m.newHart(task, ctx)
	if cfg.Journal != nil {
		cfg.Journal.begin(m)
	}
	return m, nil
}

// loaded is told of a shared object that the guest has loaded, the first of them
// by the kernel before the run begins.
func (m *Machine) loaded(img *image.Image) {
	if m.kernel != nil {
		m.takeUp(img)
	}
}

// linked is called when the program's own first instruction is about to run: the
// dynamic linker, if there is one, has loaded what the program needs.
func (m *Machine) linked(h *Hart) {
	m.kernel.Started()
	if hooks, ok := m.cfg.Hooks.(SharedHooks); ok && m.cfg.Image.Main.Interp != "" {
		h.call = hooked{site: h.PC}
		hooks.Linked(h)
	}
}

// takeUp finds in an image what the machine and its hooks stop at.
func (m *Machine) takeUp(img *image.Image) {
	m.coolDown(img)
	m.findSwitchers(img)
	if m.cfg.Hooks != nil && img != m.cfg.Image.Main {
		if m.code.hooks == nil {
			m.code.hooks = map[uint64]int{}
		}
		maps.Copy(m.code.hooks, m.cfg.Hooks.Loaded(img))
	}
	if m.rec == nil || m.fiberHooks != nil {
		return
	}
	m.rec.fences = m.rec.fences || hasFences(m.cfg.Image, img)
	if m.rec.atomic == nil && m.cfg.Image.HasDebug() {
		m.rec.atomic = m.intent.Atomic
	}
	if img != m.cfg.Image.Main {
		m.rec.images = append(m.rec.images, event.Image{Path: img.Path, Base: img.Base, Late: m.kernel.Begun(), Data: img.Data, Digest: img.Digest})
	}
}

// Space is the guest's memory.
func (m *Machine) Space() *mem.Space { return m.space }

// Run runs the guest to its end, or until ctx is cancelled or the observer has
// an error, and closes the observer. It can be called once. The error is that
// of the observer or of the machine's own files; whatever the guest does to
// itself is in the Result.
func (m *Machine) Run(ctx context.Context) (*Result, error) {
	for !m.Advance(ctx) {
	}
	return m.Finish()
}

// Advance runs the guest until it has ended, which it returns, or [Machine.Pause] was
// called, or ctx is cancelled: then the run has ended as well. It is for runs that are
// steered; [Machine.Finish] ends them.
func (m *Machine) Advance(ctx context.Context) (ended bool) {
	stop := context.AfterFunc(ctx, func() { m.interrupted.Store(true) })
	defer stop()
	if !m.begun {
		m.begun = true
		m.start(m.harts[0], 0)
	}
	m.paused = false
	for !m.ended && !m.paused {
		h := m.sched.next(m)
		if h == nil {
			m.idle()
			continue
		}
		if h != m.last {
			m.switchTo(m.last, h)
			m.last = h
		}
		m.slice(h)
		m.account(h)
	}
	return m.ended
}

// start emits the events with which a thread begins.
func (m *Machine) start(h *Hart, parent event.ThreadID) {
	low, bytes := h.task.StackLow, h.task.StackLen
	if v, ok := m.space.Find(h.X[regSP] - 1); ok && bytes == 0 {
		low = v.Start
		if !h.task.Own() {
			bytes = v.Len()
		}
		// Of a stack that the program gave to clone, nobody knows how large it is.
	}
	if m.fiberHooks != nil && h.id != 0 {
		bytes = 0 // it is in the heap of the runtime
	}
	h.stackLow = low
	if h.task.StackLen != 0 || h.id == 0 {
		h.stack = span{low, bytes}
	}
	if h.m.cfg.Hooks != nil {
		h.m.cfg.Hooks.Started(h.X[regTP])
	}
	h.first = append(h.first,
		event.Event{Kind: event.ThreadStart, Obj: uint64(parent), Arg: h.X[regTP]},
		event.Event{Kind: event.StackMap, Obj: low, Arg: bytes},
	)
}

// switchTo ends the batch of one hart and begins that of another.
func (m *Machine) switchTo(from, to *Hart) {
	if m.rec == nil {
		return
	}
	if from != nil {
		m.rec.flush(from)
	}
	m.rec.begin(to)
	if len(to.first) > 0 {
		m.rec.batch.Events = append(m.rec.batch.Events, to.first...)
		m.rec.begun(to)
		if m.values {
			to.orderedBy(place(placeBegin, uint64(to.id)), placeBytes)
		}
		to.first = nil
	}
}

// account moves the virtual clock on by what the slice ran, and looks at what
// may end the run.
func (m *Machine) account(h *Hart) {
	m.tick(h)
	if m.cfg.Journal != nil {
		m.cfg.Journal.ran(h)
	}
	ran := h.granted - h.left
	h.retired += uint64(ran)
	m.trail.ran(h, uint64(ran))
	if m.sched.following() {
		m.sched.stepped(m, h, uint64(ran))
		h.spin = spinning{}
	} else {
		m.sched.ran(h, ran)
	}
	h.granted, h.left, h.ticked = 0, 0, 0
	if h.task.State != linux.Runnable {
		m.trail.waits()
	}
	if m.cfg.Sliced != nil {
		m.cfg.Sliced(h)
	}
	if m.ended {
		return
	}
	if deadline, ok := m.kernel.NextDeadline(); ok && deadline <= m.kernel.Now() {
		m.trail.cut()
		m.settle(m.kernelCall(nil, event.EffectSignal, m.kernel.Expire))
	}
	switch {
	case m.interrupted.Load():
		m.interrupt()
	case m.cfg.MaxInsts != 0 && m.result.Insts >= m.cfg.MaxInsts, m.cfg.OnlySchedule && !m.sched.following():
		m.result.LimitReached, m.result.Stood = true, m.standing()
		m.end(linux.Outcome{Status: 128 + linux.SIGKILL, Message: fmt.Sprintf("stopped after %d instructions", m.result.Insts)})
	case m.cfg.HangInsts != 0 && m.result.Insts >= m.hang.next && m.hung():
		m.stopHung()
	case m.rec != nil && m.rec.err() != nil:
		m.end(linux.Outcome{Status: 128 + linux.SIGKILL, Message: "recording failed"})
	}
}

// interrupt ends the run because the context was cancelled.
func (m *Machine) interrupt() {
	m.result.Interrupted, m.result.Stood = true, m.standing()
	m.end(linux.Outcome{Status: 128 + linux.SIGINT, Message: "interrupted"})
}

// tick moves the clock on by what h ran since the last tick: one nanosecond an
// instruction.
func (m *Machine) tick(h *Hart) {
	ran := h.granted - h.left - h.ticked
	h.ticked += ran
	m.result.Insts += uint64(ran)
	m.kernel.Advance(uint64(ran))
}

// now is the guest's time, in nanoseconds, when the slice under way began or the
// kernel was called last.
func (m *Machine) now() uint64 {
	if m.kernel == nil {
		return m.clock
	}
	return m.kernel.Now()
}

// idle is for when no thread can run: time passes to the next deadline, or the
// guest is deadlocked.
func (m *Machine) idle() {
	if m.interrupted.Load() {
		m.interrupt()
		return
	}
	if m.ended {
		return // a step of a schedule ended the run
	}
	deadline, ok := m.kernel.NextDeadline()
	if !ok {
		if m.held() && m.cfg.Stuck != nil {
			m.cfg.Stuck()
		}
		if !m.paused && m.anyRunnable() {
			return
		}
		if !m.paused {
			m.deadlock()
		}
		return
	}
	if m.held() { // a run in which nobody is held would not wait for that
		m.trail.clock(deadline)
	}
	m.kernel.AdvanceTo(deadline)
	m.settle(m.kernelCall(nil, event.EffectSignal, m.kernel.Expire))
}

// settle takes an outcome of the kernel that is no answer to a call.
func (m *Machine) settle(out linux.Outcome) {
	if out.Action == linux.ExitGroup {
		m.end(out)
	}
}

// end ends the run.
func (m *Machine) end(out linux.Outcome) {
	if m.ended {
		return
	}
	m.ended = true
	m.result.Status, m.result.Signal, m.result.Message, m.result.Limit = out.Status, out.Signal, out.Message, out.Limit
}

func (m *Machine) deadlock() {
	m.result.Deadlock = m.standing()
	m.end(linux.Outcome{Status: 128 + linux.SIGKILL, Message: deadlockMessage(m.result.Deadlock)})
}

// standing is where every thread is, and what those that cannot run wait for.
func (m *Machine) standing() (all []Waiting) {
	for _, h := range m.harts {
		w := Waiting{Thread: h.id, Stack: h.Stack()}
		if h.task.State == linux.Blocked {
			w.For = h.waitsFor()
		}
		if word, ok := h.looping(); ok && h.task.State == linux.Runnable {
			w.For = "nothing: it is in a loop without an end"
			if word.addr != 0 {
				w.For = fmt.Sprintf("memory at 0x%x, which it polls", word.addr)
			}
		}
		all = append(all, w)
	}
	return all
}

// Finish closes what the run has open, and the observer, and returns the outcome of
// it. It is called once, after [Machine.Advance] has returned true; [Machine.Run]
// does it by itself.
func (m *Machine) Finish() (*Result, error) {
	m.unfollowed()
	if m.trail.on {
		m.result.Schedule = m.Trail()
	}
	if m.cfg.Journal != nil {
		m.cfg.Journal.finish(m.result.Outcome, m.result.Fault)
	}
	m.result.Threads = int(m.threads)
	m.result.Steps = m.sched.pct.steps
	m.result.Unsupported = m.kernel.Unsupported()
	m.result.Refused = m.space.Refused()
	var err error
	if m.rec != nil {
		if m.last != nil {
			m.rec.flush(m.last)
		}
		err = m.rec.close()
		if e := m.cfg.Observer.Finish(m.result.Outcome); err == nil {
			err = e
		}
	}
	m.result.Written = m.kernel.Written()
	if !m.kept {
		if e := m.kernel.Close(); err == nil && e != nil {
			err = e
		}
	}
	res := m.result // m may go back to a checkpoint
	if err != nil {
		return &res, fmt.Errorf("mpsim: %w", err)
	}
	return &res, nil
}
