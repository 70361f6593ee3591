package main

import (
	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/session"
)

// writtenFlags say what becomes of the files that the guest writes.
type writtenFlags struct{ session.Written }

func (f *writtenFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Writable, "writable", "", "let the guest write everywhere: it sees the files of `DIR` over those of --root, and what it wrote is in DIR when it has ended")
	flags.StringVar(&f.Save, "save", "", "keep all files that the guest wrote, those in its /tmp too, in `DIR`")
	cli.CompleteDir(cmd, "writable")
	cli.CompleteDir(cmd, "save")
}

// addAgain adds what a second run needs; it saves nothing.
func (f *writtenFlags) addAgain(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Writable, "writable", "", "`DIR` that the run had with --writable, as it was before, for a second run; it stays as it is")
	cli.CompleteDir(cmd, "writable")
}
