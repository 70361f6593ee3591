package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hindsight/examples"
)

func TestMain(m *testing.M) {
	if os.Getenv(benchExec) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"hindsight": main})
}

// TestScripts runs the user stories of testdata/script. The executables of
// the examples that a story names in its first comment lines are found in
// $WORK/bin.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Setup:         installExamples,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// scriptExamples are the examples that stories use.
var scriptExamples = []string{"bank", "norace_bank", "race_counter", "norace_counter", "fig6", "fig7"}

func installExamples(env *testscript.Env) error {
	dir := filepath.Join(env.WorkDir, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range scriptExamples {
		elf, err := examples.ELF(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), elf, 0o755); err != nil {
			return err
		}
	}
	return nil
}
