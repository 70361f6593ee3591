package minimize

import (
	"hindsight/mpsim/schedule"
)

// Oracle runs the program under a schedule. If the run fails in the same way, it returns
// the schedule of that run, and otherwise nil.
type Oracle func(candidate *schedule.Schedule) (*schedule.Schedule, error)

// Result is the result of a search.
type Result struct {
	Schedule    *schedule.Schedule // of the shortest run that fails
	Preemptions int                // number in that schedule
	Runs        int                // number of runs made
	// Minimal says that no preemption can be left out. If it is false, the search ended
	// before that was known.
	Minimal bool
}

// Search looks for a run that fails with fewer preemptions than start, which is the
// schedule of a failing run. It makes at most the given number of runs. If there is an
// error, which is the oracle's, the result is the best so far.
func Search(start *schedule.Schedule, runs int, try Oracle) (*Result, error) {
	s := &search{try: try, most: runs}
	s.take(start)
	if _, err := s.leaveOut(0, len(s.points)); err != nil {
		return &s.Result, err
	}
	for size := max(len(s.points)/2, 1); len(s.points) > 0; size = max(size/2, 1) {
		shorter := false
		for at := 0; at < len(s.points); {
			if s.Runs == s.most {
				return &s.Result, nil
			}
			ok, err := s.leaveOut(at, min(at+size, len(s.points)))
			if err != nil {
				return &s.Result, err
			}
			if ok {
				shorter = true // other preemptions are at this place now
			} else {
				at += size
			}
		}
		if size == 1 && !shorter {
			break
		}
	}
	s.Minimal = true
	return &s.Result, nil
}

type search struct {
	Result
	try    Oracle
	most   int
	turns  []Turn
	points []int // preemptions, as numbers of turns
}

// take makes a schedule the best so far.
func (s *search) take(sched *schedule.Schedule) {
	s.Schedule, s.turns = sched, Turns(sched)
	s.points = Preemptions(s.turns)
	s.Preemptions = len(s.points)
}

// leaveOut tries a run without preemptions from to to-1.
func (s *search) leaveOut(from, to int) (bool, error) {
	if from == to || s.Runs == s.most {
		return false, nil
	}
	s.Runs++
	got, err := s.try(Without(s.turns, s.points[from:to]))
	if err != nil || got == nil {
		return false, err
	}
	if turns := Turns(got); len(Preemptions(turns)) >= len(s.points) {
		return false, nil
	}
	s.take(got)
	return true, nil
}
