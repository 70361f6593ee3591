//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// tellFileSize turns an exceeded limit on the size of files into an error of the write.
// The error is reported like a full disk, and no signal ends the process.
func tellFileSize() { signal.Ignore(syscall.SIGXFSZ) }
