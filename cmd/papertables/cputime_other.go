//go:build !unix

package main

import "time"

// cpuTime is not known here; times are wall times.
func cpuTime() (time.Duration, bool) { return 0, false }
