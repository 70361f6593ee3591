package hook

import "hindsight/tracefmt/event"

// Flags of GOMP_task, GOMP_taskloop and GOMP_target_ext.
const (
	flagFinal   = 1 << 1
	flagDepend  = 1 << 3
	flagIf      = 1 << 10 // of taskloop: the if clause was true
	flagNoGroup = 1 << 11
	flagDetach  = 1 << 13

	flagTargetNoWait = 1 << 0
)

// make returns a new explicit task of the calling thread.
func (o *openMP) make(c *Call, body uint64, included, final bool) *task {
	parent := o.current(c)
	o.strands++
	t := &task{
		role: explicit, team: parent.team, passed: parent.passed, strand: o.strands, body: body, parent: parent,
		included: included || parent.final, final: final || parent.final, group: parent.innermost(),
	}
	c.Emit(event.StrandCreate, t.strand, 0)
	return t
}

// innermost returns the group to which a new task belongs, or nil.
func (t *task) innermost() *group {
	if n := len(t.groups); n > 0 {
		return t.groups[n-1]
	}
	return t.group
}

// taskBegin handles GOMP_task (fn, data, cpyfn, size, align, if, flags, depend, priority,
// detach).
func taskBegin(s *State, c *Call) {
	o := &s.omp
	flags := c.Arg(6)
	t := o.make(c, c.Arg(0), c.Arg(5)&0xff == 0, flags&flagFinal != 0)
	if flags&flagDepend != 0 {
		o.order(c, t, c.Arg(7))
	}
	if flags&flagDetach != 0 {
		t.detach = c.argument(9)
	}
	t.dataSize = c.Arg(3)
	c.task = t
}

// order makes a new task depend on others, and others on it.
func (o *openMP) order(c *Call, t *task, depend uint64) {
	t.after = o.depends(c, t.parent, depend)
	t.done = new(handle)
	o.enter(c, t.parent, depend, []*handle{t.done})
}

// taskEnd completes a task for which its creator waits. If the task is detached, it is
// complete only now.
func taskEnd(_ *State, c *Call) {
	if t := c.task; t.ended && t.included && t.detach != 0 {
		t.done.observe(c)
	}
}

// taskloopBegin handles GOMP_taskloop (fn, data, cpyfn, size, align, flags, tasks, …). Each
// block that it allocates is a task, and so is each task that it calls at once.
func taskloopBegin(s *State, c *Call) {
	flags := c.Arg(5)
	c.task = &task{body: c.Arg(0), dataSize: c.Arg(3), loop: true, included: flags&flagIf == 0, final: flags&flagFinal != 0}
	if flags&flagNoGroup == 0 {
		c.task.group = groupBegin(s, c)
	}
}

func taskloopEnd(s *State, c *Call) {
	if c.task.group != nil {
		groupEnd(s, c)
	}
}

func groupBegin(s *State, c *Call) *group {
	t := s.omp.current(c)
	g := new(group)
	t.groups = append(t.groups, g)
	return g
}

func groupEnd(s *State, c *Call) {
	t := s.omp.current(c)
	if n := len(t.groups); n > 0 {
		g := t.groups[n-1]
		t.groups = t.groups[:n-1]
		g.observe(c)
		g.forget(c)
		observeAll(c, g.after)
	}
}

func taskwaitEnd(s *State, c *Call) {
	t := s.omp.current(c)
	t.children.observe(c)
	t.children.forget(c)
	t.depends = nil
}

// dependWait determines what a child with the depend clauses at addr would wait for.
func dependWait(s *State, c *Call, addr uint64) {
	o := &s.omp
	c.task = &task{after: o.depends(c, o.current(c), addr)}
}

// dependPass acts like a child with these clauses that does nothing: tasks that depend on
// it depend on its predecessors.
func dependPass(s *State, c *Call, addr uint64) {
	o := &s.omp
	t := o.current(c)
	after := o.depends(c, t, addr)
	o.enter(c, t, addr, after)
	if g := t.innermost(); g != nil {
		g.after = append(g.after, after...)
	}
}

