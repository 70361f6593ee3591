//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// peakMemory returns the most memory that an ended process had resident, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}

// ownPeak is the same for this process.
func ownPeak() int64 {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return 0
	}
	return self.Maxrss << 10
}

// ownTime is the processor time of this process so far.
func ownTime() time.Duration {
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return 0
	}
	return time.Duration(self.Utime.Nano() + self.Stime.Nano())
}
