package race

import (
	"math/rand/v2"
	"testing"

	"hindsight/analyze/replay"
	"hindsight/examples/cross"
	"hindsight/tracefmt/event"
)

// What the plain detector and the random programs know about tasks, by docs/semantics.md:
// a strand is a thread, or a task that threads act as.

// firstTask is where the numbers of tasks begin, when they stand for threads.
const firstTask = 1000

// plainStrands returns the events with their strands in place of their threads.
func plainStrands(events []replay.Event) []replay.Event {
	out := make([]replay.Event, len(events))
	acting := map[event.ThreadID][]event.ThreadID{}
	for i, e := range events {
		t := e.Thread
		switch e.Kind {
		case event.StrandBegin, event.StrandResume:
			acting[t] = append(acting[t], event.ThreadID(firstTask+e.Obj))
		}
		out[i] = e
		if list := acting[t]; len(list) > 0 {
			out[i].Thread = list[len(list)-1]
		}
		switch e.Kind {
		case event.StrandEnd, event.StrandSuspend:
			acting[t] = acting[t][:len(acting[t])-1]
		}
	}
	return out
}

// plainActing returns what a thread acts as after event i of it.
func plainActing(events []replay.Event, i int) event.ThreadID {
	t, left := events[i].Thread, 0
	for k := i; k >= 0; k-- {
		if e := events[k]; e.Thread == t {
			switch e.Kind {
			case event.StrandEnd, event.StrandSuspend:
				left++
			case event.StrandBegin, event.StrandResume:
				if left == 0 {
					return event.ThreadID(firstTask + e.Obj)
				}
				left--
			}
		}
	}
	return t
}

// plainPlace finds the strand of each access, and the events of the strand
// around it.
func plainPlace(f *fake, strands []replay.Event, accesses []plainAccess) {
	for n := range accesses {
		a := &accesses[n]
		a.strand, a.from, a.to = a.thread, a.begin, a.end
		switch {
		case a.instant:
			a.strand = strands[a.begin].Thread
			continue
		case a.begin >= 0 && f.events[a.begin].Thread == a.thread: // else it is the thread's Create
			a.strand = plainActing(f.events, a.begin)
			for a.from >= 0 && strands[a.from].Thread != a.strand {
				a.from--
			}
		}
		for a.to < len(strands) && strands[a.to].Thread != a.strand {
			a.to++
		}
	}
}

// tasks is what a random program knows of its tasks.
type tasks struct {
	next   uint64
	made   []uint64
	parked []uint64
	acting map[event.ThreadID][]uint64
}

// task creates, begins, suspends, resumes or ends a task, in any thread.
func (p *programState) task(t event.ThreadID) {
	k := &p.tasks
	if k.acting == nil {
		k.acting = map[event.ThreadID][]uint64{}
	}
	take := func(list *[]uint64, kind event.Kind) {
		if len(*list) == 0 {
			return
		}
		i := p.n(len(*list))
		id := (*list)[i]
		*list = append((*list)[:i], (*list)[i+1:]...)
		k.acting[t] = append(k.acting[t], id)
		p.f.do(t, kind, id, 0)
	}
	top := len(k.acting[t]) - 1
	switch p.n(6) {
	case 0, 1:
		k.next++
		k.made = append(k.made, k.next)
		p.f.do(t, event.StrandCreate, k.next, 0)
	case 2:
		take(&k.made, event.StrandBegin)
	case 3:
		take(&k.parked, event.StrandResume)
	case 4, 5:
		if top < 0 {
			take(&k.made, event.StrandBegin)
			return
		}
		id, kind := k.acting[t][top], []event.Kind{event.StrandEnd, event.StrandSuspend, event.StrandSuspend}[p.n(3)]
		k.acting[t] = k.acting[t][:top]
		if kind == event.StrandSuspend {
			k.parked = append(k.parked, id)
		}
		p.f.do(t, kind, id, 0)
	}
}

// TestRandomStrands compares the engine with the plain detector on programs of tasks that
// leave one thread and continue in another.
func TestRandomStrands(t *testing.T) {
	n := 2000
	if !cross.Long() {
		n = 400
	}
	moved := 0
	for seed := range uint64(n) {
		c := &chooser{rnd: rand.New(rand.NewPCG(seed, 12))}
		f := randomTasks(c, 30+int(seed%90))
		for _, e := range f.events {
			if e.Kind == event.StrandResume {
				moved++
			}
		}
		compareWithPlain(t, f, Options{Workers: 1 + int(seed%3), Atomics: Atomics(seed % 2)})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if moved < n/10 {
		t.Errorf("only %d tasks went on", moved)
	}
}

// randomTasks returns a random program with tasks.
func randomTasks(c *chooser, steps int) *fake {
	p := newProgram(c)
	p.withTasks = true
	for !c.done(&steps) {
		p.step(event.ThreadID(c.n(len(p.state))))
	}
	return p.f
}
