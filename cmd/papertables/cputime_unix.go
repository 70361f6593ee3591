//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time, user and system, that this process has used.
func cpuTime() (time.Duration, bool) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0, false
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), true
}
