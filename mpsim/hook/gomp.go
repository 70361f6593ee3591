package hook

import "hindsight/tracefmt/event"

// Runtime is the hooked functions of the OpenMP runtime, libgomp, and of the
// bodies of the program that it calls (libgomp's ABI: gcc/omp-builtins.def; the
// meaning: OpenMP 5.1, sections 1.3 and 2.19). libgomp's own atomic accesses are
// no events (image.Runtime), so that these say all that it orders.
var Runtime = []Func{
	{Outlined: true, Watch: true, Begin: bodyBegin, End: func(s *State, c *Call, _ uint64) { bodyEnd(s, c) }, Abandon: bodyEnd},

	// Teams. The arguments begin with the body and what it is passed.
	{Names: []string{"GOMP_parallel", "GOMP_parallel_loop_static", "GOMP_parallel_loop_dynamic", "GOMP_parallel_loop_guided",
		"GOMP_parallel_loop_runtime", "GOMP_parallel_loop_nonmonotonic_dynamic", "GOMP_parallel_loop_nonmonotonic_guided",
		"GOMP_parallel_loop_nonmonotonic_runtime", "GOMP_parallel_loop_maybe_nonmonotonic_runtime", "GOMP_parallel_sections"},
		Watch: true, Begin: teamBegin, End: teamEnd},
	{Names: []string{"GOMP_parallel_reductions"}, Watch: true, Reduces: true, Begin: teamBegin, End: teamEnd},

	// Barriers, those at the ends of work-sharing constructs too.
	{Names: []string{"GOMP_barrier", "GOMP_barrier_cancel", "GOMP_loop_end", "GOMP_loop_end_cancel", "GOMP_sections_end", "GOMP_sections_end_cancel"},
		Watch: true, Begin: barrierBegin, End: func(s *State, c *Call, _ uint64) { barrierEnd(s, c) }},
	{Names: []string{"GOMP_single_copy_start"}, Watch: true, Begin: barrierBegin,
		End: func(s *State, c *Call, result uint64) {
			if result != 0 { // another thread has been here
				barrierEnd(s, c)
			}
		}},
	{Names: []string{"GOMP_single_copy_end"}, Watch: true, Begin: barrierBegin, End: func(s *State, c *Call, _ uint64) { barrierEnd(s, c) }},
	{Args: 8, Names: []string{"GOMP_loop_start", "GOMP_loop_ull_start", "GOMP_loop_ordered_start", "GOMP_loop_ull_ordered_start",
		"GOMP_sections2_start", "GOMP_scope_start"}, Watch: true, Reduces: true},

	// Mutual exclusion.
	onlyStart("critical region", lockCritical, "GOMP_critical_start"),
	onlyEnd(lockCritical, "GOMP_critical_end"),
	onlyStart("atomic region", lockAtomic, "GOMP_atomic_start"),
	onlyEnd(lockAtomic, "GOMP_atomic_end"),
	{Names: []string{"GOMP_critical_name_start"}, End: func(s *State, c *Call, _ uint64) { s.lock(c, event.MutexLock, c.Arg(0)) },
		Waits: func(s *State, c *Call) string { return s.waitsForLock("critical region", c.Arg(0)) }},
	{Names: []string{"GOMP_critical_name_end"}, Begin: func(s *State, c *Call) { s.unlock(c, event.MutexUnlock, c.Arg(0)) }},
	{Names: []string{"omp_set_lock", "gomp_set_lock_30", "omp_set_nest_lock", "gomp_set_nest_lock_30"},
		End:   func(s *State, c *Call, _ uint64) { s.lock(c, event.MutexLock, c.Arg(0)) },
		Waits: func(s *State, c *Call) string { return s.waitsForLock("lock", c.Arg(0)) }},
	{Names: []string{"omp_test_lock", "gomp_test_lock_30", "omp_test_nest_lock", "gomp_test_nest_lock_30"},
		End: func(s *State, c *Call, result uint64) {
			if int32(result) != 0 {
				s.lock(c, event.MutexLock, c.Arg(0))
			}
		}},
	{Names: []string{"omp_unset_lock", "gomp_unset_lock_30", "omp_unset_nest_lock", "gomp_unset_nest_lock_30"},
		Begin: func(s *State, c *Call) { s.unlock(c, event.MutexUnlock, c.Arg(0)) }},
	initLock(event.Init, "omp_init_lock", "gomp_init_lock_30", "omp_init_nest_lock", "gomp_init_nest_lock_30"),
	initLock(event.Destroy, "omp_destroy_lock", "gomp_destroy_lock_30", "omp_destroy_nest_lock", "gomp_destroy_nest_lock_30"),

	// Order among the iterations of a loop.
	{Names: []string{"GOMP_ordered_start"}, End: func(s *State, c *Call, _ uint64) { s.omp.current(c).team.ordered.observe(c) }},
	{Names: []string{"GOMP_ordered_end"}, Begin: func(s *State, c *Call) { s.omp.publish(c, &s.omp.current(c).team.ordered) }},
	{Args: 8, Names: []string{"GOMP_loop_doacross_start", "GOMP_loop_doacross_static_start", "GOMP_loop_doacross_dynamic_start",
		"GOMP_loop_doacross_guided_start", "GOMP_loop_doacross_runtime_start", "GOMP_loop_ull_doacross_start",
		"GOMP_loop_ull_doacross_static_start", "GOMP_loop_ull_doacross_dynamic_start", "GOMP_loop_ull_doacross_guided_start",
		"GOMP_loop_ull_doacross_runtime_start"}, Watch: true, Reduces: true, Begin: doacrossBegin},
	{Names: []string{"GOMP_doacross_post", "GOMP_doacross_ull_post"}, Begin: doacrossPost},
	{Names: []string{"GOMP_doacross_wait", "GOMP_doacross_ull_wait"}, End: doacrossWait},

	// Tasks.
	{Names: []string{"GOMP_task"}, Watch: true, Begin: taskBegin, End: taskEnd},
	{Names: []string{"GOMP_taskloop", "GOMP_taskloop_ull"}, Watch: true, Begin: taskloopBegin, End: taskloopEnd},
	{Names: []string{"GOMP_taskwait"}, Watch: true, End: func(s *State, c *Call, _ uint64) { taskwaitEnd(s, c) }},
	{Names: []string{"GOMP_taskwait_depend"}, Watch: true, Begin: taskwaitDepend,
		End: func(s *State, c *Call, _ uint64) { s.omp.await(c, c.task) }},
	{Names: []string{"GOMP_taskgroup_start"}, Watch: true, Begin: func(s *State, c *Call) {
		t := s.omp.current(c)
		t.groups = append(t.groups, new(handle))
	}},
	{Names: []string{"GOMP_taskgroup_end"}, Watch: true, End: func(s *State, c *Call, _ uint64) { groupEnd(s, c) }},
	{Names: []string{"GOMP_taskgroup_reduction_register", "GOMP_workshare_task_reduction_register"}, Watch: true, Reduces: true},
}

