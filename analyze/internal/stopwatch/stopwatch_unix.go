//go:build unix

package stopwatch

import (
	"syscall"
	"time"
)

// ProcessorTime returns the user and system time that this process has used so far.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot happen: the arguments are valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
