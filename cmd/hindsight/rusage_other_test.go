//go:build !unix

package main

import (
	"os"
	"time"
)

// peakMemory returns 0: the system does not say.
func peakMemory(*os.ProcessState) int64 { return 0 }

// ownPeak returns 0, too.
func ownPeak() int64 { return 0 }

// ownTime is the time: the system does not say what this process has used.
func ownTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
