package hook

// loopBegin enters a work-sharing construct. A construct with reductions in which tasks
// take part is a task group until the call that ends the reductions. libgomp's argument
// number n points to them.
func loopBegin(n int) func(*State, *Call) {
	return func(s *State, c *Call) {
		if c.argument(n) != 0 {
			groupBegin(s, c)
			s.omp.current(c).reduces = true
		}
	}
}

// reductionsEnd handles GOMP_workshare_task_reduction_unregister (cancelled), which waits
// for the group and, unless the construct was cancelled, at a barrier.
func reductionsEnd(s *State, c *Call) {
	groupEnd(s, c)
	t := s.omp.current(c)
	t.reduces = t.team.reduces
	if c.Arg(0)&0xff == 0 {
		barrierEnd(s, c)
	}
}

// orderedStart observes what the previous iterations did. libgomp also calls it internally
// to wait for an iteration's turn, which promises nothing.
func orderedStart(s *State, c *Call) {
	if !s.omp.internal(c) {
		s.omp.current(c).team.ordered.observe(c)
	}
}

func orderedEnd(s *State, c *Call) { s.omp.publish(c, &s.omp.current(c).team.ordered) }

// doacross is a loop whose iterations name the iterations that they wait for.
type doacross struct {
	passed uint64 // number of barriers before it
	posts  map[string]*handle
}

func (d *doacross) forget(c *Call) {
	for _, n := range sortedKeys(d.posts) {
		d.posts[n].forget(c)
	}
}

// doacrossBegin handles GOMP_loop_doacross_start (dimensions, …). reductions is the number
// of the argument that points to reductions, or -1.
func doacrossBegin(reductions int) func(*State, *Call) {
	return func(s *State, c *Call) {
		t := s.omp.current(c)
		t.loopCount++
		t.dimensions = int(min(c.Arg(0), 1<<10))
		if t.team.loops[t.loopCount] == nil {
			t.team.loops[t.loopCount] = &doacross{passed: t.passed, posts: map[string]*handle{}}
		}
		if reductions >= 0 {
			loopBegin(reductions)(s, c)
		}
	}
}

// doacrossPost records that the iteration to whose indices the argument points is done.
func doacrossPost(s *State, c *Call) {
	t := s.omp.current(c)
	loop := t.team.loops[t.loopCount]
	if loop == nil {
		return // the thread has no team
	}
	key := iteration(t.dimensions, func(n int) uint64 {
		v, _ := c.Load(c.Arg(0)+8*uint64(n), 8)
		return v
	})
	if loop.posts[key] == nil {
		loop.posts[key] = new(handle)
	}
	s.omp.publish(c, loop.posts[key])
}

// doacrossWait waits for an iteration, whose indices are the arguments.
func doacrossWait(s *State, c *Call, _ uint64) {
	t := s.omp.current(c)
	loop := t.team.loops[t.loopCount]
	if loop == nil {
		return
	}
	if h := loop.posts[iteration(t.dimensions, c.argument)]; h != nil {
		h.observe(c)
	}
}

func iteration(dimensions int, at func(n int) uint64) string {
	key := make([]byte, 0, 8*dimensions)
	for n := range dimensions {
		v := at(n)
		for shift := 0; shift < 64; shift += 8 {
			key = append(key, byte(v>>shift))
		}
	}
	return string(key)
}
