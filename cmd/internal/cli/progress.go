package cli

import (
	"fmt"
	"io"
	"time"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// Progress shows on a terminal how far a long computation is. A nil *Progress shows
// nothing.
type Progress struct {
	w     io.Writer
	what  string
	total uint64
	done  uint64
	next  time.Time
	shown bool
}

const (
	progressFirst = time.Second
	progressEvery = 200 * time.Millisecond
)

// NewProgress returns a Progress for total steps, or for an unknown number if total is 0.
// It returns nil if w is not a terminal.
func NewProgress(w io.Writer, what string, total uint64) *Progress {
	if !IsTerminal(w) {
		return nil
	}
	return &Progress{w: w, what: what, total: total, next: time.Now().Add(progressFirst)}
}

// Step reports that n more steps are done.
func (p *Progress) Step(n uint64) {
	if p == nil {
		return
	}
	p.done += n
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	if p.total > 0 {
		fmt.Fprintf(p.w, "\r\x1b[Khindsight: %s: %d %%", p.what, min(100, 100*p.done/p.total))
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[Khindsight: %s: %s", p.what, numtext.Grouped(p.done))
}

// End removes the line.
func (p *Progress) End() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// Waiting shows on a terminal, until done is called, that something takes long.
func Waiting(w io.Writer, what string) (done func()) {
	if !IsTerminal(w) {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		start := time.Now()
		for {
			select {
			case <-stop:
				if time.Since(start) > progressFirst {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-time.After(progressFirst):
				fmt.Fprintf(w, "\r\x1b[Khindsight: %s: %d s", what, int(time.Since(start).Seconds()))
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// Define implements [event.Observer].
func (p *Progress) Define([]event.Block) error { return nil }

// Batch implements [event.Observer].
func (p *Progress) Batch(b *event.Batch) error { p.Step(b.Insts); return nil }

// Finish implements [event.Observer].
func (p *Progress) Finish(event.Outcome) error { p.End(); return nil }
