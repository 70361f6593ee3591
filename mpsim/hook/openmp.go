package hook

import (
	"cmp"
	"maps"
	"slices"

	"hindsight/tracefmt/event"
)

// openMP is the state of the hooks of [Runtime].
type openMP struct {
	strands uint64 // last number of a strand
	threads map[event.ThreadID]*ompThread
	pending map[uint64][]*task // deferred but not started, by body
	blocks  map[uint64]*task   // those in pending, by the address of one of their blocks
	events  map[uint64]*task   // by the omp_event_handle_t of their completion
}

// ompThread is what a guest thread is doing.
type ompThread struct {
	open    []*Call // watched calls, innermost last
	tasks   []*task // tasks that it is in, innermost last
	root    *task   // the task around all of them
	regions []*team // parallel regions that it opened, innermost last

	// A thread of libgomp works for the region at one depth of the thread that created
	// it. The threads of a nested region end with it; those of the pool are used for
	// the next region at the same depth.
	master *ompThread
	depth  int
}

// team represents the threads of a parallel region, the initial thread of a target region,
// or the initial thread of a team in a league.
type team struct {
	body       uint64
	inLeague   bool // it is a team of a teams construct, or inside one
	parallel   bool // from a parallel region; otherwise one thread runs all of its tasks
	reduces    bool // tasks take part in a reduction of the region
	begin, end handle
	ordered    handle
	barriers   map[uint64]*handle // by number
	tasks      map[uint64]*handle // ends of the tasks created before the barrier with that number
	loops      map[uint64]*doacross
}

// role is the kind of a task.
type role uint8

const (
	implicit role = iota // a thread's part in a team
	explicit             // created by a task, taskloop or target construct
	initial              // a target region, on the thread that runs it
	league               // a team of a teams construct, on the thread that runs all of them
)

// task is what a thread is executing; see role.
type task struct {
	role   role
	team   *team
	passed uint64 // number of barriers: for an implicit task those that it passed, for an explicit one those that its creator had passed

	strand   uint64 // of explicit tasks, and of all in a league
	body     uint64
	blocks   []block // where libgomp stores a deferred task until it begins
	parent   *task
	group    *group // innermost group at its creation
	included bool   // its creator waits for it
	final    bool
	ended    bool
	after    []*handle // what it depends on
	data     uint64    // the argument of its body, if it is called at once
	dataSize uint64
	copied   handle  // the copies of its variables are made
	done     *handle // its end, if others may depend on it
	target   bool    // its body is a target region
	reduces  bool    // it takes part in a reduction by tasks; see allocated
	detach   uint64  // where libgomp stores the event that completes it; 0 if there is none

	loop   bool    // it represents the tasks of a taskloop
	copies []*task // tasks that will be called at once, whose variables have been copied

	children   handle
	groups     []*group
	depends    map[uint64]*dependence // of its children, by address
	league     handle                 // ends of the teams that it started
	dimensions int
	loopCount  uint64
}

type block struct{ addr, size uint64 }

// group is a taskgroup, or a construct that acts as one.
type group struct {
	handle
	after []*handle // in addition: what target data tasks in it wait for
}

// handle is something to publish and observe. It is assigned a number when it is first
// published.
type handle struct{ id uint64 }

func newOpenMP() openMP {
	return openMP{
		threads: map[event.ThreadID]*ompThread{}, pending: map[uint64][]*task{},
		blocks: map[uint64]*task{}, events: map[uint64]*task{},
	}
}

func (o *openMP) publish(c *Call, h *handle) { c.Emit(event.Publish, h.number(c), 0) }

// conclude publishes for a strand that does nothing more before it ends.
func (o *openMP) conclude(c *Call, h *handle) { c.Emit(event.Publish, h.number(c), 1) }

func (h *handle) number(c *Call) uint64 {
	if h.id == 0 {
		h.id = c.Handle()
	}
	return h.id
}

func (h *handle) observe(c *Call) {
	if h.id != 0 {
		c.Emit(event.Observe, h.id, 0)
	}
}

func (h *handle) forget(c *Call) {
	if h.id != 0 {
		c.Emit(event.Forget, h.id, 0)
		h.id = 0
	}
}

func (o *openMP) thread(id event.ThreadID) *ompThread {
	t := o.threads[id]
	if t == nil {
		t = &ompThread{root: &task{team: newTeam()}}
		o.threads[id] = t
	}
	return t
}

// current returns the task that the calling thread is in.
func (o *openMP) current(c *Call) *task { return o.thread(c.ID()).current() }

func (th *ompThread) current() *task {
	if n := len(th.tasks); n > 0 {
		return th.tasks[n-1]
	}
	return th.root
}

// caller returns the innermost watched call in which c was made, or nil.
func (th *ompThread) caller(c *Call) *Call {
	n := len(th.open)
	if n > 0 && th.open[n-1] == c {
		n--
	}
	if n == 0 {
		return nil
	}
	return th.open[n-1]
}

// internal reports whether libgomp itself made call c, as part of another call of [Runtime]
// that reports what is ordered.
func (o *openMP) internal(c *Call) bool {
	outer := o.thread(c.ID()).caller(c)
	return outer != nil && outer.fn.Part == Library
}

// created is called when a thread has created another one. Threads that libgomp creates
// for a parallel region work for that thread.
func (o *openMP) created(c *Call, child event.ThreadID) {
	th := o.thread(c.ID())
	if outer := th.caller(c); outer != nil && outer.team != nil {
		t := o.thread(child)
		t.master, t.depth = th, len(th.regions)-1
	}
}

func newTeam() *team {
	return &team{barriers: map[uint64]*handle{}, tasks: map[uint64]*handle{}, loops: map[uint64]*doacross{}}
}

func (r *team) barrier(n uint64) *handle {
	h := r.barriers[n]
	if h == nil {
		h = new(handle)
		r.barriers[n] = h
	}
	return h
}

// wait observes the ends of all tasks of the team.
func (r *team) wait(c *Call) {
	for _, n := range sortedKeys(r.tasks) {
		r.tasks[n].observe(c)
	}
}

// forget drops everything that the team published.
func (r *team) forget(c *Call) {
	for _, h := range []*handle{&r.begin, &r.end, &r.ordered} {
		h.forget(c)
	}
	for _, m := range []map[uint64]*handle{r.barriers, r.tasks} {
		for _, n := range sortedKeys(m) {
			m[n].forget(c)
		}
	}
	for _, n := range sortedKeys(r.loops) {
		r.loops[n].forget(c)
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
