package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"hindsight/analyze"
)

// TestTellPartial checks that the findings of an interrupted analysis are printed.
func TestTellPartial(t *testing.T) {
	races := []analyze.PartialRace{
		{Places: [2]string{"read at total bank.c:52", "write at transfer bank.c:40"}, Dynamic: 30000},
		{Places: [2]string{"read at total bank.c:52", "write at transfer bank.c:42"}, Dynamic: 1},
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("other"), "hindsight: interrupted before the races were known\n"},
		{&analyze.Partial{Counted: true}, "hindsight: interrupted before the races were known\n"},
		{&analyze.Partial{Races: races, Counted: true}, "hindsight: interrupted; 2 races, without stacks, locks and artifacts, which were not reached:\n" +
			"  read at total bank.c:52 and write at transfer bank.c:40, 30,000 times\n" +
			"  read at total bank.c:52 and write at transfer bank.c:42, 1 time\n"},
		{fmt.Errorf("bank.hst: %w", &analyze.Partial{Races: races[1:]}), "hindsight: interrupted; 1 race, in the part of the run that was looked at:\n" +
			"  read at total bank.c:52 and write at transfer bank.c:42, at least 1 time\n"},
	} {
		var told strings.Builder
		tellPartial(&told, "interrupted", c.err)
		if told.String() != c.want {
			t.Errorf("%q, want %q", told.String(), c.want)
		}
	}
}

// TestSignalsInRaces sends signals to `hindsight races` at many moments. It must end with
// the status for the signal, or with the whole report if it was faster.
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
		case exit.ExitCode() == -1: // before the handler was installed
		default:
			t.Errorf("%v\n%s", err, &errs)
		}
	}
	t.Logf("%d of 12 were stopped", stopped)
}
