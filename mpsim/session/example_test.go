package session_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/session"
)

// A program is run under a seed and recorded; the same program and seed give the
// same trace.
func ExampleRecord() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "race_counter")
	elf, err := examples.ELF("race_counter")
	if err == nil {
		err = os.WriteFile(program, elf, 0o700)
	}
	if err != nil {
		log.Fatal(err)
	}
	sum, err := session.Record(context.Background(), program, session.Options{
		Policy: mpsim.Random, Seed: 1, Out: filepath.Join(dir, "race_counter.hst"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("threads:", sum.Threads, "status:", sum.Status)
	// Output: threads: 3 status: 0
}
