package hook

import "hindsight/tracefmt/event"

// Runtime contains the hooked functions of the OpenMP runtime, libgomp, and of the bodies
// in the program that it calls (libgomp's ABI: gcc/omp-builtins.def; the meaning: OpenMP
// 5.1, sections 1.3 and 2.19). libgomp's own atomic accesses are not events
// (image.Runtime), so these functions report everything that it orders.
var Runtime = []Func{
	{Part: Body, Watch: true, Begin: bodyBegin, End: func(s *State, c *Call, _ uint64) { bodyEnd(s, c) }, Abandon: bodyEnd},
	{Part: Copy, Watch: true, Args: 2, End: func(s *State, c *Call, _ uint64) { copyEnd(s, c) }},

	// Teams. The first arguments are the body and its argument.
	around(teamBegin, teamEnd, Func{Calls: member}, "GOMP_parallel", "GOMP_parallel_loop_static", "GOMP_parallel_loop_dynamic",
		"GOMP_parallel_loop_guided", "GOMP_parallel_loop_runtime", "GOMP_parallel_loop_nonmonotonic_dynamic",
		"GOMP_parallel_loop_nonmonotonic_guided", "GOMP_parallel_loop_nonmonotonic_runtime",
		"GOMP_parallel_loop_maybe_nonmonotonic_runtime", "GOMP_parallel_sections"),
	around(teamBegin, teamEnd, Func{Calls: member, Reduces: true}, "GOMP_parallel_reductions"),
	around(leagueBegin, leagueEnd, Func{Calls: leagueBody}, "GOMP_teams_reg"),
	{Names: []string{"GOMP_teams4"}, Args: 4, End: nextTeam},

	// Barriers, including those at the ends of work-sharing constructs.
	around(barrierBegin, barrierEnd, Func{}, "GOMP_barrier", "GOMP_loop_end", "GOMP_sections_end", "GOMP_single_copy_end"),
	{Names: []string{"GOMP_barrier_cancel", "GOMP_loop_end_cancel", "GOMP_sections_end_cancel"},
		Watch: true, Begin: barrierBegin, End: barrierCancel},
	{Names: []string{"GOMP_single_copy_start"}, Watch: true, Begin: barrierBegin,
		End: func(s *State, c *Call, result uint64) {
			if result != 0 { // another thread has already done it
				barrierEnd(s, c)
			}
		}},

	// Work-sharing constructs that may have reductions.
	{Names: []string{"GOMP_loop_start", "GOMP_loop_ordered_start"}, Args: 8, Watch: true, Reduces: true, Begin: loopBegin(7)},
	{Names: []string{"GOMP_loop_ull_start", "GOMP_loop_ull_ordered_start"}, Args: 8, Watch: true, Reduces: true, Begin: loopBegin(8)},
	{Names: []string{"GOMP_sections2_start"}, Args: 3, Watch: true, Reduces: true, Begin: loopBegin(1)},
	{Names: []string{"GOMP_scope_start"}, Watch: true, Reduces: true, Begin: loopBegin(0)},
	around(barrierBegin, reductionsEnd, Func{}, "GOMP_workshare_task_reduction_unregister"),

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
	{Names: []string{"GOMP_ordered_start"}, End: func(s *State, c *Call, _ uint64) { orderedStart(s, c) }},
	{Names: []string{"GOMP_ordered_end"}, Begin: orderedEnd},
	{Names: []string{"GOMP_loop_ordered_static_next", "GOMP_loop_ordered_dynamic_next", "GOMP_loop_ordered_guided_next",
		"GOMP_loop_ull_ordered_static_next", "GOMP_loop_ull_ordered_dynamic_next", "GOMP_loop_ull_ordered_guided_next"}, Watch: true},
	{Names: []string{"GOMP_loop_doacross_start", "GOMP_loop_ull_doacross_start"}, Args: 8, Watch: true, Reduces: true, Begin: doacrossBegin(6)},
	{Names: []string{"GOMP_loop_doacross_static_start", "GOMP_loop_doacross_dynamic_start", "GOMP_loop_doacross_guided_start",
		"GOMP_loop_ull_doacross_static_start", "GOMP_loop_ull_doacross_dynamic_start", "GOMP_loop_ull_doacross_guided_start"},
		Args: 8, Watch: true, Begin: doacrossBegin(-1)},
	{Names: []string{"GOMP_doacross_post", "GOMP_doacross_ull_post"}, Begin: doacrossPost},
	{Args: 8, Names: []string{"GOMP_doacross_wait", "GOMP_doacross_ull_wait"}, End: doacrossWait},

	// Tasks.
	around(taskBegin, taskEnd, Func{Args: 8, Calls: undeferred}, "GOMP_task"),
	around(taskloopBegin, taskloopEnd, Func{Args: 8, Calls: undeferred}, "GOMP_taskloop", "GOMP_taskloop_ull"),
	around(nil, taskwaitEnd, Func{}, "GOMP_taskwait"),
	around(func(s *State, c *Call) { dependWait(s, c, c.Arg(0)) }, awaited, Func{}, "GOMP_taskwait_depend"),
	{Names: []string{"GOMP_taskwait_depend_nowait"}, Watch: true, Begin: func(s *State, c *Call) { dependPass(s, c, c.Arg(0)) }},
	{Names: []string{"GOMP_taskgroup_start"}, Watch: true, Begin: func(s *State, c *Call) {
		if !s.omp.internal(c) {
			groupBegin(s, c)
		}
	}},
	around(nil, func(s *State, c *Call) {
		if !s.omp.internal(c) {
			groupEnd(s, c)
		}
	}, Func{}, "GOMP_taskgroup_end"),
	{Names: []string{"GOMP_taskgroup_reduction_register", "gomp_workshare_task_reduction_register"}, Watch: true, Reduces: true},
	{Args: 3, Names: []string{"GOMP_task_reduction_remap"}, Watch: true, Begin: func(s *State, c *Call) { s.omp.current(c).reduces = true }},
	{Names: []string{"omp_fulfill_event"}, Begin: fulfill},

	// Target regions, which run on the host.
	around(targetBegin, nil, Func{Args: 8, Calls: targetBody}, "GOMP_target_ext"),
	{Names: []string{"GOMP_target"}, Watch: true, Calls: targetBody},
	around(targetDataBegin, awaited, Func{Args: 7}, "GOMP_target_update_ext", "GOMP_target_enter_exit_data"),

	// Memory. The program owns what these functions return.
	{Args: 2, Names: []string{"omp_alloc", "omp_target_alloc"}, End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(0)) }},
	{Args: 3, Names: []string{"GOMP_alloc", "omp_aligned_alloc"}, End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(1)) }},
	{Args: 3, Names: []string{"omp_calloc"}, End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(0)*c.Arg(1)) }},
	{Args: 4, Names: []string{"omp_aligned_calloc"}, End: func(s *State, c *Call, result uint64) { s.alloc(c, result, c.Arg(1)*c.Arg(2)) }},
	{Args: 4, Names: []string{"omp_realloc"}, Begin: reallocBegin,
		End: func(s *State, c *Call, result uint64) { reallocEnd(s, c, result, c.Arg(1)) }},
	{Args: 2, Names: []string{"omp_free", "GOMP_free", "omp_target_free"}, Begin: func(s *State, c *Call) { s.free(c, c.Arg(0)) }},
}

// around returns a row for functions in which everything is recorded.
func around(begin, end func(*State, *Call), f Func, names ...string) Func {
	f.Names, f.Watch, f.Begin, f.Abandon = names, true, begin, end
	if end != nil {
		f.End = func(s *State, c *Call, _ uint64) { end(s, c) }
	}
	return f
}

// The locks of constructs that have one for the whole program, at addresses that no program
// uses.
const (
	lockCritical = 8 * (1 + iota)
	lockAtomic
)

// initLock hooks functions that initialise a lock, or destroy it.
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
