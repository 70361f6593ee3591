package minimize

import (
	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// Turn is a sequence of consecutive steps of one thread, and the changes of time before
// them.
type Turn struct {
	Thread event.ThreadID
	Steps  []schedule.Step // Clock and those of Thread; at least one of Thread
	// Preempted says that another thread runs next although this one could have
	// continued.
	Preempted bool
}

// Turns splits the schedule of a run into turns. It leaves out changes of time after the
// last step of a thread.
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

// Preemptions returns the numbers of the turns after which a thread is preempted.
func Preemptions(turns []Turn) (at []int) {
	for i := range turns {
		if turns[i].Preempted {
			at = append(at, i)
		}
	}
	return at
}

// Without returns the schedule, to be followed leniently, in which threads are not
// preempted after some turns: there the thread continues with its next turn, up to a switch
// that is kept. After a switch, the same thread comes next as before. If it has no turn
// left, the thread of the earliest remaining turn does.
func Without(turns []Turn, preemptions []int) *schedule.Schedule {
	left := make([]bool, len(turns)) // preemptions that are left out
	for _, i := range preemptions {
		left[i] = true
	}
	mine := map[event.ThreadID][]int{} // remaining turns, by thread
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

// request returns the steps of the turn without the values with which a run is compared.
func (t *Turn) request() []schedule.Step {
	steps := make([]schedule.Step, len(t.Steps))
	for i, s := range t.Steps {
		s.At, s.Waits, s.Line = 0, false, 0
		steps[i] = s
	}
	return steps
}
