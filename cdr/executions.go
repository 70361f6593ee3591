package cdr

import (
	"fmt"
	"iter"

	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Executed is a block of code and how often it was executed.
type Executed struct {
	CodeBlock
	Times uint64
}

// Executions returns each block of code that a thread executed, with its number of
// executions, in the order of the trace's table. It reads each epoch's grammar once and
// expands nothing. For a trace without control flow (DOR) it yields an error.
func (t *Trace) Executions(th event.ThreadID) iter.Seq2[Executed, error] {
	return func(yield func(Executed, error) bool) {
		counts, err := t.executions(th)
		if err != nil {
			yield(Executed{}, fmt.Errorf("executions of thread %d: %w", th, err))
			return
		}
		for id, n := range counts {
			if n > 0 && !yield(Executed{codeOf(t.tab, uint32(id)), n}, nil) {
				return
			}
		}
	}
}

// executions returns the counts by code block.
func (t *Trace) executions(th event.ThreadID) ([]uint64, error) {
	if err := t.hasControl(th); err != nil {
		return nil, err
	}
	counts := make([]uint64, len(t.tab.Blocks))
	for i := range t.epochs {
		s, err := t.stretch(i, th)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		for id, n := range s.Grammar.Counts(len(s.Terms)) {
			x := &s.Terms[id]
			if x.Kind != format.TermPath || n == 0 {
				continue
			}
			for _, b := range s.tab.PathBlocks(format.PathID(x.A)) {
				counts[b] += n * x.B
			}
		}
	}
	return counts, nil
}
