package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
)

// TestMaxMemory checks that work that uses too much memory is stopped, and that the
// command then ends with status 2 and says why.
func TestMaxMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOMEMLIMIT", "off") // leave the collector of the tests alone
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

// TestMaxMemoryOfSlices checks that slice and diff end in the same way.
func TestMaxMemoryOfSlices(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "off")
	for _, busy := range []func(context.Context) error{
		func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("slice: %w", ctx.Err()) },
		func(context.Context) error { select {} }, // ignores its context
	} {
		var taken [][]byte
		cmd := &cobra.Command{Use: "busy", SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) error {
			for len(taken) < 64 && cmd.Context().Err() == nil {
				taken = append(taken, bytes.Repeat([]byte{1}, 16<<20))
			}
			return busy(cmd.Context())
		}}
		limitMemory(cmd)
		cmd.SetArgs([]string{"--max-memory", "1M"})
		if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, errMemory) {
			t.Errorf("%v; %d MB", err, 16*len(taken))
		}
	}
	for _, cmd := range []*cobra.Command{newSlice(cli.Streams{}), newDiff(cli.Streams{})} {
		if f := cmd.Flags().Lookup("max-memory"); f == nil || f.DefValue != "1G" {
			t.Errorf("%s: %v", cmd.Name(), f)
		}
	}
}
