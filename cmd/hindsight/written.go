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
	flags.StringVar(&f.Writable, "writable", "", "let the guest write everywhere: it sees the files of `DIR` over those of --root, and DIR receives what it wrote when it ends")
	flags.StringVar(&f.Save, "save", "", "copy all files that the guest wrote, also those in its /tmp, to `DIR`")
	cli.CompleteDir(cmd, "writable")
	cli.CompleteDir(cmd, "save")
}

// addAgain adds what a second run needs; it saves nothing.
func (f *writtenFlags) addAgain(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Writable, "writable", "", "for a rerun: `DIR` of --writable, as it was before the run; it is not changed")
	cli.CompleteDir(cmd, "writable")
}
