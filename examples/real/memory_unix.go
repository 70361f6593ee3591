//go:build unix

package main

import (
	"os"
	"syscall"
)

// peakMemory returns the most memory that an ended process had resident, in bytes.
func peakMemory(p *os.ProcessState) uint64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return uint64(u.Maxrss) << 10
	}
	return 0
}
