package minimize

import (
	"errors"
	"math/rand/v2"
	"testing"

	"hindsight/mpsim/schedule"
	"hindsight/tracefmt/event"
)

// before says that instruction I of thread A runs before instruction J of thread B.
type before struct {
	A event.ThreadID
	I int
	B event.ThreadID
	J int
}

// model is a program whose threads never wait, and which fails if its instructions run in
// certain orders.
type model struct {
	insts  []int // by thread
	orders []before
	runs   int
}

// order runs the program under a candidate, and then the rest of each thread. It returns
// the thread that ran at each step.
func (m *model) order(s *schedule.Schedule) (who []event.ThreadID) {
	done := make([]int, len(m.insts))
	run := func(t event.ThreadID, n uint64) {
		for ; n > 0 && done[t] < m.insts[t]; n-- {
			done[t]++
			who = append(who, t)
		}
	}
	for _, step := range s.Steps {
		run(step.Thread, step.Count)
	}
	for t := range m.insts {
		run(event.ThreadID(t), uint64(m.insts[t]))
	}
	return who
}

// trail returns the schedule of a run.
func (m *model) trail(who []event.ThreadID) *schedule.Schedule {
	s, done := &schedule.Schedule{}, make([]int, len(m.insts))
	for i, t := range who {
		if i == 0 || who[i-1] != t {
			s.Steps = append(s.Steps, schedule.Step{Kind: schedule.Run, Thread: t})
		}
		done[t]++
		last := &s.Steps[len(s.Steps)-1]
		last.Count++
		last.Waits = done[t] == m.insts[t]
	}
	return s
}

func (m *model) fails(who []event.ThreadID) bool {
	at, done := map[[2]int]int{}, make([]int, len(m.insts))
	for i, t := range who {
		at[[2]int{int(t), done[t]}] = i
		done[t]++
	}
	for _, o := range m.orders {
		if at[[2]int{int(o.A), o.I}] > at[[2]int{int(o.B), o.J}] {
			return false
		}
	}
	return true
}

func (m *model) try(s *schedule.Schedule) (*schedule.Schedule, error) {
	m.runs++
	who := m.order(s)
	if !m.fails(who) {
		return nil, nil
	}
	return m.trail(who), nil
}

// shuffled returns a model and a random run of it, which fails because of orders that were
// chosen from the run.
func shuffled(r *rand.Rand) (*model, *schedule.Schedule) {
	m := &model{}
	var who []event.ThreadID
	for t := range 2 + r.IntN(3) {
		m.insts = append(m.insts, 5+r.IntN(20))
		for range m.insts[t] {
			who = append(who, event.ThreadID(t))
		}
	}
	r.Shuffle(len(who), func(i, j int) { who[i], who[j] = who[j], who[i] })
	done, nth := make([]int, len(m.insts)), make([]int, len(who))
	for i, t := range who {
		nth[i] = done[t]
		done[t]++
	}
	for range r.IntN(5) {
		i, j := r.IntN(len(who)), r.IntN(len(who))
		if i > j {
			i, j = j, i
		}
		if who[i] != who[j] {
			m.orders = append(m.orders, before{who[i], nth[i], who[j], nth[j]})
		}
	}
	return m, m.trail(who)
}

// TestMinimal checks that the result of a search fails, and that no single preemption can
// be left out.
func TestMinimal(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	for n := range 300 {
		m, start := shuffled(r)
		got, err := Search(start, 1_000_000, m.try)
		if err != nil || !got.Minimal || got.Runs != m.runs {
			t.Fatalf("%d: %v, %+v, %d runs", n, err, got, m.runs)
		}
		if !m.fails(m.order(got.Schedule)) {
			t.Fatalf("%d: the result does not fail", n)
		}
		turns := Turns(got.Schedule)
		points := Preemptions(turns)
		if len(points) != got.Preemptions || len(points) > len(Preemptions(Turns(start))) {
			t.Fatalf("%d: %d preemptions, said to be %d", n, len(points), got.Preemptions)
		}
		for i := range points {
			shorter, _ := m.try(Without(turns, points[i:i+1]))
			if shorter != nil && len(Preemptions(Turns(shorter))) < len(points) {
				t.Fatalf("%d: preemption %d of %d can be left out", n, i, len(points))
			}
		}
		if len(m.orders) == 0 && len(points) > 0 {
			t.Fatalf("%d: %d preemptions for a run that always fails", n, len(points))
		}
	}
}

// TestLostUpdate checks that for a run with a switch at every step, only the switch between
// the read and the write is left.
func TestLostUpdate(t *testing.T) {
	m := &model{insts: []int{50, 50}, orders: []before{{0, 20, 1, 0}, {1, 49, 0, 21}}}
	start := &schedule.Schedule{}
	step := func(thread event.ThreadID, n uint64, waits bool) {
		start.Steps = append(start.Steps, schedule.Step{Thread: thread, Count: n, Waits: waits})
	}
	for range 21 {
		step(0, 1, false)
	}
	for range 50 {
		step(1, 1, false)
	}
	start.Steps[len(start.Steps)-1].Waits = true
	step(0, 29, true)
	got, err := Search(start, 100, m.try)
	if err != nil || got.Preemptions != 1 || got.Schedule.Switches() != 2 {
		t.Fatalf("%v: %d preemptions\n%s", err, got.Preemptions, got.Schedule.Text())
	}
}

// TestWithoutNone checks that the request with all preemptions is the run itself.
func TestWithoutNone(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 2))
	for range 50 {
		m, start := shuffled(r)
		same := m.trail(m.order(Without(Turns(start), nil)))
		if string(same.Text()) != string(start.Text()) {
			t.Fatalf("%s\nbecame\n%s", start.Text(), same.Text())
		}
	}
}

// TestClocks checks that changes of time stay before the same turn.
func TestClocks(t *testing.T) {
	s := &schedule.Schedule{Steps: []schedule.Step{
		{Thread: 0, Count: 1}, {Kind: schedule.Clock, Time: 7}, {Thread: 1, Count: 2}, {Thread: 0, Count: 3, Waits: true}, {Thread: 1, Count: 4, Waits: true},
	}}
	turns := Turns(s)
	want := "hindsight schedule 1\nT0 1\nT0 3\nclock 7\nT1 2\nT1 4\n"
	if got := string(Without(turns, Preemptions(turns)).Text()); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestEarlyEnd checks that a search that runs out of runs, or whose oracle fails, returns
// the best result so far.
func TestEarlyEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 3))
	broken := errors.New("broken")
	for range 50 {
		m, start := shuffled(r)
		most := 1 + r.IntN(20)
		got, err := Search(start, most, m.try)
		if err != nil || got.Runs > most || !m.fails(m.order(got.Schedule)) {
			t.Fatalf("%v, %+v of %d runs", err, got, most)
		}
		left := most
		got, err = Search(start, 1_000_000, func(s *schedule.Schedule) (*schedule.Schedule, error) {
			if left--; left < 0 {
				return nil, broken
			}
			return m.try(s)
		})
		if err != nil && (!errors.Is(err, broken) || got.Minimal) || !m.fails(m.order(got.Schedule)) {
			t.Fatalf("%v, %+v", err, got)
		}
	}
}
