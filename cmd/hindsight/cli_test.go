package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hindsight/examples"
	"hindsight/examples/cross"
)

func TestMain(m *testing.M) {
	if os.Getenv(benchExec) != "" {
		profiled(main)
	}
	testscript.Main(m, map[string]func(){"hindsight": main})
}

// TestScripts runs the user stories of testdata/script. Stories find the
// executables of some examples in $WORK/bin and their sources in
// $WORK/src/examples, and the programs of testdata/programs as source in $WORK/src.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Setup:         installExamples,
		Condition:     scriptCondition,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// scriptCondition implements [toolchain] and [cmake]: the cross compiler or CMake is
// installed, or has to be.
func scriptCondition(name string) (bool, error) {
	tool, ok := map[string]string{"toolchain": cross.Compiler, "cmake": "cmake"}[name]
	if !ok {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	_, err := exec.LookPath(tool)
	return err == nil || os.Getenv("HINDSIGHT_REQUIRE_TOOLCHAIN") == "1", nil
}

// scriptExamples are the examples that stories use.
var scriptExamples = []string{"bank", "norace_bank", "race_counter", "norace_counter", "race_wrong_lock", "race_memcpy", "race_same_value", "race_stack_args", "fig6", "fig7"}

func installExamples(env *testscript.Env) error {
	if err := os.CopyFS(filepath.Join(env.WorkDir, "src"), os.DirFS("testdata/programs")); err != nil {
		return err
	}
	action, err := os.ReadFile("../../.github/actions/hindsight/run.sh")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(env.WorkDir, "action.sh"), action, 0o755); err != nil {
		return err
	}
	dir := filepath.Join(env.WorkDir, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	sources := filepath.Join(env.WorkDir, "src", "examples")
	if err := os.Mkdir(sources, 0o755); err != nil {
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
		source, err := examples.Source(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(sources, name+".c"), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}
