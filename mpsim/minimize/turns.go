package minimize

import (
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// Turn is the steps of one thread that follow each other, and the changes of time
// before them.
type Turn struct {
	Thread event.ThreadID
	Steps  []schedule.Step // Clock and those of Thread; at least one of Thread
	// Preempted says that another thread runs next although this one could have
	// continued.
	Preempted bool
}

// Turns splits the schedule of a run. Changes of time after the last step of a
// thread are left out.
func Turns(s *schedule.Schedule) []Turn {
	var turns []Turn
	var clocks []schedule.Step
	for i := range s.Steps {
		step := s.Steps[i]
		if step.Kind == schedule.Clock {
			clocks = append(clocks, step)
			continue
		}
		if n := len(turns); n == 0 || turns[n-1].Thread != step.Thread {
			if n > 0 {
				last := turns[n-1].Steps
				turns[n-1].Preempted = !last[len(last)-1].Waits
			}
			turns = append(turns, Turn{Thread: step.Thread})
		}
		t := &turns[len(turns)-1]
		t.Steps = append(append(t.Steps, clocks...), step)
		clocks = clocks[:0]
	}
	return turns
}

// Preemptions are the turns, by number, after which a thread is preempted.
func Preemptions(turns []Turn) (at []int) {
	for i := range turns {
		if turns[i].Preempted {
			at = append(at, i)
		}
	}
	return at
}

// Without is the schedule, to be followed leniently, in which the threads are not
// preempted after some turns: the thread goes on there with its next turn, up to a
// switch that is kept. The next thread after a switch is the one that was next; when
// it has no turn left, the thread of the earliest turn that is left.
func Without(turns []Turn, preemptions []int) *schedule.Schedule {
	left := make([]bool, len(turns)) // preemptions that are left out
	for _, i := range preemptions {
		left[i] = true
	}
	mine := map[event.ThreadID][]int{} // turns that are to come, by thread
	for i := range turns {
		mine[turns[i].Thread] = append(mine[turns[i].Thread], i)
	}
	out := &schedule.Schedule{Lenient: true}
	done, first := make([]bool, len(turns)), 0
	for at := 0; ; {
		out.Steps = append(out.Steps, turns[at].request()...)
		done[at] = true
		thread := turns[at].Thread
		mine[thread] = mine[thread][1:]
		for first < len(turns) && done[first] {
			first++
		}
		if first == len(turns) {
			return out
		}
		next := thread
		if !left[at] && at+1 < len(turns) {
			next = turns[at+1].Thread
		}
		at = first
		if len(mine[next]) > 0 {
			at = mine[next][0]
		}
	}
}

// request is the steps of the turn without what a run is compared with.
func (t *Turn) request() []schedule.Step {
	steps := make([]schedule.Step, len(t.Steps))
	for i, s := range t.Steps {
		s.At, s.Waits, s.Line = 0, false, 0
		steps[i] = s
	}
	return steps
}
