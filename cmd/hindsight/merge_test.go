package main

import (
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
)

// TestMergeSchema checks that the JSON of a merge with missing runs has the documented
// form and names them.
func TestMergeSchema(t *testing.T) {
	prog := exampleFile(t, "norace_counter")
	t.Chdir(t.TempDir())
	command(t.Context(), t, "explore", "--runs", "5", "--shard", "2/3", "-o", "second", prog)
	text, status := command(t.Context(), t, "merge", "--format", "json", "-o", "all", "second")
	if status != cli.ExitInterrupted {
		t.Errorf("status %d", status)
	}
	checkSchema(t, text)
	if !strings.Contains(strings.Join(strings.Fields(text), ""), `"interrupted":true,"missing":[1,3,4]`) {
		t.Errorf("nothing of what is missing:\n%s", text)
	}
}
