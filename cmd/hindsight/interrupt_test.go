package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"hindsight/analyze"
	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
)

// TestInterruptedAnalysis: an analysis that does not listen is left, and what it
// had found by then is told.
func TestInterruptedAnalysis(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bank.hst", recordExample(t, "bank"), 0o600); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	for name, test := range map[string]struct {
		late, listens bool
		want          string
	}{
		"before":  {false, false, "interrupted before the races were known"},
		"counted": {true, false, "interrupted; 2 races, without stacks"},
		"listens": {true, true, "interrupted; 2 races, without stacks"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		analysis := func(ctx context.Context, tr *cdr.Trace, opts race.Options) (*race.Result, error) {
			if !test.late {
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
			return analyze.ByHappensBefore(ctx, tr, opts)
		}
		rep, err := reportOf(ctx, cli.Streams{Err: new(bytes.Buffer)}, "bank.hst", analyze.RaceOptions{Analysis: analysis, Grace: draftGrace})
		var told strings.Builder
		tellPartial(&told, "interrupted", err)
		if rep != nil || err == nil || !strings.Contains(told.String(), test.want) {
			t.Errorf("%s: %v: %s", name, err, &told)
		}
		cancel()
	}
}

// TestSignalsInRaces sends signals to `hindsight races` at many moments: it ends
// with the status for the signal, or with the whole report when it was faster.
func TestSignalsInRaces(t *testing.T) {
	hearHangup(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bank.hst", recordExample(t, "bank"), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := 0
	for i := range 12 {
		cmd := process("races", "--order", "all", "bank.hst")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(30+i*8) * time.Millisecond)
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[i%3]
		_ = cmd.Process.Signal(sig)
		err := cmd.Wait()
		var exit *exec.ExitError
		switch {
		case !errors.As(err, &exit):
			t.Errorf("%v", err)
		case exit.ExitCode() == 128+int(sig) && strings.Contains(errs.String(), "interrupted"):
			stopped++
		case exit.ExitCode() == exitRaces && strings.Contains(out.String(), "reported 2 warnings"):
		case exit.ExitCode() == -1: // before the handler was there
		default:
			t.Errorf("%v\n%s", err, &errs)
		}
	}
	t.Logf("%d of 12 were stopped", stopped)
}
