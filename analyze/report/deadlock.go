package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"hindsight/analyze/internal/jsonform"
	"hindsight/analyze/predict"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// Deadlock is a cycle of threads that another schedule of the same events reaches. Each
// waits for a mutex that the next one holds.
type Deadlock struct {
	ID          string // D1, D2, …
	Fingerprint string // as of a race: of the functions, of lines within them, and of mutexes
	Waits       []DeadlockWait
	Prediction  *Prediction
	// Seeds and Trace are as in Race.
	Seeds []uint64
	Trace string
}

// DeadlockWait is a thread of a deadlock.
type DeadlockWait struct {
	Thread    event.ThreadID
	Mutex     string // the mutex that it waits for: its name, or its address
	Address   uint64
	Stack     []Frame // where it waits
	Held      string  // the mutex that it holds
	HeldAt    uint64
	HeldStack []Frame // where it locked that mutex
}

// AddDeadlocks adds predicted deadlocks with the results of their witness runs, which are
// in the same order. Those that a rule of type deadlock covers are counted as suppressed.
func (r *Report) AddDeadlocks(found []predict.Deadlock, how []*Prediction, img Image, stacks Stacks, sup *Suppressions) error {
	n := newNamer(img, stacks)
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
		d.Fingerprint = n.deadlock(&d)
		switch {
		case sup.coversDeadlock(&d):
		case how[i].Shown:
			r.Deadlocks = append(r.Deadlocks, d)
		default:
			r.UnshownDeadlocks = append(r.UnshownDeadlocks, d)
		}
	}
	r.numberDeadlocks()
	return nil
}

// numberDeadlocks numbers the deadlocks, first those that were shown.
func (r *Report) numberDeadlocks() {
	n := 0
	for _, list := range [][]Deadlock{r.Deadlocks, r.UnshownDeadlocks} {
		for i := range list {
			n++
			list[i].ID = fmt.Sprintf("D%d", n)
		}
	}
}

// deadlock returns the fingerprint of a deadlock.
func (n *namer) deadlock(d *Deadlock) string {
	var parts []string
	for i := range d.Waits {
		w := &d.Waits[i]
		at := func(stack []Frame) string {
			f := top(stack)
			return fmt.Sprintf("%s+%d", f.Function, f.Line-n.firstLine(f))
		}
		mutex := func(name string) string { // an address may change
			if strings.HasPrefix(name, "the mutex at ") {
				return ""
			}
			return index.ReplaceAllString(name, "")
		}
		parts = append(parts, fmt.Sprintf("%s %s %s %s", at(w.HeldStack), mutex(w.Held), at(w.Stack), mutex(w.Mutex)))
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte("deadlock v1\n" + strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:12])
}

// coversDeadlock reports whether a rule covers a deadlock, by a mutex or by where a
// thread holds or waits for one. It counts the match.
func (s *Suppressions) coversDeadlock(d *Deadlock) bool {
	if s == nil {
		return false
	}
	for i := range s.Rules {
		rule := &s.Rules[i]
		if rule.Type != "deadlock" {
			continue
		}
		for k := range d.Waits {
			if w := &d.Waits[k]; rule.match(w.Mutex) || rule.any(w.Stack) || rule.any(w.HeldStack) {
				rule.Matched++
				return true
			}
		}
	}
	return false
}

func mutexName(img Image, at uint64) string {
	return cmp.Or(img.ObjectPathSize(at, 0), fmt.Sprintf("the mutex at 0x%x", at))
}

// line describes the deadlock in a line.
func (d *Deadlock) line() string {
	var parts []string
	for i := range d.Waits {
		w := &d.Waits[i]
		parts = append(parts, fmt.Sprintf("T%d holds %s and waits for %s at %s", w.Thread, w.Held, w.Mutex, lineOf(top(w.Stack))))
	}
	return strings.Join(parts, ", ")
}

// deadlocks writes the predicted deadlocks that were shown.
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
	if len(d.Seeds) > 0 {
		t.printf("  Seen with seeds %s (%d of %s); shown as in %s\n\n", SeedsText(d.Seeds), len(d.Seeds), numtext.Plural(uint64(t.rep.Info.Runs), "run"), d.Trace)
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

// deadlockTotals writes the deadlocks that were not shown, and the counts.
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
	ID          string             `json:"id"`
	Fingerprint string             `json:"fingerprint"`
	Prediction  *jsonPrediction    `json:"prediction"`
	Waits       []jsonDeadlockWait `json:"waits"`
	Seeds       []uint64           `json:"seeds,omitempty"`
	Trace       string             `json:"trace,omitempty"`
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
			d := jsonDeadlock{ID: list[i].ID, Fingerprint: list[i].Fingerprint, Prediction: jsonOfPrediction(list[i].Prediction), Seeds: list[i].Seeds, Trace: list[i].Trace}
			for _, w := range list[i].Waits {
				d.Waits = append(d.Waits, jsonDeadlockWait{uint32(w.Thread), w.Mutex, jsonform.Address(w.Address), jsonStack(w.Stack), w.Held, jsonform.Address(w.HeldAt), jsonStack(w.HeldStack)})
			}
			out = append(out, d)
		}
	}
	return out
}

// sarifDeadlock returns the result for a deadlock that was shown.
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
