//go:build unix

package stopwatch

import (
	"syscall"
	"time"
)

// ProcessorTime is what this process has taken so far, by user and system.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot be: the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
