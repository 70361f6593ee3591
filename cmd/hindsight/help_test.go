package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hindsight/cmd/internal/cli"
)

// TestHelp checks that every command has a short and a long description and an example
// that begins with its name, and that its help fits 80 columns.
func TestHelp(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		name := cmd.CommandPath()
		if cmd.Short == "" || cmd.Long == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: no description, or one with a full stop: %q", name, cmd.Short)
		}
		if !strings.Contains(cmd.Example, name+" ") {
			t.Errorf("%s: no example", name)
		}
		for line := range strings.Lines(out.String()) {
			if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
				t.Errorf("%s: a line of the help is too long: %q", name, line)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(cli.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}))
}