// The locks of constructs that have one for the whole program, at addresses that
// no program has.
const (
	lockCritical = 8 * (1 + iota)
	lockAtomic
)

// initLock hooks functions that make a lock, or end it.
func initLock(kind event.Kind, names ...string) Func {
	return Func{Names: names, Begin: func(_ *State, c *Call) { c.Emit(kind, c.Arg(0), uint64(event.MutexLock)) }}
}

func onlyStart(what string, lock uint64, name string) Func {
	return Func{
		Names: []string{name},
		End:   func(s *State, c *Call, _ uint64) { s.lock(c, event.MutexLock, lock) },
		Waits: func(s *State, c *Call) string { return s.waitsForLock(what, lock) },
	}
}

func onlyEnd(lock uint64, name string) Func {
	return Func{Names: []string{name}, Begin: func(s *State, c *Call) { s.unlock(c, event.MutexUnlock, lock) }}
}

// teamBegin opens a parallel region: what the thread did until now is there for
// the team to take.
func teamBegin(s *State, c *Call) {
	r := newTeam()
	r.body, r.data = c.Arg(0), c.Arg(1)
	s.omp.publish(c, &r.begin)
	s.omp.teams[r.body] = append(s.omp.teams[r.body], r)
	c.task = &task{team: r}
}