// awaited orders the thread after what [dependWait] determined.
func awaited(_ *State, c *Call) {
	if c.task != nil {
		observeAll(c, c.task.after)
		c.task.after = nil
	}
}

func observeAll(c *Call, handles []*handle) {
	for _, h := range handles {
		h.observe(c)
	}
}

// targetBegin handles GOMP_target_ext (device, fn, count, addresses, sizes, kinds, flags,
// depend, args). The only device is the host. With nowait, the region is a task. Otherwise
// the encountering thread runs it when what it depends on is done.
func targetBegin(s *State, c *Call) {
	o := &s.omp
	depend := c.Arg(7)
	switch {
	case c.Arg(6)&flagTargetNoWait != 0 && !o.current(c).final:
		c.task = o.make(c, c.Arg(1), false, false)
		c.task.target = true
		if depend != 0 {
			o.order(c, c.task, depend)
		}
	case depend != 0:
		dependWait(s, c, depend)
	}
}

// targetBody handles the body of the construct on the thread that encountered it.
func targetBody(s *State, outer, c *Call) {
	awaited(s, outer)
	o := &s.omp
	c.task = o.beginInitial(o.thread(c.ID()), nil)
}

// beginInitial starts the implicit region around a target region.
func (o *openMP) beginInitial(th *ompThread, of *task) *task {
	t := &task{role: initial, team: newTeam(), parent: of}
	th.tasks = append(th.tasks, t)
	return t
}

// targetDataBegin handles GOMP_target_update_ext and GOMP_target_enter_exit_data (device,
// count, addresses, sizes, kinds, flags, depend). On the host, only their depend clauses
// have an effect.
func targetDataBegin(s *State, c *Call) {
	switch depend := c.Arg(6); {
	case depend == 0:
	case c.Arg(5)&flagTargetNoWait != 0 && !s.omp.current(c).final:
		dependPass(s, c, depend)
	default:
		dependWait(s, c, depend)
	}
}

// allocated is called for each block that the thread allocates. Inside GOMP_task, the first
// block contains the task; inside GOMP_target_ext, one of them does.
func (o *openMP) allocated(c *Call, addr, size uint64) {
	th := o.threads[c.ID()]
	if th == nil || len(th.open) == 0 {
		return
	}
	in := th.open[len(th.open)-1]
	t := in.task
	if in.fn.Reduces || in.fn.Part == Body && t != nil && t.reduces {
		// The tasks of a reduction that one thread runs share the copy into which they
		// reduce, and what belongs to the copy.
		c.Emit(event.Private, addr, size)
		return
	}
	switch {
	case in.fn.Part != Library || t == nil || t.body == 0:
		return
	case t.loop:
		t = o.make(c, t.body, t.included, t.final)
	case len(t.blocks) > 0 && !t.target || t.ended:
		return
	case t.detach != 0:
		o.events[addr] = t
	}
	if len(t.blocks) == 0 {
		o.pending[t.body] = append(o.pending[t.body], t)
	}
	t.blocks = append(t.blocks, block{addr, size})
	o.blocks[addr] = t
}

// freed is called for each block that is freed. If its task has not begun, the task was
// cancelled.
func (o *openMP) freed(addr uint64) {
	t := o.blocks[addr]
	if t == nil {
		return
	}
	delete(o.blocks, addr)
	for i := range t.blocks {
		if t.blocks[i].addr == addr {
			t.blocks = append(t.blocks[:i], t.blocks[i+1:]...)
			break
		}
	}
	if len(t.blocks) == 0 {
		o.remove(t)
	}
}

