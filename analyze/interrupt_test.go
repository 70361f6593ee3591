package analyze

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// TestInterrupted checks that Races returns after Grace although the analysis does not
// look at its context, and that the error has the races found by then.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bank.hst")
	run := &session.Run{Image: cross.Image(t, "bank"), Program: "bank", Policy: mpsim.Random, Seed: 1, Out: file}
	if _, err := run.Record(t.Context(), session.Streams{}); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	for name, test := range map[string]struct {
		found, listens bool
	}{
		"before":  {false, false},
		"counted": {true, false},
		"listens": {true, true},
	} {
		trace, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		q := &inquiry{RaceOptions: RaceOptions{Grace: 1}, trace: trace}
		q.analysis = func(ctx context.Context, t *cdr.Trace, opts race.Options) (*race.Result, error) {
			if !test.found {
				cancel()
				<-release
			}
			found := opts.Found
			opts.Found = func(p *race.Partial) {
				found(p)
				cancel()
				if !test.listens {
					<-release
				}
			}
			return byHappensBefore(ctx, t, opts)
		}
		if test.listens {
			q.Grace = 0
		}
		rep, err := q.answer(ctx)
		var p *Partial
		switch partial := errors.As(err, &p); {
		case rep != nil || err == nil:
			t.Errorf("%s: report %v, error %v", name, rep, err)
		case partial != test.found:
			t.Errorf("%s: %v", name, err)
		case partial && (!p.Counted || len(p.Races) != 2 || !slices.Contains(p.Races[0].Places[:], "read at total bank.c:52")):
			t.Errorf("%s: found %+v", name, p)
		}
		cancel()
		trace.Close()
	}
}
