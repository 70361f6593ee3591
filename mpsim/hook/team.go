package hook

import "hindsight/tracefmt/event"

// teamBegin opens a parallel region. The team is ordered after what the thread has done so
// far.
func teamBegin(s *State, c *Call) {
	o := &s.omp
	th := o.thread(c.ID())
	c.team = newTeam()
	c.team.body, c.team.reduces, c.team.parallel = c.Arg(0), c.fn.Reduces, true
	c.team.inLeague = th.current().team.inLeague
	th.regions = append(th.regions, c.team)
	o.publish(c, &c.team.begin)
}

// teamEnd closes a parallel region. All of its threads and tasks are done.
func teamEnd(s *State, c *Call) {
	th := s.omp.thread(c.ID())
	c.team.end.observe(c)
	c.team.wait(c)
	c.team.forget(c)
	for n := len(th.regions) - 1; n >= 0; n-- {
		if th.regions[n] == c.team {
			th.regions = th.regions[:n]
		}
	}
}

// bodyBegin determines why the body is called: for a deferred task, whatever runtime call
// is around it, or for the part of one of libgomp's own threads in a team.
func bodyBegin(s *State, c *Call) {
	o := &s.omp
	th := o.thread(c.ID())
	c.Note = c.SP()
	if t := o.take(c.Func(), c.Arg(0)); t != nil {
		o.start(c, th, t)
		return
	}
	if outer := th.caller(c); outer != nil {
		if outer.fn.Calls != nil {
			outer.fn.Calls(s, outer, c)
		}
		return
	}
	if m := th.master; m != nil && th.depth < len(m.regions) {
		r := m.regions[th.depth]
		o.join(c, th, r)
		if c.task != nil && r.inLeague {
			// The thread may have worked for another team of the league before.
			o.beginStrand(c, c.task)
		}
		r.begin.observe(c)
	}
}

// member handles the part in the region of the thread that opened it with call outer.
func member(s *State, outer, c *Call) {
	o := &s.omp
	o.join(c, o.thread(c.ID()), outer.team)
}

func (o *openMP) join(c *Call, th *ompThread, r *team) {
	if r.body != c.Func() {
		return
	}
	c.task = &task{team: r, reduces: r.reduces}
	th.tasks = append(th.tasks, c.task)
}

// beginStrand makes the thread act as a strand of t.
func (o *openMP) beginStrand(c *Call, t *task) {
	o.strands++
	t.strand = o.strands
	c.Emit(event.StrandCreate, t.strand, 0)
	c.EmitStrand(event.StrandBegin, t.strand)
}

func bodyEnd(s *State, c *Call) {
	if c.task == nil {
		return
	}
	o := &s.omp
	th := o.thread(c.ID())
	for len(th.tasks) > 0 {
		t := th.tasks[len(th.tasks)-1]
		th.tasks = th.tasks[:len(th.tasks)-1]
		switch t.role {
		case implicit:
			o.publish(c, &t.team.end)
			if t.strand != 0 {
				c.EmitStrand(event.StrandEnd, t.strand)
			}
		case explicit:
			o.finish(c, t)
		case initial:
			t.team.wait(c)
			t.team.forget(c)
			if t.parent != nil {
				continue // it is the body of that target task
			}
		case league:
			o.endTeam(c, t)
		}
		if t == c.task {
			return
		}
	}
}

// barrierBegin publishes what a thread of the team did. barrierEnd observes what all of
// them did, and all tasks that were created before.
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
	barrierPassed(c, t)
}

// barrierCancel is barrierEnd for a function that reports whether the region was cancelled.
// If so, no thread waited for another.
func barrierCancel(s *State, c *Call, result uint64) {
	if result&0xff == 0 {
		barrierEnd(s, c)
		return
	}
	barrierPassed(c, s.omp.current(c))
}

func barrierPassed(c *Call, t *task) {
	r := t.team
	t.passed++
	if t.passed >= 2 { // all threads have left the previous barrier
		forget(c, r.barriers, t.passed-2)
		forget(c, r.tasks, t.passed-2)
		for _, n := range sortedKeys(r.loops) {
			if r.loops[n].passed+2 <= t.passed {
				r.loops[n].forget(c)
				delete(r.loops, n)
			}
		}
	}
	t.children.forget(c)
	t.depends = nil
}

func forget(c *Call, handles map[uint64]*handle, n uint64) {
	if h := handles[n]; h != nil {
		h.forget(c)
		delete(handles, n)
	}
}

// The teams of a league. On the host, libgomp runs them one after another on the thread
// that encountered the construct. But each team is a strand, because the initial threads of
// teams are unordered (OpenMP 5.1, section 2.7).

// leagueBegin handles GOMP_teams_reg (fn, data, …), which calls the body for each team.
func leagueBegin(s *State, c *Call) { c.task = s.omp.current(c) }

func leagueBody(s *State, outer, c *Call) {
	o := &s.omp
	c.task = o.beginTeam(c, o.thread(c.ID()), outer.task)
	if s.passed != nil {
		// If gcc passes the value of a variable that nothing changes, each team writes back
		// what it has read.
		if size := s.passed(c.Func()); size != 0 {
			c.Emit(event.Renew, c.Arg(0), size)
		}
	}
}

func leagueEnd(_ *State, c *Call) {
	c.task.league.observe(c)
	c.task.league.forget(c)
}

// nextTeam handles GOMP_teams4 (least, most, threads, first). It reports whether to start
// another team, in the function that calls it.
func nextTeam(s *State, c *Call, result uint64) {
	o := &s.omp
	th := o.thread(c.ID())
	t := th.current()
	if t.role == league {
		th.tasks = th.tasks[:len(th.tasks)-1]
		o.endTeam(c, t)
		t = t.parent
	}
	if result&0xff == 0 {
		t.league.observe(c)
		t.league.forget(c)
		return
	}
	o.beginTeam(c, th, t)
	// The teams have their variables in the same frame.
	if outer := th.caller(c); outer != nil && outer.fn.Part == Body && outer.Note > c.SP() {
		c.Emit(event.Renew, c.SP(), outer.Note-c.SP())
	}
}

func (o *openMP) beginTeam(c *Call, th *ompThread, parent *task) *task {
	t := &task{role: league, team: newTeam(), parent: parent}
	t.team.inLeague = true
	o.beginStrand(c, t)
	th.tasks = append(th.tasks, t)
	return t
}

func (o *openMP) endTeam(c *Call, t *task) {
	t.team.wait(c)
	t.team.forget(c)
	t.children.forget(c)
	o.conclude(c, &t.parent.league)
	c.EmitStrand(event.StrandEnd, t.strand)
}
