package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/numtext"
)

// defaultAnalysisMemory is the memory that an analysis may use by default, in bytes.
const defaultAnalysisMemory = 1 << 30

// errMemory says that an analysis ended because it used too much memory.
var errMemory = errors.New("more memory was needed than --max-memory allows")

// memoryLook is how often the memory of an analysis is measured.
const memoryLook = 50 * time.Millisecond

// within returns a context that ends, with errMemory as its cause, when the process uses
// more than b bytes in addition to what it uses now. From four fifths of that on, the
// garbage collector runs more often, so that garbage does not count. If GOMEMLIMIT is
// set, the collector follows that instead.
func (b byteSize) within(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := uint64(min(b, 1<<62))
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limit / 5 * 4))
	}
	limit += memoryTaken()
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		look := time.NewTicker(memoryLook)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if memoryTaken() > limit {
					cancel(fmt.Errorf("%w (%s)", errMemory, b.String()))
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// limitMemory adds the flag --max-memory to a command. If the command uses more, it says
// so and ends with status 2.
func limitMemory(cmd *cobra.Command) {
	memory := byteSize(defaultAnalysisMemory)
	cmd.Flags().Var(&memory, "max-memory", "memory for the analysis: bytes, or with K, M or G; the command stops when this is not enough")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := memory.within(cmd.Context())
		defer stop()
		cmd.SetContext(ctx)
		done := make(chan error, 1)
		go func() { done <- run(cmd, args) }()
		select {
		case err := <-done:
			return asMemory(ctx, err)
		case <-ctx.Done():
		}
		select {
		case err := <-done:
			return asMemory(ctx, err)
		case <-time.After(draftGrace): // it is writing, or decoding a block
			return asMemory(ctx, ctx.Err())
		}
	}
}

// asMemory returns err, or errMemory if err says that ctx ended and the cause was a lack
// of memory.
func asMemory(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errMemory) && errors.Is(err, context.Canceled) {
		return cause
	}
	return err
}

// memoryTaken returns the number of bytes that the process has from the system.
func memoryTaken() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// whyEnded says in a few words why ctx ended early, and returns the status with which the
// command then ends.
func whyEnded(ctx context.Context) (string, cli.ExitStatus) {
	if err := context.Cause(ctx); errors.Is(err, errMemory) {
		return "stopped, " + err.Error(), exitError
	}
	return "interrupted", cli.Interrupted(ctx)
}

// draftGrace is how long an interrupted analysis may continue. After that, the findings
// so far are printed and the process ends.
const draftGrace = 600 * time.Millisecond

// unfinished are commands that write no file that must be closed properly, so that they
// may be abandoned.
var unfinished = map[string]bool{"races": true, "diff": true, "slice": true, "query": true, "info": true, "sharing": true, "contention": true, "export": true, "view": true}

// tellPartial prints the races that an analysis had found when it ended early.
func tellPartial(w io.Writer, why string, err error) {
	var p *analyze.Partial
	if !errors.As(err, &p) || len(p.Races) == 0 {
		fmt.Fprintf(w, "hindsight: %s before the races were known\n", why)
		return
	}
	at, which := "at least ", "in the part of the run that was looked at"
	if p.Counted {
		at, which = "", "without stacks, locks and artifacts, which were not reached"
	}
	fmt.Fprintf(w, "hindsight: %s; %s, %s:\n", why, numtext.Plural(uint64(len(p.Races)), "race"), which)
	for _, r := range p.Races {
		fmt.Fprintf(w, "  %s and %s, %s\n", r.Places[0], r.Places[1], at+numtext.Plural(r.Dynamic, "time"))
	}
}
