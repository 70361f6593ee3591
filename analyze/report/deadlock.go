package report

import (
	"cmp"
	"fmt"
	"strings"

	"hindsight/analyze/internal/jsonform"
	"hindsight/analyze/predict"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// Deadlock is a cycle of threads that another schedule of the same events reaches: each
// waits for a mutex that the next holds.
type Deadlock struct {
	ID         string // D1, D2, …
	Waits      []DeadlockWait
	Prediction *Prediction
}

// DeadlockWait is a thread of a deadlock.
type DeadlockWait struct {
	Thread    event.ThreadID
	Mutex     string // that it waits for: its name, or its address
	Address   uint64
	Stack     []Frame // where it waits
	Held      string  // the mutex that it holds
	HeldAt    uint64
	HeldStack []Frame // where it locked that
}

// AddDeadlocks takes predicted deadlocks, with how the runs of their witnesses went, in
// the same order.
func (r *Report) AddDeadlocks(found []predict.Deadlock, how []*Prediction, img Image, stacks Stacks) error {
	n := newNamer(img, stacks)
	shown := 0
	for i := range found {
		d := Deadlock{Prediction: how[i]}
		for _, w := range found[i].Waits {
			out := DeadlockWait{Thread: w.Thread, Mutex: mutexName(img, w.Mutex), Address: w.Mutex, Held: mutexName(img, w.Held), HeldAt: w.Held}
			var err error
			if out.Stack, err = n.eventStack(w.Thread, w.Index); err == nil {
				out.HeldStack, err = n.eventStack(w.HeldBy, w.HeldIndex)
			}
			if err != nil {
				return err
			}
			d.Waits = append(d.Waits, out)
		}
		if !how[i].Shown {
			r.UnshownDeadlocks = append(r.UnshownDeadlocks, d)
			continue
		}
		shown++
		d.ID = fmt.Sprintf("D%d", shown)
		r.Deadlocks = append(r.Deadlocks, d)
	}
	for i := range r.UnshownDeadlocks {
		r.UnshownDeadlocks[i].ID = fmt.Sprintf("D%d", shown+1+i)
	}
	return nil
}

func mutexName(img Image, at uint64) string {
	return cmp.Or(img.ObjectPathSize(at, 0), fmt.Sprintf("the mutex at 0x%x", at))
}

// line is the deadlock in a line.
func (d *Deadlock) line() string {
	var parts []string
	for i := range d.Waits {
		w := &d.Waits[i]
		parts = append(parts, fmt.Sprintf("T%d holds %s and waits for %s at %s", w.Thread, w.Held, w.Mutex, lineOf(top(w.Stack))))
	}
	return strings.Join(parts, ", ")
}

// deadlocks tells of the predicted deadlocks that were shown.
func (t *text) deadlocks() {
	for i := range t.rep.Deadlocks {
		t.deadlock(&t.rep.Deadlocks[i])
	}
}

func (t *text) deadlock(d *Deadlock) {
	t.printf("%s\n%s (%s)\n", rule, t.emphasis(31, "WARNING: hindsight: deadlock in another schedule"), d.ID)
	for i := range d.Waits {
		w := &d.Waits[i]
		t.printf("  %s\n", t.emphasis(34, fmt.Sprintf("%s holds %s, which it locked at:", capital(threadName(w.Thread)), w.Held)))
		t.stack(w.HeldStack)
		t.printf("  %s\n", t.emphasis(34, fmt.Sprintf("and waits for %s at:", w.Mutex)))
		t.stack(w.Stack)
		t.printf("\n")
	}
	t.printf("  Prediction: %s\n", d.text())
	if r := d.Prediction.Rerun; r != nil {
		t.printf("    %s\n", r.Command)
	}
	at := top(d.Waits[0].Stack)
	t.printf("\nSUMMARY: hindsight: deadlock %s\n%s\n", t.fit(lineOf(at)+" in "+function(at), 31), rule)
}

func (d *Deadlock) text() string {
	if d.Prediction.Shown {
		return "predicted and shown: the recorded run did not deadlock; a run under another schedule did"
	}
	return d.Prediction.text()
}

// deadlockTotals lists the deadlocks that were not shown, and counts.
func (t *text) deadlockTotals() {
	for i := range t.rep.UnshownDeadlocks {
		d := &t.rep.UnshownDeadlocks[i]
		t.printf("%s  %s: %s\n", d.ID, d.line(), d.text())
	}
	if n := len(t.rep.Deadlocks) + len(t.rep.UnshownDeadlocks); n > 0 {
		t.printf("hindsight: %s of other schedules shown, %d only predicted\n", numtext.Plural(uint64(len(t.rep.Deadlocks)), "deadlock"), len(t.rep.UnshownDeadlocks))
	}
}

type jsonDeadlock struct {
	ID         string             `json:"id"`
	Prediction *jsonPrediction    `json:"prediction"`
	Waits      []jsonDeadlockWait `json:"waits"`
}

type jsonDeadlockWait struct {
	Thread      uint32           `json:"thread"`
	Mutex       string           `json:"mutex"`
	Address     jsonform.Address `json:"address"`
	Stack       []jsonFrame      `json:"stack"`
	Held        string           `json:"held"`
	HeldAddress jsonform.Address `json:"held_address"`
	HeldStack   []jsonFrame      `json:"held_stack"`
}

func jsonDeadlocks(lists ...[]Deadlock) (out []jsonDeadlock) {
	for _, list := range lists {
		for i := range list {
			d := jsonDeadlock{ID: list[i].ID, Prediction: jsonOfPrediction(list[i].Prediction)}
			for _, w := range list[i].Waits {
				d.Waits = append(d.Waits, jsonDeadlockWait{uint32(w.Thread), w.Mutex, jsonform.Address(w.Address), jsonStack(w.Stack), w.Held, jsonform.Address(w.HeldAt), jsonStack(w.HeldStack)})
			}
			out = append(out, d)
		}
	}
	return out
}

// sarifDeadlock is a deadlock that was shown as a result.
func sarifDeadlock(d *Deadlock) sarifResult {
	out := sarifResult{
		RuleID: ruleDeadlock, RuleIndex: 2, Level: "error",
		Message:    sarifMessage{Text: capital(d.line()) + ". Prediction: " + d.text() + "."},
		Locations:  []sarifLocation{sarifAt(top(d.Waits[0].Stack), "")},
		Properties: map[string]any{"id": d.ID, "prediction": jsonOfPrediction(d.Prediction)},
	}
	for i := range d.Waits {
		w := &d.Waits[i]
		if i > 0 {
			at := sarifAt(top(w.Stack), fmt.Sprintf("%s waits for %s", capital(threadName(w.Thread)), w.Mutex))
			at.ID = i
			out.RelatedLocations = append(out.RelatedLocations, at)
		}
		out.addStack(sarifStackOf(w.Stack, fmt.Sprintf("%s waits for %s", threadName(w.Thread), w.Mutex), w.Thread))
		out.addStack(sarifStackOf(w.HeldStack, fmt.Sprintf("%s locks %s", threadName(w.Thread), w.Held), w.Thread))
	}
	return out
}
