package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
)

// TestMaxMemory: work that takes more memory than it may is told to end, and then
// the command ends with status 2 and says why.
func TestMaxMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOMEMLIMIT", "off") // the collector of the tests is left alone
	if err := os.WriteFile("bank.hst", recordExample(t, "bank"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := byteSize(1 << 20).within(context.Background())
	defer stop()
	var taken [][]byte
	for ctx.Err() == nil {
		taken = append(taken, bytes.Repeat([]byte{1}, 16<<20))
		if len(taken) > 32 {
			<-ctx.Done()
		}
	}
	var out, errs bytes.Buffer
	found, err := (&racesFlags{format: "text", atomics: "relaxed"}).report(ctx, cli.Streams{Out: &out, Err: &errs}, "bank.hst")
	if found != 0 || !errors.Is(err, cli.ExitStatus(exitError)) {
		t.Errorf("%d races, %v; %d MB", found, err, 16*len(taken))
	}
	if says := "stopped, more memory was needed than --max-memory allows (1M)"; !strings.Contains(errs.String(), says) {
		t.Errorf("says %q", &errs)
	}
}
