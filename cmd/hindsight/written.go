package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim"
)

// writtenFlags say what becomes of the files that the guest writes.
type writtenFlags struct {
	writable string // scratch layer over the root directory; "": the guest writes to /tmp only
	save     string // where the files that it wrote are kept; "": nowhere
}

func (f *writtenFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.writable, "writable", "", "let the guest write everywhere: it sees the files of `DIR` over those of --root, and what it wrote is in DIR when it has ended")
	flags.StringVar(&f.save, "save", "", "keep all files that the guest wrote, those in its /tmp too, in `DIR`")
	cli.CompleteDir(cmd, "writable")
	cli.CompleteDir(cmd, "save")
}

// addAgain adds what a second run needs; it saves nothing.
func (f *writtenFlags) addAgain(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.writable, "writable", "", "`DIR` that the run had with --writable, as it was before, for a second run; it stays as it is")
	cli.CompleteDir(cmd, "writable")
}

// over is the directory that the guest sees over its root; "" while it is not there.
func (f *writtenFlags) over() string {
	if info, err := os.Stat(f.writable); err != nil || !info.IsDir() {
		return ""
	}
	return f.writable
}

// check makes the directories, so that nobody waits for a run whose files cannot be
// kept.
func (f *writtenFlags) check() error {
	for _, dir := range []string{f.writable, f.save} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("files of the guest: %w", err)
		}
	}
	return nil
}

// keep writes what a run wrote to where it is to be kept.
func (f *writtenFlags) keep(res *mpsim.Result) error {
	for _, to := range []struct {
		dir       string
		temporary bool
	}{{f.writable, false}, {f.save, true}} {
		if to.dir == "" || res == nil {
			continue
		}
		if err := res.Written.Save(to.dir, to.temporary); err != nil {
			return fmt.Errorf("files that the guest wrote: %w", err)
		}
	}
	return nil
}