// teamEnd closes it: all of its threads and tasks are done.
func teamEnd(s *State, c *Call, _ uint64) {
	r := c.task.team
	r.end.observe(c)
	for _, n := range sortedKeys(r.tasks) {
		r.tasks[n].observe(c)
	}
	r.forget(c)
	list := s.omp.teams[r.body]
	for i := range list {
		if list[i] == r {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if s.omp.teams[r.body] = list; len(list) == 0 {
		delete(s.omp.teams, r.body)
	}
}

// bodyBegin tells what the body is called for: an implicit task of a team, an
// explicit task, or nothing known, such as a target region on the host.
func bodyBegin(s *State, c *Call) {
	o := &s.omp
	th := o.thread(c.ID())
	body, data := c.Func(), c.Arg(0)
	if t := o.take(body, data); t != nil {
		o.start(c, th, t)
		return
	}
	if t := th.creating(body); t != nil {
		o.start(c, th, t)
		return
	}
	if list := o.teams[body]; len(list) > 0 {
		for i := len(list) - 1; i >= 0; i-- {
			if r := list[i]; r.data == data {
				c.task = &task{team: r, implicit: true}
				th.tasks = append(th.tasks, c.task)
				r.begin.observe(c)
				return
			}
		}
	}
}

func bodyEnd(s *State, c *Call) {
	t := c.task
	if t == nil {
		return
	}
	o := &s.omp
	th := o.thread(c.ID())
	if n := len(th.tasks); n > 0 {
		th.tasks = th.tasks[:n-1]
	}
	if t.implicit {
		o.publish(c, &t.team.end)
		return
	}
	o.finish(c, t)
}

// barrierBegin makes what the team's thread did there to be taken; barrierEnd
// takes what all of them, and all tasks made before, did.
func barrierBegin(s *State, c *Call) {
	t := s.omp.current(c)
	s.omp.publish(c, t.team.barrier(t.passed))
}

func barrierEnd(s *State, c *Call) {
	t := s.omp.current(c)
	r := t.team
	r.barrier(t.passed).observe(c)
	if h := r.tasks[t.passed]; h != nil {
		h.observe(c)
	}
	t.passed++
	if t.passed >= 2 { // everybody has left the barrier before this one
		forget(c, r.barriers, t.passed-2)
		forget(c, r.tasks, t.passed-2)
	}
	t.children, t.depends = handle{}, nil
}

func forget(c *Call, handles map[uint64]*handle, n uint64) {
	if h := handles[n]; h != nil {
		h.forget(c)
		delete(handles, n)
	}
}

func doacrossBegin(s *State, c *Call) {
	t := s.omp.current(c)
	t.loopCount++
	t.dimensions = int(min(c.Arg(0), 8))
}

// doacrossPost: the iteration whose numbers the argument points to is done.
func doacrossPost(s *State, c *Call) {
	t := s.omp.current(c)
	at := make([]uint64, t.dimensions)
	for n := range at {
		at[n], _ = c.Load(c.Arg(0)+8*uint64(n), 8)
	}
	key := iteration(t.loopCount, at)
	if t.team.posts[key] == nil {
		t.team.posts[key] = new(handle)
	}
	s.omp.publish(c, t.team.posts[key])
}

// doacrossWait waits for one; its numbers are the arguments.
func doacrossWait(s *State, c *Call, _ uint64) {
	t := s.omp.current(c)
	at := make([]uint64, t.dimensions)
	for n := range at {
		at[n] = c.Arg(n)
	}
	if h := t.team.posts[iteration(t.loopCount, at)]; h != nil {
		h.observe(c)
	}
}

func iteration(loop uint64, at []uint64) string {
	var key []byte
	for _, v := range append([]uint64{loop}, at...) {
		for shift := 0; shift < 64; shift += 8 {
			key = append(key, byte(v>>shift))
		}
	}
	return string(key)
}
