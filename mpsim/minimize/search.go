package minimize

import (
	"hindsight/mpsim/schedule"
)

// Oracle runs the program under a schedule, and returns the schedule of the run that
// came of it when it failed in the same manner; nil when it did not.
type Oracle func(candidate *schedule.Schedule) (*schedule.Schedule, error)

// Result is what a search found.
type Result struct {
	Schedule    *schedule.Schedule // of the shortest run that fails
	Preemptions int                // that it has
	Runs        int                // that were made
	// Minimal says that none of the preemptions can be left out; if not, the search
	// ended before it was known.
	Minimal bool
}

// Search looks for a run that fails with fewer preemptions than start, the schedule of
// a run that fails. It makes at most so many runs. With an error, which is that of the
// oracle, the result is the best so far.
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
	points []int // preemptions: numbers of turns
}

// take makes a schedule the best so far.
func (s *search) take(sched *schedule.Schedule) {
	s.Schedule, s.turns = sched, Turns(sched)
	s.points = Preemptions(s.turns)
	s.Preemptions = len(s.points)
}

// leaveOut tries a run without the preemptions from, up to but without to.
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
