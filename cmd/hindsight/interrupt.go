package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"hindsight/analyze/race"
	"hindsight/analyze/report"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/numtext"
)

// Analyses look at their context often, but not everywhere: a block of a trace
// is decoded and a page of memory merged in one go. Who presses ^C waits so long
// for them at most; then what is known is printed and the process ends.
const draftGrace = 600 * time.Millisecond

// unfinished are commands that write nothing which has to be closed well, and so
// may be left where they are.
var unfinished = map[string]bool{"races": true, "diff": true, "slice": true, "query": true, "info": true, "sharing": true, "export": true, "view": true}

// draft is a report that one goroutine still works on when another may have to
// print it.
type draft struct {
	mu    sync.Mutex
	pairs *namedPartial // before there is a report
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

// take returns the report as it is, and keeps it so. The error says what is
// known when there is none.
func (d *draft) take(err error) (*report.Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = true
	if d.rep == nil && d.pairs != nil {
		return nil, d.pairs
	}
	return d.rep, err
}

// reportWithin is reportBy that returns soon after ctx is done.
func reportWithin(ctx context.Context, std cli.Streams, file string, q *inquiry) (*report.Report, error) {
	type answer struct {
		rep *report.Report
		err error
	}
	q.draft = new(draft)
	done := make(chan answer, 1)
	go func() {
		rep, err := reportBy(ctx, std, file, q)
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
	case <-time.After(draftGrace):
		return q.draft.take(ctx.Err())
	}
}

// tellPartial says which races an analysis had found when it ended early.
func tellPartial(w io.Writer, why string, err error) {
	var p *namedPartial
	if !errors.As(err, &p) || len(p.Pairs) == 0 {
		fmt.Fprintf(w, "hindsight: %s before the races were known\n", why)
		return
	}
	at, which := "at least ", "in the part of the run that was looked at"
	if p.Counted {
		at, which = "", "without stacks, locks and artifacts, which were not reached"
	}
	fmt.Fprintf(w, "hindsight: %s; %s, %s:\n", why, numtext.Plural(uint64(len(p.Pairs)), "race"), which)
	for i := range p.Pairs {
		pair := &p.Pairs[i]
		fmt.Fprintf(w, "  %s and %s, %s\n", p.place(pair.Places[0]), p.place(pair.Places[1]), at+numtext.Plural(pair.Dynamic, "time"))
	}
}

// namedPartial is what an interrupted analysis had found, with the names of
// places.
type namedPartial struct {
	*race.Partial
	frames func(pc uint64) []image.Frame
}

// named adds names to an error that is a *race.Partial.
func named(err error, frames func(pc uint64) []image.Frame) error {
	var p *race.Partial
	if !errors.As(err, &p) {
		return err
	}
	return &namedPartial{p, frames}
}

func (p *namedPartial) Error() string {
	if p.Err == nil {
		return "interrupted"
	}
	return p.Partial.Error()
}

func (p *namedPartial) place(at race.Place) string {
	text := fmt.Sprintf("%#x", at.PC)
	if frames := p.frames(at.PC); len(frames) > 0 {
		text = placeText(frames[0])
	}
	return strings.ToLower(fmt.Sprint(at.Op)) + " at " + text
}
