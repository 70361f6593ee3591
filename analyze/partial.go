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

// draft is a report that a goroutine is still working on while another may have to return
// it.
type draft struct {
	mu    sync.Mutex
	found *race.Partial // races found before there is a report
	rep   *report.Report
	taken bool

	frames func(pc uint64) []image.Frame // returns the names of the places in found
}

// change calls f to change the report, unless the report was taken.
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

// show makes the report available to take.
func (d *draft) show(rep *report.Report) {
	if d != nil {
		d.change(func() { d.rep = rep })
	}
}

// take returns the current report, which does not change any more. If there is no report
// yet, the error has what was found.
func (d *draft) take(err error) (*report.Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = true
	if d.rep == nil && d.found != nil {
		return nil, partialOf(d.found, d.frames)
	}
	return d.rep, err
}

// within is find, but returns soon after ctx is done. Analyses check their context often,
// but not everywhere: decoding a block of a trace and merging a page of memory are not
// interrupted.
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

// Partial is the error of [Trace.Races] if the analysis ended before there was a report.
// It has the races that were found so far.
type Partial struct {
	Races []PartialRace
	// Counted says that Races has all races of the run, each with its exact number.
	// Otherwise it has the races of a part of the run.
	Counted bool
	Err     error // why the analysis ended
}

// PartialRace is a pair of instructions that raced.
type PartialRace struct {
	Places  [2]string // both sides, such as "read at total bank.c:52"
	Dynamic uint64    // how often the pair raced
}

// named adds names to an error that is a *race.Partial.
func named(err error, frames func(pc uint64) []image.Frame) error {
	var p *race.Partial
	if !errors.As(err, &p) {
		return err
	}
	return partialOf(p, frames)
}

// errInterrupted is the Err of a Partial if the analysis was still running.
var errInterrupted = errors.New("interrupted")

func partialOf(found *race.Partial, frames func(pc uint64) []image.Frame) *Partial {
	p := &Partial{Counted: found.Counted, Err: found.Err}
	if p.Err == nil {
		p.Err = errInterrupted
	}
	for i := range found.Pairs {
		r := PartialRace{Dynamic: found.Pairs[i].Dynamic}
		for side, at := range found.Pairs[i].Places {
			r.Places[side] = placeText(at, frames)
		}
		p.Races = append(p.Races, r)
	}
	return p
}

func (p *Partial) Error() string { return p.Err.Error() }

// Unwrap returns p.Err.
func (p *Partial) Unwrap() error { return p.Err }

// placeText returns a description of one side of a race.
func placeText(at race.Place, frames func(pc uint64) []image.Frame) string {
	text := fmt.Sprintf("%#x", at.PC)
	if frames := frames(at.PC); len(frames) > 0 {
		text = frames[0].Short()
	}
	return strings.ToLower(fmt.Sprint(at.Op)) + " at " + text
}