// remove removes a task from the list of tasks that have not begun.
func (o *openMP) remove(t *task) {
	list := o.pending[t.body]
	for i := range list {
		if list[i] == t {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	o.pending[t.body] = list
	if len(list) == 0 {
		delete(o.pending, t.body)
	}
	for _, b := range t.blocks {
		delete(o.blocks, b.addr)
	}
}

// take returns the task that waits for the call of body with data. data is in one of the
// task's blocks, or at the end of one if there are no data.
func (o *openMP) take(body, data uint64) *task {
	for _, t := range o.pending[body] {
		for _, b := range t.blocks {
			if data-b.addr <= b.size {
				o.remove(t)
				return t
			}
		}
	}
	return nil
}

// copyEnd is called when a task's creator has copied the task's variables.
func copyEnd(s *State, c *Call) {
	o := &s.omp
	outer := o.thread(c.ID()).caller(c)
	if outer == nil || outer.task == nil {
		return
	}
	t := outer.task
	if t.loop {
		t = o.copied(c, t)
	}
	o.publish(c, &t.copied)
}

// copied returns the task of a taskloop whose variables have been copied: the last one that
// was allocated, or one that will be called at once.
func (o *openMP) copied(c *Call, loop *task) *task {
	to := c.Arg(0)
	if list := o.pending[loop.body]; len(list) > 0 {
		t := list[len(list)-1]
		if len(t.blocks) > 0 && to-t.blocks[0].addr <= t.blocks[0].size {
			return t
		}
	}
	t := o.make(c, loop.body, loop.included, loop.final)
	t.data = to
	loop.copies = append(loop.copies, t)
	return t
}

// undeferred handles a task that GOMP_task or GOMP_taskloop calls at once.
func undeferred(s *State, outer, c *Call) {
	o := &s.omp
	t := outer.task
	if t.body != c.Func() || t.ended {
		return
	}
	if t.loop {
		t = o.next(c, t)
	}
	t.data = c.Arg(0)
	// Outside any parallel region, no other thread could run it.
	t.included = t.included || !t.team.parallel
	if t.detach != 0 {
		if event, ok := c.Load(t.detach, 8); ok {
			o.events[event] = t
		}
		if t.done == nil {
			t.done = new(handle)
		}
	}
	o.start(c, o.thread(c.ID()), t)
}

// next returns the task that a taskloop is about to call.
func (o *openMP) next(c *Call, loop *task) *task {
	for i, t := range loop.copies {
		if t.data == c.Arg(0) {
			loop.copies = append(loop.copies[:i], loop.copies[i+1:]...)
			t.dataSize = loop.dataSize
			return t
		}
	}
	t := o.make(c, loop.body, loop.included, loop.final)
	t.dataSize = loop.dataSize
	return t
}

// start starts a task on the thread that calls its body.
func (o *openMP) start(c *Call, th *ompThread, t *task) {
	c.task = t
	c.EmitStrand(event.StrandBegin, t.strand)
	observeAll(c, t.after)
	t.after = nil
	t.copied.observe(c)
	t.copied.forget(c)
	th.tasks = append(th.tasks, t)
	if t.target {
		o.beginInitial(th, t)
	}
}

// finish ends a task. A thread that waits for it is ordered after it.
func (o *openMP) finish(c *Call, t *task) {
	t.ended = true
	var done handle
	o.complete(c, t, o.conclude)
	if t.included {
		o.conclude(c, &done)
	}
	t.children.forget(c)
	c.EmitStrand(event.StrandEnd, t.strand)
	if t.data != 0 && t.dataSize != 0 {
		// The location of the creator's arguments, which are not copied as they are for a
		// deferred task. The next task uses the same location.
		c.Emit(event.Renew, t.data, t.dataSize)
	}
	done.observe(c)
	done.forget(c)
}

// complete publishes the completion of a task for all threads that wait for it.
func (o *openMP) complete(c *Call, t *task, publish func(*Call, *handle)) {
	if !t.parent.ended {
		publish(c, &t.parent.children)
	}
	if t.group != nil {
		publish(c, &t.group.handle)
	}
	if t.team.tasks[t.passed] == nil {
		t.team.tasks[t.passed] = new(handle)
	}
	publish(c, t.team.tasks[t.passed])
	if t.done != nil {
		publish(c, t.done)
	}
}

// fulfill handles omp_fulfill_event (event). A detached task is complete when its body has
// ended and its event is fulfilled.
func fulfill(s *State, c *Call) {
	o := &s.omp
	event := c.Arg(0)
	if t := o.events[event]; t != nil {
		delete(o.events, event)
		o.complete(c, t, o.publish)
	}
}
