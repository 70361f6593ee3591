package hook

import (
	"cmp"
	"maps"
	"slices"

	"hindsight/tracefmt/event"
)

// openMP is what the hooks of [Runtime] remember.
type openMP struct {
	strands uint64 // strand given
	threads map[event.ThreadID]*ompThread
	teams   map[uint64][]*team // regions that are open, by body
	pending map[uint64][]*task // made and not begun, by body
}

// ompThread is what a guest thread does.
type ompThread struct {
	open  []*Call // watched calls, innermost last
	tasks []*task // that it is in, innermost last
	root  *task   // outside of all of them
}

// team is a parallel region.
type team struct {
	body, data uint64
	begin, end handle
	ordered    handle
	barriers   map[uint64]*handle // by number
	tasks      map[uint64]*handle // ends of the tasks made before the barrier with that number
	posts      map[string]*handle // of doacross loops
}

// task is an implicit task (a thread's part in a team), or an explicit one.
type task struct {
	team     *team
	implicit bool
	passed   uint64 // barriers: of an implicit task those that it passed, of an explicit one its creator had

	strand    uint64 // of explicit tasks
	body      uint64
	block     uint64 // where libgomp keeps it until it begins, if it does
	blockSize uint64
	parent    *task
	group     *handle // innermost group that it was made in
	included  bool    // its creator waits for it
	final     bool
	ended     bool
	after     []*handle // what it depends on
	data      uint64    // what its body is passed, when it is called at once
	dataSize  uint64
	done      *handle // its end, when others may depend on it
	loop      bool    // stands for the tasks that a taskloop makes

	children   handle
	groups     []*handle
	depends    map[uint64]*dependence // of its children, by address
	dimensions int
	loopCount  uint64
}

// dependence is who touched an address of depend clauses last.
type dependence struct{ out, in []*handle }

// handle is something to publish and observe; it gets its number when it is
// published first.
type handle struct{ id uint64 }

func newOpenMP() openMP {
	return openMP{threads: map[event.ThreadID]*ompThread{}, teams: map[uint64][]*team{}, pending: map[uint64][]*task{}}
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

func (r *team) barrier(n uint64) *handle {
	h := r.barriers[n]
	if h == nil {
		h = new(handle)
		r.barriers[n] = h
	}
	return h
}

// forget gives up all that the team published.
func (r *team) forget(c *Call) {
	for _, h := range []*handle{&r.begin, &r.end, &r.ordered} {
		h.forget(c)
	}
	for _, m := range []map[uint64]*handle{r.barriers, r.tasks} {
		for _, n := range sortedKeys(m) {
			m[n].forget(c)
		}
	}
	for _, n := range sortedKeys(r.posts) {
		r.posts[n].forget(c)
	}
}

func (o *openMP) thread(id event.ThreadID) *ompThread {
	t := o.threads[id]
	if t == nil {
		t = &ompThread{root: &task{implicit: true, team: newTeam()}}
		o.threads[id] = t
	}
	return t
}

// current is the task that the calling thread is in.
func (o *openMP) current(c *Call) *task {
	t := o.thread(c.ID())
	if n := len(t.tasks); n > 0 {
		return t.tasks[n-1]
	}
	return t.root
}

func newTeam() *team {
	return &team{barriers: map[uint64]*handle{}, tasks: map[uint64]*handle{}, posts: map[string]*handle{}}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
