//go:build amd64 || arm64

package main

import (
	"os"
	"syscall"
)

// outputState is the result of fcntl on standard output before anything else ran.
var outputState int64

// keepClosed makes writing to standard output fail if the process was started with it
// closed, as with >&-. Go's runtime opens /dev/null in place of a closed stream, so
// output would be lost without an error.
func keepClosed() {
	const output = 1
	if outputState != -int64(syscall.EBADF) {
		return
	}
	if null, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
		_ = syscall.Dup3(null, output, 0)
		_ = syscall.Close(null)
	}
}
