package hook

import "hindsight/tracefmt/event"

// Flags of GOMP_task and GOMP_taskloop.
const (
	flagFinal   = 1 << 1
	flagDepend  = 1 << 3
	flagIf      = 1 << 10 // of taskloop: the if clause held
	flagNoGroup = 1 << 11
)

// make is a new explicit task of the thread that calls.
func (o *openMP) make(c *Call, body uint64, included, final bool) *task {
	parent := o.current(c)
	o.strands++
	t := &task{
		team: parent.team, passed: parent.passed, strand: o.strands, body: body, parent: parent,
		included: included || parent.final, final: final || parent.final, group: parent.innermost(),
	}
	c.Emit(event.StrandCreate, t.strand, 0)
	return t
}

// innermost is the group that a task made now belongs to; nil if there is none.
func (t *task) innermost() *handle {
	if n := len(t.groups); n > 0 {
		return t.groups[n-1]
	}
	return t.group
}

// taskBegin: GOMP_task (fn, data, cpyfn, size, align, if, flags, depend, …).
func taskBegin(s *State, c *Call) {
	o := &s.omp
	flags := c.Arg(6)
	t := o.make(c, c.Arg(0), c.Arg(5)&0xff == 0, flags&flagFinal != 0)
	if flags&flagDepend != 0 {
		o.depend(c, t, c.Arg(7), true)
	}
	t.dataSize = c.Arg(3)
	c.task = t
}

func taskEnd(s *State, c *Call, _ uint64) {
	if t := c.task; t.block == 0 && !t.ended {
		s.omp.drop(t) // cancelled before it began
	}
}

// taskloopBegin: GOMP_taskloop (fn, data, cpyfn, size, align, flags, tasks, …).
// Each block that it allocates is a task; those that it calls at once too.
func taskloopBegin(s *State, c *Call) {
	o := &s.omp
	flags := c.Arg(5)
	parent := o.current(c)
	c.task = &task{body: c.Arg(0), dataSize: c.Arg(3), loop: true, included: flags&flagIf == 0, final: flags&flagFinal != 0}
	if flags&flagNoGroup == 0 {
		c.task.group = new(handle)
		parent.groups = append(parent.groups, c.task.group)
	}
}

func taskloopEnd(s *State, c *Call, _ uint64) {
	if c.task.group != nil {
		groupEnd(s, c)
	}
}

func groupEnd(s *State, c *Call) {
	t := s.omp.current(c)
	if n := len(t.groups); n > 0 {
		h := t.groups[n-1]
		t.groups = t.groups[:n-1]
		h.observe(c)
		h.forget(c)
	}
}

func taskwaitEnd(s *State, c *Call) {
	t := s.omp.current(c)
	t.children.observe(c)
	t.children.forget(c)
	t.depends = nil
}

// taskwaitDepend: GOMP_taskwait_depend (depend).
func taskwaitDepend(s *State, c *Call) {
	c.task = &task{parent: s.omp.current(c)}
	s.omp.depend(c, c.task, c.Arg(0), false)
}

// await orders the thread after what t depends on.
func (o *openMP) await(c *Call, t *task) {
	for _, h := range t.after {
		h.observe(c)
	}
	t.after = nil
}

// allocated is told of each block that the thread allocates: inside GOMP_task
// the first one holds the task.
func (o *openMP) allocated(c *Call, addr, size uint64) {
	th := o.threads[c.ID()]
	if th == nil || len(th.open) == 0 {
		return
	}
	in := th.open[len(th.open)-1]
	if in.fn.Reduces {
		c.Emit(event.Private, addr, size)
		return
	}
	t := in.task
	switch {
	case t == nil || t.body == 0 || in.fn.Outlined || t.team != nil && t.strand == 0:
		return
	case t.loop:
		t = o.make(c, t.body, t.included, t.final)
	case t.block != 0:
		return
	}
	t.block, t.blockSize = addr, size
	o.pending[t.body] = append(o.pending[t.body], t)
}

// take gives the task that waits for body to be called with data, which lies in
// its block, or at its end when there is none.
func (o *openMP) take(body, data uint64) *task {
	list := o.pending[body]
	for i, t := range list {
		if data-t.block <= t.blockSize {
			if o.pending[body] = append(list[:i], list[i+1:]...); len(list) == 1 {
				delete(o.pending, body)
			}
			return t
		}
	}
	return nil
}

// creating gives the task that the thread is making of body and calls at once.
func (th *ompThread) creating(body uint64) *task {
	for i := len(th.open) - 2; i >= 0; i-- { // the last one is the body itself
		if t := th.open[i].task; t != nil && t.body == body && (t.loop || t.strand != 0) && t.block == 0 && !t.ended {
			return t
		}
		if th.open[i].fn.Outlined {
			return nil
		}
	}
	return nil
}

// start begins a task on the thread that calls its body.
func (o *openMP) start(c *Call, th *ompThread, t *task) {
	if t.loop {
		size := t.dataSize
		t = o.make(c, t.body, t.included, t.final)
		t.dataSize = size
	}
	if t.block == 0 {
		t.data = c.Arg(0)
	}
	c.task = t
	c.Emit(event.StrandBegin, t.strand, c.SP())
	o.await(c, t)
	th.tasks = append(th.tasks, t)
}

// finish ends a task: whoever waits for it may take what it did.
func (o *openMP) finish(c *Call, t *task) {
	t.ended = true
	if !t.parent.ended {
		o.conclude(c, &t.parent.children)
	}
	if t.group != nil {
		o.conclude(c, t.group)
	}
	if t.team.tasks[t.passed] == nil {
		t.team.tasks[t.passed] = new(handle)
	}
	o.conclude(c, t.team.tasks[t.passed])
	var done handle
	if t.done != nil {
		o.conclude(c, t.done)
	}
	if t.included {
		o.conclude(c, &done)
	}
	t.children.forget(c)
	c.Emit(event.StrandEnd, t.strand, c.SP())
	if t.data != 0 && t.dataSize != 0 {
		// Where the creator puts its arguments, without the copy that a task
		// which is put off gets: they are the next task's.
		c.Emit(event.Renew, t.data, t.dataSize)
	}
	done.observe(c)
	done.forget(c)
}

// drop gives up a task that will not begin.
func (o *openMP) drop(t *task) { t.after = nil }

// depend reads the depend clauses at addr, which gcc lays out as a number of
// addresses, the number of those for writing, and the addresses, these first; or
// as zero and four numbers, for more kinds of clauses. t is to begin after the
// tasks that it depends on; enter makes others depend on t.
func (o *openMP) depend(c *Call, t *task, addr uint64, enter bool) {
	word := func(n uint64) uint64 {
		v, _ := c.Load(addr+8*n, 8)
		return v
	}
	total, out, first := word(0), word(1), uint64(2)
	if total == 0 {
		total, out, first = word(1), word(2)+word(3), 5
	}
	const most = 1 << 12
	if total > most {
		return
	}
	parent := t.parent
	if parent.depends == nil {
		parent.depends = map[uint64]*dependence{}
	}
	if enter {
		t.done = new(handle)
	}
	for n := range total {
		on := word(first + n)
		d := parent.depends[on]
		if d == nil {
			d = new(dependence)
			parent.depends[on] = d
		}
		t.after = append(t.after, d.out...)
		if n < out {
			t.after = append(t.after, d.in...)
		}
		switch {
		case !enter:
		case n < out:
			d.out, d.in = []*handle{t.done}, nil
		default:
			d.in = append(d.in, t.done)
		}
	}
}
