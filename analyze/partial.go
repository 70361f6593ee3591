package analyze

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/mpsim/image"
)

// draft is a report that one goroutine still works on when another may have to
// return it.
type draft struct {
	mu    sync.Mutex
	pairs *Partial // before there is a report
	rep   *report.Report
	taken bool
}

// change changes the report, or does not when it was taken.
func (d *draft) change(how func()) {
	if d == nil {
		how()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.taken {
		how()
	}
}

// show makes the report known.
func (d *draft) show(rep *report.Report) {
	if d != nil {
		d.change(func() { d.rep = rep })
	}
}

// take returns the current report, which does not change any more. If there is none,
// the error says what is known.
func (d *draft) take(err error) (*report.Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = true
	if d.rep == nil && d.pairs != nil {
		return nil, d.pairs
	}
	return d.rep, err
}

// within is find that returns soon after ctx is done. Analyses look at their
// context often, but not everywhere: a block of a trace is decoded and a page of
// memory merged in one go.
func (q *inquiry) within(ctx context.Context) (*report.Report, error) {
	type answer struct {
		rep *report.Report
		err error
	}
	q.draft = new(draft)
	done := make(chan answer, 1)
	go func() {
		rep, err := q.find(ctx)
		done <- answer{rep, err}
	}()
	select {
	case a := <-done:
		return a.rep, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-done:
		return a.rep, a.err
	case <-time.After(q.Grace):
		q.trace.left.Store(true)
		return q.draft.take(ctx.Err())
	}
}

// Partial is the error of [Trace.Races] when it ended before there was a report. It
// holds the races that were found so far, by their instructions.
type Partial struct {
	*race.Partial
	frames func(pc uint64) []image.Frame
}

// named adds names to an error that is a *race.Partial.
func named(err error, frames func(pc uint64) []image.Frame) error {
	var p *race.Partial
	if !errors.As(err, &p) {
		return err
	}
	return &Partial{p, frames}
}

func (p *Partial) Error() string {
	if p.Err == nil {
		return "interrupted"
	}
	return p.Partial.Error()
}

// Place describes one side of a race, such as "read at total bank.c:52".
func (p *Partial) Place(at race.Place) string {
	text := fmt.Sprintf("%#x", at.PC)
	if frames := p.frames(at.PC); len(frames) > 0 {
		text = frames[0].Short()
	}
	return strings.ToLower(fmt.Sprint(at.Op)) + " at " + text
}
