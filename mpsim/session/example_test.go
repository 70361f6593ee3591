package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// A program is run with a seed and recorded. The same program and seed always result in the
// same trace.
func ExampleRecord() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "race_counter")
	elf, err := examples.ELF("race_counter")
	if err == nil {
		err = os.WriteFile(program, elf, 0o700)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := session.Record(context.Background(), program, session.Options{
		Policy: mpsim.Random, Seed: 1, Out: filepath.Join(dir, "race_counter.hst"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("threads:", sum.Threads, "status:", sum.Status)
	// Output: threads: 3 status: 0
}
