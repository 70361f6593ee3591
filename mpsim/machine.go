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

// Machine is a run in progress; see the package comment.
type Machine struct {
	cfg    Config
	space  *mem.Space
	kernel *linux.Kernel
	sched  scheduler
	code   codeCache
	rec    *recorder // nil: nothing is recorded
	values bool      // values are recorded, too

	harts    []*Hart // the live ones, in order of their ids
	hartOf   map[*linux.Task]*Hart
	threads  event.ThreadID
	versions map[uint64]version // of granules with atomic variables
	authors  map[uint64]author  // by place in the code
	intent   *intent.Code
	// objectPages are the pages that contain granules in versions.
	objectPages map[uint64]struct{}

	// See fiber.go.
	fiberHooks FiberHooks // nil: the program has no fibers
	fibers     map[uint64]*fiber

	// See calls.go.
	switchers []span
	exit      span
	starter   uint64            // where thread functions return to, in a C library that has no symbol for it
	suspended map[frame][]frame // stacks that are not on a hart, by their innermost frame

	// See orders.go.
	calling *Hart  // the hart that the kernel is working for
	place   uint64 // its PC
	handles uint64 // number of handles given out

	// See steer.go, follow.go and trail.go.
	breaks breaks // nil: there are none
	trail  trail
	last   *Hart // the hart that ran last
	begun  bool
	paused bool

	trampoline uint64 // where signal handlers return to
	clock      uint64 // nanoseconds at the beginning of the stretch, in a replay
	watch      *watches
	covered    codeSet    // code that was decoded, if requested
	warm       *knowledge // from earlier runs; nil: there is none

	hang        hanging
	kept        bool // there are checkpoints; see rewound.go
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
		m.space.Watch(m.touched, m.moved)
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

// loaded is called for each shared object that the guest has loaded. The kernel loads the
// first ones before the run begins.
func (m *Machine) loaded(img *image.Image) {
	if m.kernel != nil {
		m.takeUp(img)
	}
}

// linked is called when the program's own first instruction is about to run. The dynamic
// linker, if there is one, has then loaded what the program needs.
func (m *Machine) linked(h *Hart) {
	m.kernel.Started()
	if hooks, ok := m.cfg.Hooks.(SharedHooks); ok && m.cfg.Image.Main.Interp != "" {
		h.call = hooked{site: h.PC}
		hooks.Linked(h)
	}
}

// takeUp finds the places in an image at which the machine and its hooks stop.
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

// Space returns the guest's memory.
func (m *Machine) Space() *mem.Space { return m.space }

// Run runs the guest until it ends, ctx is cancelled or the observer returns an error. Then
// it closes the observer. It can be called once. The error is from the observer or from the
// host's files of the machine; whatever the guest does to itself is in the Result.
func (m *Machine) Run(ctx context.Context) (*Result, error) {
	for !m.Advance(ctx) {
	}
	return m.Finish()
}

// Advance runs the guest until the run ends or [Machine.Pause] is called. Cancelling ctx
// ends the run. It reports whether the run has ended. It is for runs that are steered;
// [Machine.Finish] completes them.
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

// start emits the events at the beginning of a thread.
func (m *Machine) start(h *Hart, parent event.ThreadID) {
	low, bytes := h.task.StackLow, h.task.StackLen
	if v, ok := m.space.Find(h.X[regSP] - 1); ok && bytes == 0 {
		low = v.Start
		if !h.task.Own() {
			bytes = v.Len()
		}
		// The size of a stack that the program passed to clone is unknown.
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

// switchTo ends the batch of one hart and starts that of another.
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

// account advances the virtual clock by what the slice ran, and checks the limits of the
// run.
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

// tick advances the clock by what h ran since the last tick, at one nanosecond per
// instruction.
func (m *Machine) tick(h *Hart) {
	ran := h.granted - h.left - h.ticked
	h.ticked += ran
	m.result.Insts += uint64(ran)
	m.kernel.Advance(uint64(ran))
}

// now returns the guest's time in nanoseconds, as of the beginning of the slice or the last
// call of the kernel.
func (m *Machine) now() uint64 {
	if m.kernel == nil {
		return m.clock
	}
	return m.kernel.Now()
}

// idle is called when no thread can run. Either time advances to the next deadline, or the
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

// settle handles an outcome of the kernel that is not the result of a call.
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

// standing returns where every thread is, and what the blocked ones wait for.
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

// Finish closes what the run has open, including the observer, and returns the outcome. It
// is called once, after [Machine.Advance] has returned true. [Machine.Run] calls it itself.
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
	res := m.result // a copy, since m may go back to a checkpoint
	if err != nil {
		return &res, fmt.Errorf("mpsim: %w", err)
	}
	return &res, nil
}
