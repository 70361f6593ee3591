//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// tellFileSize makes a limit on the size of files an error of the write, which
// is reported like a full disk, and not a signal that ends the process.
func tellFileSize() { signal.Ignore(syscall.SIGXFSZ) }
