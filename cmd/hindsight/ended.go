package main

import (
	"context"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
)

// endedWith returns the status of a command that has run a guest: the guest's status or,
// if a signal to hindsight ended the run, that of the signal. It returns nil for 0.
func endedWith(ctx context.Context, res *mpsim.Result) error {
	switch {
	case ctx.Err() != nil && (res.Interrupted || res.LimitReached):
		return cli.Interrupted(ctx)
	case res.Status != 0:
		return cli.ExitStatus(res.Status)
	}
	return nil
}
