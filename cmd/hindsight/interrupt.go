package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"hindsight/analyze"
	"hindsight/tracefmt/numtext"
)

// draftGrace is how long an analysis that was interrupted may go on: then what is
// known is printed and the process ends.
const draftGrace = 600 * time.Millisecond

// unfinished are commands that write nothing which has to be closed well, and so
// may be left where they are.
var unfinished = map[string]bool{"races": true, "diff": true, "slice": true, "query": true, "info": true, "sharing": true, "contention": true, "export": true, "view": true}

// tellPartial says which races an analysis had found when it ended early.
func tellPartial(w io.Writer, why string, err error) {
	var p *analyze.Partial
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
		fmt.Fprintf(w, "  %s and %s, %s\n", p.Place(pair.Places[0]), p.Place(pair.Places[1]), at+numtext.Plural(pair.Dynamic, "time"))
	}
}
