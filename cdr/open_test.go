package cdr_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/cdr"
)

// TestOpenFIFO opens a FIFO without a writer, which must not block.
func TestOpenFIFO(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", name).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v: %s", err, out)
	}
	if _, err := cdr.Open(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Open of a FIFO: %v", err)
	}
}
