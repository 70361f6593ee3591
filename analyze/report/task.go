package report

import (
	"fmt"
	"iter"

	"hindsight/analyze/race"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Task is an OpenMP task in which an access was made, or a goroutine.
type Task struct {
	ID     uint64         // from 1, in order of creation in the run
	Thread event.ThreadID // the thread that created it
	Stack  []Frame        // where it was created; the innermost first
	Top    Frame          // as in Access
	By     uint64         // the task or goroutine that created it; 0 if none
	Ended  bool
	kind   string
}

// Tasks sets the tasks in which accesses were made. It walks along S_synch once. It needs
// the stacks and names with which the report was built, and res, from which it was built.
// It must be called before a baseline is applied or reports are merged.
func (r *Report) Tasks(res *race.Result, events iter.Seq2[format.Event, error], img Image, stacks Stacks) error {
	t := taskFinder{wanted: map[race.EventRef][]*Access{}, created: map[uint64]race.EventRef{}, by: map[uint64]uint64{}, ended: map[uint64]bool{}, acting: map[event.ThreadID][]uint64{}, events: map[event.ThreadID]uint64{}, found: map[*Access]uint64{}}
	for _, races := range [][]Race{r.Races, r.Suppressed} {
		for i := range races {
			x := &races[i]
			first := &res.Races[x.index].First
			for k, s := range []*race.Side{&first.Later, &first.Earlier} {
				at := race.EventRef{Thread: s.Thread, Index: s.Segment}
				t.wanted[at] = append(t.wanted[at], &x.Accesses[k])
			}
		}
	}
	if err := t.walk(events); err != nil {
		return err
	}
	b := builder{namer: newNamer(img, stacks), res: res, rep: r}
	kind := "task"
	r.Goroutines = b.golang
	if b.golang {
		kind = "goroutine"
	}
	tasks := map[uint64]*Task{}
	for a, id := range t.found {
		task := tasks[id]
		if task == nil {
			at := t.created[id]
			stack, err := b.eventStack(at.Thread, at.Index)
			if err != nil {
				return err
			}
			task = &Task{ID: id, Thread: at.Thread, Stack: stack, Top: top(stack), By: t.by[id], Ended: t.ended[id], kind: kind}
			tasks[id] = task
		}
		a.Task = task
		if err := b.thread(task.Thread); err != nil {
			return err
		}
	}
	return nil
}

// taskFinder follows as which task each thread acts.
type taskFinder struct {
	wanted  map[race.EventRef][]*Access // by the event that ends the segment
	created map[uint64]race.EventRef
	by      map[uint64]uint64 // by task, the task that created it
	ended   map[uint64]bool
	acting  map[event.ThreadID][]uint64 // tasks begun and not ended, the innermost last
	events  map[event.ThreadID]uint64   // number of events so far
	found   map[*Access]uint64
}

func (t *taskFinder) walk(events iter.Seq2[format.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if len(t.acting) > 0 {
			t.find(race.EventRef{Thread: e.Thread, Index: e.Index})
		}
		t.events[e.Thread] = e.Index + 1
		switch e.Kind {
		case event.StrandCreate:
			t.created[e.Obj] = race.EventRef{Thread: e.Thread, Index: e.Index}
			if a := t.acting[e.Thread]; len(a) > 0 {
				t.by[e.Obj] = a[len(a)-1]
			}
		case event.StrandBegin, event.StrandResume:
			t.acting[e.Thread] = append(t.acting[e.Thread], e.Obj)
		case event.StrandEnd, event.StrandSuspend:
			if e.Kind == event.StrandEnd {
				t.ended[e.Obj] = true
			}
			if a := t.acting[e.Thread]; len(a) > 1 {
				t.acting[e.Thread] = a[:len(a)-1]
			} else {
				delete(t.acting, e.Thread)
			}
		}
	}
	for at := range t.wanted {
		if at.Index >= t.events[at.Thread] {
			t.find(at) // for accesses that no event follows
		}
	}
	return nil
}

// find sets the tasks of the accesses in the segment that event at ends.
func (t *taskFinder) find(at race.EventRef) {
	acting := t.acting[at.Thread]
	if len(acting) == 0 {
		return
	}
	for _, a := range t.wanted[at] {
		if id := acting[len(acting)-1]; t.isCreated(id) {
			t.found[a] = id
		}
	}
	delete(t.wanted, at)
}

func (t *taskFinder) isCreated(id uint64) bool {
	_, ok := t.created[id]
	return ok
}

// name names a task in a sentence.
func (t *Task) name() string { return nameOfTask(t.kind, t.ID) }

// mainGoroutine is the number of the first goroutine of a Go program.
const mainGoroutine = 1

func nameOfTask(kind string, id uint64) string {
	if kind == "goroutine" && id == mainGoroutine {
		return "main goroutine"
	}
	return fmt.Sprintf("%s %d", kind, id)
}

// goroutine describes a goroutine.
func (t *text) goroutine(g *Task) {
	if g.ID == mainGoroutine {
		return
	}
	state, by := "running", ""
	if g.Ended {
		state = "finished"
	}
	if g.By != 0 {
		by = " by " + nameOfTask(g.kind, g.By)
	}
	t.printf("  %s\n", t.emphasis(36, fmt.Sprintf("%s (%s) created%s at:", capital(g.name()), state, by)))
	t.stack(g.Stack)
	t.printf("\n")
}

// actor says which thread, task or goroutine made an access.
func (t *text) actor(a *Access) string {
	if t.run.Goroutines && a.Task != nil {
		return a.Task.name()
	}
	return threadName(a.Thread)
}

// jsonTask is a task in the JSON form.
type jsonTask struct {
	ID       uint64      `json:"id"`
	Thread   uint32      `json:"thread"`
	Function string      `json:"function"`
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Stack    []jsonFrame `json:"stack"`
}

func jsonOfTask(t *Task) *jsonTask {
	if t == nil {
		return nil
	}
	return &jsonTask{t.ID, uint32(t.Thread), t.Top.Function, t.Top.File, t.Top.Line, jsonStack(t.Stack)}
}

// tasks describes the tasks of both sides.
func (t *text) tasks(r *Race) {
	for i := range r.Accesses {
		a := &r.Accesses[i]
		if a.Task == nil || i == 1 && r.Accesses[0].Task != nil && r.Accesses[0].Task.ID == a.Task.ID {
			continue
		}
		if t.run.Goroutines {
			t.goroutine(a.Task)
			continue
		}
		t.printf("  %s\n", t.emphasis(36, fmt.Sprintf("%s, of the %s by %s, created by %s at:", capital(a.Task.name()), a.verb(), threadName(a.Thread), threadName(a.Task.Thread))))
		t.stack(a.Task.Stack)
		t.printf("\n")
	}
}
