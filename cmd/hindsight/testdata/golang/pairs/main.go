// Pairs of functions over Go's memory model and standard library: race_… has a
// race whatever the schedule, norace_… has none.
package main

//go:noinline
func use(...any) {}

func main() {
	for _, f := range []func(){
		norace_capacity_one, race_capacity_three, norace_pipeline, race_pipeline, norace_default, race_default,
		norace_nil_channel, race_nil_channel, norace_len, race_len, norace_cond, race_cond, norace_reset_timer,
		race_stop_timer, norace_ticker, race_ticker, norace_context, race_context, norace_notify, race_notify,
		norace_finalizer, race_finalizer, norace_spin, race_spin, norace_pool, race_pool, norace_map, race_map,
		norace_once, race_once, norace_rwmutex, race_rwmutex, norace_try_lock, race_try_lock, norace_atomic_types,
		race_atomic_functions, norace_errgroup, race_errgroup, norace_singleflight, race_singleflight, norace_generic,
		race_generic, norace_range_func, race_range_func, norace_pull, race_pull, norace_sorted, race_sorted,
		norace_unique, race_unique, norace_weak, race_weak, norace_guarded, race_guarded, norace_neighbours,
		race_neighbours,
	} {
		f()
	}
}
